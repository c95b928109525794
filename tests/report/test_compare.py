"""Comparing summaries: changed figures are told, unequal flags are refused."""

from __future__ import annotations

from typing import Any

import pytest

from ckgen.model.errors import UsageError
from ckgen.report.amd_check import SCHEMA
from ckgen.report.compare import FIGURES, compare


def document(**changes: Any) -> dict[str, Any]:
    plain = {
        "module": "a8w8",
        "library": "ck",
        "name": "a",
        "arch": "gfx942",
        "flags": "f",
        **dict.fromkeys(FIGURES, 1),
    }
    return {"schema": SCHEMA, "kernels": [{**plain, **changes}]}


def test_equal_summaries_have_no_changes() -> None:
    assert compare(document(), document()) == ()


@pytest.mark.parametrize("figure", FIGURES)
def test_every_figure_that_changed_is_told(figure: str) -> None:
    (change,) = compare(document(), document(**{figure: 2}))
    assert str(change) == f"a on gfx942: {figure} was 1, is 2"


def test_kernels_of_one_summary_only_are_passed_over() -> None:
    assert compare(document(), document(name="b", vgpr=9)) == ()


def test_figures_of_unequal_flags_are_not_compared() -> None:
    with pytest.raises(UsageError, match="compiled with flags g, before with f: figures of unequal flags"):
        compare(document(), document(flags="g", vgpr=2))


def test_another_document_is_refused() -> None:
    with pytest.raises(UsageError, match="schema"):
        compare({"kernels": []}, document())
