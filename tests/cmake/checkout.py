"""A copy of what a generation needs of the source tree, free to be edited, and a `ckgen` command that runs it."""

from __future__ import annotations

import sys
from pathlib import Path

from cpp_build import copy_tree

PARTS = ("codegen", "templates", "arch_specs", "dispatcher_cpp/include", "dispatcher_cpp/cmake")


def copy_checkout(folder: Path) -> Path:
    """The copy at `folder`; `folder/ckgen` is its command."""
    for part in PARTS:
        copy_tree(part, folder)
    command(folder / "ckgen", f'PYTHONPATH="{folder}/codegen" exec "{sys.executable}" -m ckgen "$@"')
    return folder


def command(path: Path, line: str) -> Path:
    """An executable shell script of one line."""
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)
    return path
