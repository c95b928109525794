"""The reproducers of ck's findings: each prints what its page says."""

from __future__ import annotations

import sys

import pytest
from ck_header_bugs import UPSTREAM

from amd_support import amd_toolchain
from cpp_build import ROOT, run

pytestmark = [pytest.mark.amd, pytest.mark.cpp, pytest.mark.slow]

PROGRAMS = sorted(path for path in UPSTREAM.glob("ck_*.cpp") if not path.name.startswith("ck_tile"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_a_reproducer_prints_what_its_page_says(program) -> None:  # type: ignore[no-untyped-def]
    amd_toolchain()
    printed = run(sys.executable, UPSTREAM / "run.py", program, env={"PYTHONPATH": str(ROOT / "codegen")})
    page = program.with_suffix(".md").read_text(encoding="utf-8")
    assert printed
    for line in printed.splitlines():
        assert f"    {line}\n" in page
