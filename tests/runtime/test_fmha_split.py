"""Split-KV plans from Python: numpy's own account of what is visible, bounds, refusals, and how good plans are."""

from __future__ import annotations

from dataclasses import replace
from math import exp, log
from statistics import fmean

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ckgen.runtime import RuntimeFailure
from ckgen.runtime.fmha_split import FmhaSplitCost, FmhaSplitPlan, FmhaSplitPlanner, FmhaSplitProblem
from examples import examples
from runtime_build import load_own
from split_model import Model, cases, lower_bound, makespan, over_bound

pytestmark = pytest.mark.cpp

PLAIN = FmhaSplitProblem(heads_q=1, heads_k=1, hdim_v=64, m0=16, n0=64, cu_num=80)
LENGTHS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 700)), min_size=1, max_size=5)


@pytest.fixture(scope="module")
def planner(tmp_path_factory: pytest.TempPathFactory) -> FmhaSplitPlanner:
    return load_own(tmp_path_factory.mktemp("fmha_split")).fmha_split


@st.composite
def problems(draw: st.DrawFn) -> FmhaSplitProblem:
    heads_k = draw(st.integers(1, 3))
    n0 = draw(st.sampled_from((8, 16, 32)))
    fixed = draw(st.sampled_from((0, 0, 64, 128)))
    return FmhaSplitProblem(
        heads_q=heads_k * draw(st.integers(1, 4)),
        heads_k=heads_k,
        hdim_v=64,
        m0=draw(st.sampled_from((4, 16))),
        n0=n0,
        cu_num=draw(st.sampled_from((1, 80, 304))),
        occupancy=draw(st.integers(1, 2)),
        merge_heads=draw(st.booleans()),
        page_size=draw(st.sampled_from((0, 1, 16, 64))),
        masked=draw(st.booleans()),
        top_left=draw(st.booleans()),
        window_left=draw(st.integers(-1, 100)),
        window_right=draw(st.integers(-1, 20)),
        sink_tokens=draw(st.sampled_from((0, 0, 4, 90))),
        max_splits=draw(st.sampled_from((None, 1, 3))) if fixed == 0 else None,
        fixed_split_size=fixed,
        no_split=fixed == 0 and draw(st.booleans()),
        cost=draw(st.sampled_from((None, FmhaSplitCost(0, 0), FmhaSplitCost(8, 1)))),
    )


def visible(problem: FmhaSplitProblem, q: int, k: int) -> npt.NDArray[np.bool_]:
    """[rows, k] of a request, heads merged where the problem says so; the mask's definition."""
    group = problem.heads_q // problem.heads_k if problem.merge_heads else 1
    i, j = np.repeat(np.arange(q), group)[:, None], np.arange(k)[None, :]
    if not problem.masked:
        return np.ones((q * group, k), np.bool_)
    at = i + (0 if problem.top_left else k - q)
    right = (j <= at + problem.window_right) | (problem.window_right < 0)
    left = (j >= at - problem.window_left) | (problem.window_left < 0) | (j < problem.sink_tokens)
    return right & left


