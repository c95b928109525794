"""A Makefile-style dependency file: one rule, from a stamp to everything that was read."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path


def depfile_text(stamp: Path, inputs: Iterable[Path]) -> str:
    """`stamp: inputs…` with absolute, escaped paths, sorted."""
    sources = sorted({_escape(os.path.abspath(path)) for path in inputs})  # noqa: PTH100  asks no file, as resolve does
    return f"{_escape(stamp)}: \\\n  " + " \\\n  ".join(sources) + "\n"


def _escape(path: Path | str) -> str:
    return str(path).replace("\\", "\\\\").replace(" ", "\\ ").replace("#", "\\#").replace("$", "$$")
