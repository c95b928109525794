"""The reproducers of ck's findings: each prints what its page says."""

from __future__ import annotations

import sys

import pytest
from ck_header_bugs import UPSTREAM

from amd_support import amd_toolchain
from cpp_build import ROOT, run

pytestmark = [pytest.mark.amd, pytest.mark.cpp, pytest.mark.slow]

FIRST, *OTHERS = sorted(path for path in UPSTREAM.glob("ck_*.cpp") if not path.name.startswith("ck_tile"))
"""That the pinned tree still does what each shows, test_ck_supports.py holds in one compile."""


@pytest.mark.parametrize(
    "program", [FIRST, *(pytest.param(one, marks=pytest.mark.long) for one in OTHERS)], ids=lambda path: path.stem
)
def test_a_reproducer_prints_what_its_page_says(program) -> None:  # type: ignore[no-untyped-def]
    amd_toolchain()
    printed = run(sys.executable, UPSTREAM / "run.py", program, env={"PYTHONPATH": str(ROOT / "codegen")})
    page = program.with_suffix(".md").read_text(encoding="utf-8")
    assert printed
    for line in printed.splitlines():
        assert f"    {line}\n" in page
