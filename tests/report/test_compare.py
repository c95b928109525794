"""Comparing baselines: changed facts are told, unequal flags are refused."""

from __future__ import annotations

from typing import Any

import pytest

from ckgen.model.errors import UsageError
from ckgen.report.baseline import FIGURES, RUN, SCHEMA
from ckgen.report.compare import compare


def document(**changes: Any) -> dict[str, Any]:
    plain = {
        "module": "a8w8",
        "library": "ck",
        "name": "a",
        "arch": "gfx942",
        "dtype": "int8",
        "flags": "f",
        **dict.fromkeys((*FIGURES, *RUN), 1),
    }
    return {"schema": SCHEMA, "kernels": [{**plain, **changes}]}


def test_equal_baselines_have_no_changes() -> None:
    assert compare(document(), document()) == ()


@pytest.mark.parametrize("figure", (*FIGURES, *RUN))
def test_every_fact_that_changed_is_told(figure: str) -> None:
    (change,) = compare(document(), document(**{figure: 2}))
    assert str(change) == f"a on gfx942: {figure} was 1, is 2"


def test_kernels_of_one_baseline_only_are_passed_over() -> None:
    assert compare(document(), document(name="b", vgpr=9)) == ()


def test_a_kernel_that_ran_once_only_is_compared_in_what_was_compiled() -> None:
    for old, new in ((document(), document(right=None, findings=None, lds=7)), (document(right=None), document(lds=7))):
        assert [change.figure for change in compare(old, new)] == ["lds"]


def test_figures_of_unequal_flags_are_not_compared() -> None:
    with pytest.raises(UsageError, match="compiled with flags g, before with f: figures of unequal flags"):
        compare(document(), document(flags="g", vgpr=2))


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ([], "its schema is not ckgen.amd_baseline/1"),
        ({"schema": "ckgen.amd_check/1", "kernels": []}, "`ckgen amd-check --out` writes: its schema is not"),
        ({"schema": SCHEMA}, "it has no list of kernels"),
        ({"schema": SCHEMA, "kernels": [3]}, "kernel 1 has no module, library, name"),
        ({"schema": SCHEMA, "kernels": [*document()["kernels"], {}]}, "kernel 2 has no module"),
    ],
)
def test_another_document_is_refused(other: Any, said: str) -> None:
    for pair in ((other, document()), (document(), other)):
        with pytest.raises(UsageError, match=said):
            compare(*pair)
