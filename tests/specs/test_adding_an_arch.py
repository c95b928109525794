"""ADDING_AN_ARCH.md works when it is followed."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ckgen import paths
from ckgen.emit.arch_header import render_arch_header
from ckgen.model.errors import InputError
from ckgen.model.target import Target
from ckgen.specs import load_archs, parse_targets


def commands() -> list[str]:
    text = (paths.arch_specs_dir() / "ADDING_AN_ARCH.md").read_text(encoding="utf-8")
    return [
        line.strip() for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in block.splitlines()[:1]
    ]


def test_steps_are_numbered_in_order() -> None:
    text = (paths.arch_specs_dir() / "ADDING_AN_ARCH.md").read_text(encoding="utf-8")
    assert [int(number) for number in re.findall(r"^(\d+)\. ", text, re.MULTILINE)] == list(range(1, 10))


def test_following_the_steps_adds_an_arch(tmp_path: Path) -> None:
    copy, check, header = commands()
    verb, source, added = copy.split()
    assert verb == "cp"
    shutil.copytree(paths.arch_specs_dir(), tmp_path / "arch_specs")
    shutil.copy(tmp_path / source, tmp_path / added)
    old, new = Path(source).stem, Path(added).stem
    with pytest.raises(InputError, match=rf"'name' is '{old}' but the file is called '{new}\.json'"):
        load_archs(tmp_path / "arch_specs")

    text = (tmp_path / added).read_text(encoding="utf-8")
    (tmp_path / added).write_text(text.replace(f'"name": "{old}"', f'"name": "{new}"'), encoding="utf-8")
    archs = load_archs(tmp_path / "arch_specs")
    assert archs[new].lds_bytes == archs[old].lds_bytes
    assert parse_targets(f"{new}:80", env={}, archs=archs, native=lambda: Target(old, 1)) == (Target(new, 80),)
    assert f"Arch::{new}" in render_arch_header(archs)

    assert check.split()[:3] == [*header.split()[:2], "ckgen.specs"]
    done = subprocess.run(
        [sys.executable, "-m", "ckgen.specs", str(tmp_path / "arch_specs")], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert f"{new}: cdna3" in done.stdout
