"""Schedules of splits that run: their statuses, and what is found where one is not kept."""

from __future__ import annotations

from collections.abc import Callable
from ctypes import c_uint8
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from fuzz_fmha import PLAIN, changed, err

from ckgen.families.fmha.signature import parse_canonical
from ckgen.fuzz.case import Case, Schedule, parse_case
from ckgen.fuzz.check import Checker
from ckgen.fuzz.decide import decide
from ckgen.fuzz.decision import Decision
from ckgen.fuzz.fmha_schedule import FmhaSchedule
from ckgen.fuzz.outcome import CaseStatus, FailureKind
from ckgen.fuzz.run import Subject
from ckgen.fuzz.shrink import shrink
from ckgen.model.fmha_shape import FmhaShape
from ckgen.runtime.fmha_split import COMBINE_ITEM, ITEM, FmhaSplitPlan, FmhaSplitPlanner

pytestmark = [pytest.mark.cpp, pytest.mark.slow]

STEP = replace(
    PLAIN, m=3, n=800, own_lengths=True, gap_c=0, seed=2, schedule=Schedule.COST, split_cu_num=40,
)  # fmt: skip
PAGED = {"signature": "fmha_bf16_varlen_masked_blocktable", "page_size": 16}
PLAN = FmhaSchedule.plan
TWIN = {
    **PAGED,
    "signature": "fmha_bf16_varlen_masked_lse_blocktable",
    "instance": "fmha_bf16_varlen_masked_lse_blocktable_hip_decode_16x128_64x64",
    "target": "gfx942:304",
}


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({}, CaseStatus.RAN),
        ({"split_bound": 1, "split_spare": 3}, CaseStatus.RAN),
        ({"schedule": "fixed", "fixed_split_size": 100, "window_left": 250, "sink_tokens": 5}, CaseStatus.RAN),
        ({"schedule": "no_split", "split_n0": 192}, CaseStatus.RAN),
        ({"max_splits": 2, "k": 40, "split_cu_num": 0, "corner": "topleft"}, CaseStatus.RAN),
        (PAGED, CaseStatus.RAN),
        ({**PAGED, "signature": "fmha_bf16_varlen_masked_pagelist_vectorized", "split_bound": 1}, CaseStatus.RAN),
        ({"signature": "fmha_bf16_varlen_masked_lse", "spare": 4, "m": 20}, CaseStatus.RAN),
        ({"m": 0, "split_spare": 2}, CaseStatus.RAN),
        ({"n": 0}, CaseStatus.RAN),
        ({**TWIN, "page_size": 12, "split_cu_num": 0}, CaseStatus.RAN),
        ({"n": 200_000_000}, CaseStatus.PLANNED),
        ({"split_n0": 65}, CaseStatus.REFUSED),
        ({"k_batch": 2, "instance": "fmha_fp32_masked_lse_host_16x64_t0"}, CaseStatus.REFUSED),
        ({"signature": "fmha_bf16_masked_lse", "target": "gfx942:304"}, CaseStatus.REFUSED),
    ],
)
def test_each_status(checker: Checker, changes: dict[str, object], status: CaseStatus) -> None:
    outcome = checker.check(changed(STEP, changes))
    assert outcome.status is status and outcome.kind is None, outcome


def test_what_runs_is_split_and_padded(checker: Checker) -> None:
    asked = replace(STEP, split_bound=True, split_spare=3)
    found = decided(checker, asked)
    assert found.schedule is not None and found.query.shape.split_items == found.schedule.room.items
    made = found.schedule.plan(checker.library.fmha_split)
    assert made.sizes.max_splits > 1 and (made.splits != made.splits[0]).any()
    assert (made.items["request"][-3:] == -1).all() and (made.combine_items["request"][-3:] == -1).all()
    assert found.query.shape.split_rows >= made.sizes.partial_rows + 3


def test_a_batch_too_large_for_a_plan_has_no_schedule(checker: Checker) -> None:
    large = replace(STEP, signature="fmha_fp32", batch=257, m=2**31 - 1, n=2**31 - 1, gap_c=8)
    assert checker.check(large).status is CaseStatus.PLANNED and decided(checker, large).schedule is None
    assert decided(checker, replace(large, m=1)).schedule is not None


