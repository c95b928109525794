from __future__ import annotations

from dataclasses import replace

import pytest
from fmha_strategies import SHAPES
from hypothesis import given
from hypothesis import strategies as st

from ckgen.families.fmha.constraints import FmhaConstraints
from ckgen.families.fmha.cost import Split, best_split, cost, mean_columns, weighed_splits
from ckgen.families.fmha.enums import FmhaTraits
from ckgen.families.fmha.problem import check
from ckgen.model.fmha_shape import FmhaCorner, FmhaShape

PLAIN = FmhaTraits()
USUAL = FmhaShape(batch=2, heads_q=8, heads_k=2, seqlen_q=256, seqlen_k=512, hdim_q=128, hdim_v=128)
WHOLE = FmhaConstraints(128, 64, 32, 128, 32, 128, 128, False, False, 0, 0)
PADDED = replace(WHOLE, pad_q=True, pad_k=True, d_multiple=8, dv_multiple=8)
SPLIT = replace(PADDED, m0=64, n0=128, max_splits=128)
DECODE = replace(USUAL, batch=1, heads_k=8, seqlen_q=1, seqlen_k=65536)


@given(st.integers(1, 40), st.integers(0, 40), st.sampled_from(FmhaCorner), st.integers(-1, 45), st.integers(-1, 45))
def test_the_mean_of_columns_is_that_of_the_mask(
    rows: int, columns: int, corner: FmhaCorner, left: int, right: int
) -> None:
    """Counted column by column, as the formula of fmha.hpp says."""
    shift = 0 if corner is FmhaCorner.TOP_LEFT else columns - rows
    seen = sum(
        (left < 0 or j >= i + shift - left) and (right < 0 or j <= i + shift + right)
        for i in range(rows)
        for j in range(columns)
    )
    shape = replace(USUAL, seqlen_q=rows, seqlen_k=columns, corner=corner, window_left=left, window_right=right)
    assert mean_columns(FmhaTraits(masked=True), shape) == -(-seen // rows)
    assert mean_columns(PLAIN, shape) == columns


def test_cost_prefers_exact_head_dims_whole_tiles_and_fewer_pads() -> None:
    def of(constraints: FmhaConstraints, **sizes: int) -> int:
        return cost(constraints, PLAIN, replace(USUAL, **sizes), 304)  # type: ignore[arg-type]

    wide = replace(PADDED, hdim_q=256, hdim_v=256, n1=256)
    small = replace(PADDED, m0=16)
    assert of(WHOLE) < of(PADDED) < of(wide)
    assert of(small, seqlen_q=1) < of(PADDED, seqlen_q=1)
    causal = cost(PADDED, FmhaTraits(masked=True), replace(USUAL, seqlen_q=512), 304)
    assert causal < of(PADDED, seqlen_q=512)


@given(SHAPES)
def test_costs_of_legal_problems_are_below_128_bits(shape: FmhaShape) -> None:
    if check(PLAIN, shape) is None:
        assert 0 <= cost(PADDED, PLAIN, shape, 1) < 2**128


@pytest.mark.parametrize(
    ("sizes", "most", "expected"),
    [
        ({}, 128, (1, 37, 74, 103)), ({}, 40, (1, 37, 40)), ({}, 1, (1,)), ({"seqlen_k": 300}, 128, (1, 3)),
        ({"seqlen_k": 0}, 128, (1,)), ({"seqlen_q": 0}, 128, (1,)), ({"batch": 26}, 128, (1, 2, 4)),
        ({"batch": 77}, 128, (1,)), ({"split_items": 9}, 128, (1,)),
    ],
)  # fmt: skip
def test_splits_are_the_fewest_of_as_long_parts(sizes: dict[str, int], most: int, expected: tuple[int, ...]) -> None:
    shape = replace(DECODE, **sizes)  # type: ignore[arg-type]
    found = weighed_splits(replace(SPLIT, max_splits=most), PLAIN, shape, 304)
    assert tuple(one.splits for one in found) == expected


@given(SHAPES, st.integers(1, 300), st.integers(1, 304))
def test_the_best_splits_cost_least_of_those_weighed_and_are_within_the_kernels(
    shape: FmhaShape, most: int, cus: int
) -> None:
    """No number of splits is better than the best by more than a round of the shortest parts."""
    if check(PLAIN, shape) is not None:
        return
    asked = replace(SPLIT, max_splits=most)
    best = best_split(asked, PLAIN, shape, cus)
    assert 1 <= best.splits <= most and best.cost == cost(asked, PLAIN, shape, cus, best.splits)
    assert best.cost <= cost(asked, PLAIN, shape, cus)
    assert best == best_split(asked, PLAIN, shape, cus)


def test_what_partial_results_cost() -> None:
    shape = replace(DECODE, seqlen_k=1000)
    asked = replace(PADDED, m0=64, max_splits=8)
    assert cost(asked, PLAIN, shape, 10, 5) == (4 * (64 + 64) * (256 + 4) + (1 << 14)) * 256 * 8 + 4
    always = replace(asked, always_combines=True)
    assert cost(always, PLAIN, shape, 10) == ((64 + 64) * (1024 + 4) + (1 << 14)) * 256 * 8 + 4
    merged = replace(asked, merge_heads=True)
    several = replace(shape, batch=3, heads_q=32, heads_k=4, seqlen_q=5)
    assert cost(merged, PLAIN, several, 4) == 3 * (64 + 64) * 2**21 + 4


TOGETHER = replace(PADDED, m0=64, max_splits=128, merge_heads=True, takes_items=True, rows_together=32)


@pytest.mark.parametrize(
    ("cus", "splits", "rows", "rounds"),
    [
        (1, 1, 1, 8), (2, 1, 1, 5), (3, 1, 1, 4), (64, 1, 1, 2), (2, 2, 1, 8), (4, 3, 1, 10), (2, 1, 8, 5),
        (2, 1, 9, 4),  # 36 rows: each head is a workgroup
    ],
)  # fmt: skip
def test_few_workgroups_share_their_heads(cus: int, splits: int, rows: int, rounds: int) -> None:
    """Of eight KV heads of one request; a quarter more where heads are shared."""
    shape = replace(DECODE, batch=1, heads_q=32, heads_k=8, seqlen_q=rows, seqlen_k=splits * 64)
    partials = (rounds * 4 * (64 + 64) + (1 << 18)) * 256 * 8 if splits > 1 else 0
    assert cost(TOGETHER, PLAIN, shape, cus, splits) == rounds * 64 * (64 + 64) * 256 * 8 + partials + 4


@pytest.mark.parametrize(
    ("batch", "keys", "threads", "splits"),
    [(1, 65536, 2, 2), (1, 1024, 2, 1), (2, 65536, 2, 1), (1, 65536, 1, 1), (3, 65536, 64, 64)],
)
def test_one_long_request_is_split_among_threads(batch: int, keys: int, threads: int, splits: int) -> None:
    shape = replace(DECODE, batch=batch, heads_q=32, heads_k=8, seqlen_k=keys)
    assert best_split(TOGETHER, PLAIN, shape, threads).splits == splits


WINDOW = replace(DECODE, seqlen_k=100_000, window_left=4095)


@pytest.mark.parametrize(
    ("asked", "weighed", "best"),
    [
        # all keys are shared: 121 parts of 827 keys, of which the window meets 6; 8 of 12,500 are longer than it
        (replace(SPLIT, n0=64), (1, 121), 121),
        (replace(SPLIT, n0=64, max_splits=8), (1, 8), 1),
        # what rows see is shared: no more parts than it has steps
        (replace(SPLIT, n0=64, takes_items=True), (1, 32, 64), 32),
        (replace(SPLIT, takes_items=True), (1, 32), 32),
    ],
)
def test_splits_are_of_the_columns_of_a_window(asked: FmhaConstraints, weighed: tuple[int, ...], best: int) -> None:
    traits = FmhaTraits(masked=True)
    assert tuple(one.splits for one in weighed_splits(asked, traits, WINDOW, 304)) == weighed
    assert best_split(asked, traits, WINDOW, 304) == Split(best, cost(asked, traits, WINDOW, 304, best))


@given(st.integers(1, 5000), st.integers(-1, 5000), st.integers(2, 128), st.integers(1, 64))
def test_splits_of_all_keys_that_see_none_take_no_round(keys: int, left: int, splits: int, cus: int) -> None:
    """Parts that the last row's window meets, counted: a window may begin within one more than it fills."""
    shape = replace(DECODE, heads_q=1, heads_k=1, seqlen_k=keys, window_left=left)
    part = -(-keys // splits)
    first = max(keys - 1 - left, 0) if left >= 0 else 0
    met = sum(i * part < keys and (i + 1) * part > first for i in range(splits))
    asked = replace(SPLIT, n0=1, m0=1)
    columns = min(keys - first, part)

    def of(working: int) -> int:
        rounds = -(-working // cus) * columns + 4 * -(-splits // cus)
        return (rounds * (1 + 64) + (1 << 14)) * 256 * 8 + 4

    found = cost(asked, FmhaTraits(masked=True), shape, cus, splits)
    assert of(met) <= found <= of(min(met + 1, splits))
