"""What is told of where it was measured."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckgen.measure.environment import build_flags, environment, threads
from ckgen.specs.native import own_cpu


def test_flags_are_those_of_the_build(tmp_path: Path) -> None:
    assert build_flags(tmp_path / "lib.so") == ""
    (tmp_path / "CMakeCache.txt").write_text(
        "CMAKE_BUILD_TYPE:STRING=Release\nCMAKE_CXX_FLAGS:STRING=-g\nCMAKE_CXX_FLAGS_DEBUG:STRING=-O0\n"
        "CMAKE_CXX_FLAGS_RELEASE:STRING=-O3 -DNDEBUG\n"
    )
    assert build_flags(tmp_path / "lib.so") == "-g -O3 -DNDEBUG"


def test_threads_are_those_of_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CKGEN_NUM_THREADS", "3")
    assert threads() == 3
    found = environment(own_cpu())
    assert (found.threads, found.target, found.driver) == (3, str(own_cpu()), "")
    assert {"ckgen", "python", "numpy"} <= dict(found.versions).keys()
