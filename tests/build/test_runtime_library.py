"""What builds a library: which program each step is."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest

from ckgen.build.runtime_library import tool


def test_the_program_of_cmakes_wheel_is_taken_not_the_script_that_starts_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(tmp_path))
    assert Path(tool("cmake")).parent != tmp_path / "cmake" / "data" / "bin"
    program = tmp_path / "cmake" / "data" / "bin" / "cmake"
    program.parent.mkdir(parents=True)
    program.touch()
    assert tool("cmake") == str(program)
