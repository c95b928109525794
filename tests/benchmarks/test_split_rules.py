"""The schedules that peers' rules make: they cover what is seen once, and are as public sources say."""

from __future__ import annotations

from dataclasses import replace

import pytest
from split_rules import composable_kernel, flashinfer, tile_columns

from ckgen.runtime.fmha_split import FmhaSplitPlan, FmhaSplitProblem

PROBLEM = FmhaSplitProblem(32, 8, 128, m0=32, n0=64, cu_num=16, merge_heads=True, workgroup_heads=32)
BATCHES = {
    "decode": ([1, 1, 1], [5000, 70, 1]),
    "one": ([1], [60000]),
    "prefill": ([40, 1], [300, 4000]),
}


def lengths_of(plan: FmhaSplitPlan) -> list[tuple[int, int, int]]:
    return [(int(item["request"]), int(item["kv_begin"]), int(item["kv_end"])) for item in plan.items]


@pytest.mark.parametrize("rule", [flashinfer, composable_kernel])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize(("q", "k"), BATCHES.values(), ids=BATCHES)
def test_each_column_that_a_tile_sees_is_in_one_item(rule, masked: bool, q: list[int], k: list[int]) -> None:  # type: ignore[no-untyped-def]
    problem = replace(PROBLEM, masked=masked)
    plan = rule(problem, q, k)
    rows_of_partials: list[int] = []
    for request, lengths in enumerate(zip(q, k, strict=True)):
        for tile, (rows, columns) in enumerate(tile_columns(problem, *lengths)):
            items = plan.items[(plan.items["request"] == request) & (plan.items["q_tile"] == tile)]
            seen = [c for item in items for c in range(item["kv_begin"], item["kv_end"])]
            assert seen == list(range(columns))
            assert all(item["splits"] == len(items) and item["kv_begin"] % problem.n0 == 0 for item in items)
            if len(items) > 1:
                rows_of_partials += [int(first) + row for first in items["partial_row"] for row in range(rows)]
    assert rows_of_partials == list(range(plan.sizes.partial_rows))


def test_flashinfer_takes_the_smallest_chunk_that_is_resident_at_once() -> None:
    assert lengths_of(flashinfer(PROBLEM, [1], [16 * 128])) == [(0, 128 * i, 128 * i + 128) for i in range(16)]
    assert len(flashinfer(PROBLEM, [1], [16 * 640]).items) == 16
    assert len(flashinfer(PROBLEM, [1] * 16, [9000] * 16).items) == 16  # as many tiles as slots: none is cut


def test_composable_kernel_cuts_all_requests_into_as_many_parts() -> None:
    first = lengths_of(composable_kernel(PROBLEM, [1] * 4, [1024] * 4))[:4]
    assert first == [(0, 256 * i, 256 * i + 256) for i in range(4)]
    assert len(composable_kernel(PROBLEM, [1] * 13, [9000] * 13).items) == 13  # four fifths of the slots: none is cut