def account(problem: FmhaSplitProblem, plan: FmhaSplitPlan, lengths: list[tuple[int, int]]) -> None:
    """Each visible column of a tile is in one of its items, its cuts are whole pages, no partial row is shared."""
    partial = np.zeros(plan.sizes.partial_rows, np.int64)
    items = plan.items[: plan.sizes.items]
    assert (items["request"] >= 0).all() and (plan.items[plan.sizes.items :]["request"] == -1).all()
    for request, (q, k) in enumerate(lengths):
        shown = visible(problem, q, k)
        own = items[items["request"] == request]
        assert len(np.unique(own["q_tile"])) == -(-len(shown) // problem.m0)
        assert plan.splits[request] == max(own["splits"], default=0)
        for tile in np.unique(own["q_tile"]):
            rows = shown[tile * problem.m0 : (tile + 1) * problem.m0]
            parts = np.sort(own[own["q_tile"] == tile], order="split")
            assert parts["split"].tolist() == list(range(len(parts))) and (parts["splits"] == len(parts)).all()
            seen = np.zeros(k, np.int64)
            for part in parts:
                seen[part["kv_begin"] : part["kv_end"]] += 1
                if len(parts) > 1:
                    partial[part["partial_row"] : part["partial_row"] + len(rows)] += 1
                else:
                    assert part["partial_row"] == -1
            assert seen.max(initial=0) <= 1 and seen[rows.any(axis=0)].all()
            cuts = parts["kv_begin"][1:][parts["kv_begin"][1:] == parts["kv_end"][:-1]]
            assert not (cuts % problem.n0).any() and not (cuts % max(problem.page_size, 1)).any()
    assert (partial == 1).all()
    combined = plan.combine_items[: plan.sizes.combine_items]
    assert (combined["splits"].astype(np.int64) * combined["rows"]).sum() == plan.sizes.partial_rows
    assert plan.o_indptr[-1] == plan.sizes.partial_rows and (np.diff(plan.o_indptr) >= 0).all()


@settings(max_examples=examples(120), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(problem=problems(), lengths=LENGTHS)
def test_every_visible_column_is_in_one_item(
    planner: FmhaSplitPlanner, problem: FmhaSplitProblem, lengths: list[tuple[int, int]]
) -> None:
    q, k = zip(*lengths, strict=True)
    plan = planner.plan(problem, q, k)
    assert plan.sizes == planner.count(problem, q, k)
    account(problem, plan, lengths)


@settings(max_examples=examples(80))
@given(problem=problems(), lengths=LENGTHS, more=st.tuples(st.integers(0, 9), st.integers(0, 99)), counts=st.booleans())
def test_a_bound_has_room_for_every_batch_within_it(
    planner: FmhaSplitPlanner,
    problem: FmhaSplitProblem,
    lengths: list[tuple[int, int]],
    more: tuple[int, int],
    counts: bool,
) -> None:
    q, k = zip(*lengths, strict=True)
    bound = planner.bound(problem, len(q), max(q) + more[0], max(k) + more[1], sum(q) if counts else 0)
    padded, own = planner.plan(problem, q, k, bound), planner.plan(problem, q, k)
    account(problem, padded, lengths)
    assert padded.sizes == own.sizes
    assert padded.sizes.partial_rows <= bound.partial_rows and padded.sizes.max_splits <= bound.max_splits
    assert (padded.items[: own.sizes.items] == own.items).all()
    slices, total = planner.workspace(bound, len(q), problem.hdim_v)
    ends = [s.offset + s.bytes for s in slices]
    assert all(s.offset % 256 == 0 and s.offset >= end for s, end in zip(slices, [0, *ends], strict=False))
    assert ends[-1] == total and slices[0].bytes == bound.partial_rows * bound.heads * problem.hdim_v * 4


def test_fixed_splits_of_a_request_are_the_same_in_every_batch(planner: FmhaSplitPlanner) -> None:
    fixed = replace(PLAIN, fixed_split_size=512, masked=True)

    def parts(q: list[int], k: list[int], request: int) -> list[tuple[int, int]]:
        items = planner.plan(fixed, q, k).items
        own = items[items["request"] == request]
        return sorted((int(i["kv_begin"]), int(i["kv_end"])) for i in own)

    assert parts([1], [1300], 0) == parts([1, 30, 1], [9, 40000, 1300], 2) == [(0, 512), (512, 1024), (1024, 1300)]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"heads_q": 3, "heads_k": 2}, "heads_q = 3 is no multiple of heads_k = 2"),
        ({"page_size": -1}, "page_size = -1 is outside"),
        ({"fixed_split_size": 96}, "fixed_split_size = 96 is no multiple of n0 = 64"),
        ({"fixed_split_size": 64, "max_splits": 3}, "fixed_split_size = 64 makes 4 splits, more than max_splits = 3"),
        ({"max_workgroups": 1}, "2 items of 1 workgroups are more than max_workgroups = 1"),
    ],
)
def test_a_refusal_names_the_field(planner: FmhaSplitPlanner, changed: dict[str, int], told: str) -> None:
    with pytest.raises(RuntimeFailure, match=told):
        planner.plan(replace(PLAIN, no_split="max_workgroups" in changed, **changed), [1, 1], [256, 9])  # type: ignore[arg-type]


def test_too_little_room_is_refused(planner: FmhaSplitPlanner) -> None:
    room = replace(planner.count(PLAIN, [1], [5000]), items=1)
    with pytest.raises(RuntimeFailure, match="are needed, there is room for 1"):
        planner.plan(PLAIN, [1], [5000], room)
    huge = replace(room, partial_rows=1 << 60)
    with pytest.raises(RuntimeFailure, match="o_acc: the workspace is larger than 2\\^63 bytes"):
        planner.workspace(huge, 1, 64)


def test_plans_come_near_the_lower_bound(planner: FmhaSplitPlanner) -> None:
    found = [over_bound(planner, case) for case in cases(48, seed=1)]
    assert exp(fmean(map(log, found))) < 1.15
    assert min(found) >= 1


def test_the_model_schedules_as_slots_become_free() -> None:
    assert makespan([(5, 1), (3, 2), (2, 1)], 2) == 7
    assert makespan([(4, 7)], 3) == 12
    assert makespan([], 3) == 0
    model = Model(m0=16, n0=64, item_row=2, partial_row=2)
    assert model.cost(65, partial=False) == 160 and model.cost(0, partial=True) == 64
    assert lower_bound(model, [64, 64], 1, 1) == 192
    assert lower_bound(model, [6400], 1, 1000) == 128
