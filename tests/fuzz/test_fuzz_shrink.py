"""Failing cases made small."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ckgen.fuzz.case import Case, Data
from ckgen.fuzz.outcome import CaseStatus, FailureKind, Outcome
from ckgen.fuzz.shrink import candidates, shrink
from ckgen.model.groups import GroupSize

LARGE = Case(
    "gemm_fp16_rcr", "gfx942:80", "an_instance", 4, m=1000, n=2**40, k=7168, batch=3, deterministic=True,
    data=Data.SPECIAL, seed=999, gap_a=65, gap_c=-64, broadcast_b=True,
)  # fmt: skip


def failing(wrong: Callable[[Case], bool], kind: FailureKind = FailureKind.RESULT) -> Callable[[Case], Outcome]:
    return lambda case: (
        Outcome(CaseStatus.FAILED, kind=kind, what=case.text()) if wrong(case) else Outcome(CaseStatus.RAN)
    )


def test_only_what_matters_is_left() -> None:
    small, outcome = shrink(LARGE, FailureKind.RESULT, failing(lambda case: case.k >= 130 and case.gap_a > 3))
    assert small == Case("gemm_fp16_rcr", "gfx942:80", k=130, gap_a=4)
    assert outcome is not None and outcome.what == small.text()


def test_multiples_are_kept_where_they_matter() -> None:
    small, _ = shrink(LARGE, FailureKind.RESULT, failing(lambda case: case.k % 128 == 0 and case.k > 0))
    assert small == Case("gemm_fp16_rcr", "gfx942:80", k=128)


@pytest.mark.parametrize("least", [-64, -2])
def test_numbers_below_their_default_grow(least: int) -> None:
    small, _ = shrink(LARGE, FailureKind.RESULT, failing(lambda case: case.gap_c <= least))
    assert small.gap_c == least


def test_groups_are_left_out_and_made_smaller() -> None:
    sizes = tuple(GroupSize(m, 8, 64) for m in range(3, 13))
    case = Case("s", "t", groups=sizes, gap_a=3)
    small, _ = shrink(case, FailureKind.RESULT, failing(lambda case: any(one.m > 6 for one in case.groups or ())))
    assert small == Case("s", "t", groups=(GroupSize(7, 2, 2),))


def test_another_kind_of_failure_is_not_followed() -> None:
    small, outcome = shrink(LARGE, FailureKind.RESULT, failing(lambda case: True, FailureKind.CRASH))
    assert small == LARGE and outcome is None


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1))
def test_every_candidate_is_simpler(m: int, gap: int) -> None:
    case = Case("s", "t", m=m, gap_a=gap)
    for simpler in candidates(case):
        assert (abs(simpler.m - 1), abs(simpler.gap_a)) < (abs(m - 1), abs(gap)) or simpler.gap_a == 0
        assert simpler != case


def test_without_time_nothing_is_tried() -> None:
    asked: list[Case] = []

    def ask(case: Case) -> Outcome:
        asked.append(case)
        return failing(lambda case: True)(case)

    assert shrink(LARGE, FailureKind.RESULT, ask, seconds=0) == (LARGE, None)
    assert not asked
