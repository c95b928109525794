"""Causes of findings on production kernels: each says what it is about, and no finding is about two."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from ckgen import paths
from ckgen.model.errors import UsageError
from ckgen_emulator.bindings import Finding
from ckgen_emulator.production.causes import Cause, cause_of, causes

DOCS = paths.root() / "docs"


def finding(rule: str, what: str) -> Finding:
    return Finding(rule, "v_mov_b32_e32 v1, v2", what, 0x1A0, (0, 0, 0), 0, -1, 1)


@pytest.mark.parametrize("cause", causes(), ids=lambda one: one.name)
def test_a_cause_fits_its_own_example_and_no_other(cause: Cause) -> None:
    example = finding(cause.rule, cause.example)
    assert [one.name for one in causes() if one.fits(example)] == [cause.name]
    assert cause_of(example) == cause
    assert not cause.fits(replace(example, rule="no_progress"))


def test_pages_of_causes_are_there_and_run_such_kernels() -> None:
    for cause in causes():
        assert cause.pages
        for page in cause.pages:
            text = (DOCS / "upstream" / f"{page}.md").read_text(encoding="utf-8")
            assert "tools/run_production.py" in text


def test_a_finding_of_no_cause_is_an_error_that_shows_it() -> None:
    with pytest.raises(UsageError, match=re.escape("lds_race at 0x1a0: v_mov_b32_e32 v1, v2: something new")):
        cause_of(finding("lds_race", "something new"))


def test_each_recorded_finding_has_a_known_cause() -> None:
    document = json.loads((DOCS / "amd" / "production.json").read_text(encoding="utf-8"))
    records = [one for kind in document["kinds"].values() for one in kind["kernels"].values()]
    found = {cause for one in records for cause in one["findings"]}
    assert found == {cause.name for cause in causes()}