@pytest.mark.parametrize("changes", [{}, PAGED, TWIN])
@pytest.mark.parametrize(
    ("change", "before", "kind", "said"),
    [
        (lambda args, shape: drop(args, shape), True, FailureKind.RESULT, "O["),
        (lambda args, shape: fewer_combined(args, shape), True, FailureKind.RESULT, "O["),
        (lambda args, shape: flip(args.split_items), False, FailureKind.MEMORY, "split_items: its elements"),
        (lambda args, shape: flip(args.split_combines - 1), False, FailureKind.MEMORY, "split_combines: byte -1"),
        (lambda args, shape: beyond(args, shape), True, FailureKind.REFUSAL, "split.items["),
    ],
)
def test_a_schedule_that_is_not_kept_is_found(
    checker: Checker,
    monkeypatch: pytest.MonkeyPatch,
    changes: dict[str, object],
    change: Callable[[Any, Any], None],
    before: bool,
    kind: FailureKind,
    said: str,
) -> None:
    case = changed(STEP, changes)
    shape = decided(checker, case).query.shape
    err(monkeypatch, lambda args: change(args, shape), before=before)
    outcome = checker.check(case)
    assert outcome.kind is kind and said in outcome.what, outcome


def test_a_planner_that_errs_is_found(checker: Checker, monkeypatch: pytest.MonkeyPatch) -> None:
    count = FmhaSplitPlanner.count
    with monkeypatch.context() as patched:
        patched.setattr(FmhaSplitPlanner, "count", lambda *asked: replace(count(*asked), items=1))
        outcome = checker.check(STEP)
    assert outcome.kind is FailureKind.REFUSAL and "there is room for 1" in outcome.what, outcome
    monkeypatch.setattr(FmhaSplitPlanner, "_struct", lambda planner, *asked: planner._defaults())
    outcome = checker.check(STEP)
    assert outcome.kind is FailureKind.REFUSAL and outcome.what.startswith("the planner refuses a legal batch"), outcome


def test_a_schedule_is_made_small(subject: Subject, checker: Checker, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = replace(changed(STEP, PAGED), split_bound=True, split_spare=6, window_left=300, sink_tokens=5, gap_a=8)
    with monkeypatch.context() as patched:
        patched.setattr(FmhaSchedule, "plan", without_a_split)
        small, outcome = shrink(drawn, FailureKind.RESULT, checker.check)
    assert outcome is not None and outcome.what.startswith("O[")
    assert small.schedule is not Schedule.NONE and small.n > small.page_size
    assert not small.split_bound and (small.split_spare, small.gap_a, small.batch) == (0, 0, 1)
    again = parse_case(subject.command(small).partition("'")[2].removesuffix("'"))
    assert again == small and checker.check(again).status is CaseStatus.RAN


def decided(checker: Checker, case: Case) -> Decision:
    return decide(checker.space, case, parse_canonical(case.signature), checker.library.fmha_split)


def items_of(args: Any, shape: FmhaShape) -> npt.NDArray[np.void]:
    memory = (c_uint8 * (shape.split_items * ITEM.itemsize)).from_address(args.split_items)
    return np.frombuffer(memory, ITEM)


def without_a_split(schedule: FmhaSchedule, planner: FmhaSplitPlanner) -> FmhaSplitPlan:
    """A kernel that computes all items but the last part of a tile."""
    made = PLAN(schedule, planner)
    parts = np.flatnonzero((made.items["request"] >= 0) & (made.items["splits"] > 1))
    made.items["request"][parts[-1:]] = -1
    return made


def drop(args: Any, shape: FmhaShape) -> None:
    """The first part of a tile is not computed."""
    items = items_of(args, shape)
    items["request"][np.flatnonzero(items["partial_row"] >= 0)[0]] = -1


def fewer_combined(args: Any, shape: FmhaShape) -> None:
    """Of the first tile, the last part is not combined."""
    memory = (c_uint8 * (shape.split_combines * COMBINE_ITEM.itemsize)).from_address(args.split_combines)
    np.frombuffer(memory, COMBINE_ITEM)["splits"][0] -= 1


def beyond(args: Any, shape: FmhaShape) -> None:
    """A tile that the first item's request has not."""
    items_of(args, shape)["q_tile"][0] += 1 << 20


def flip(address: int) -> None:
    c_uint8.from_address(address).value ^= 1
