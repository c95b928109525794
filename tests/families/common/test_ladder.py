from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ckgen.families.common.ladder import Ladder, bucket_floor, group_slot, ladder_bucket, layout_directory, layout_slots

measured = st.dictionaries(st.integers(1, 4000), st.integers(0, 3), min_size=1, max_size=60)
grids = st.builds(
    lambda step, count, choice: {step * i: choice for i in range(1, count)},
    st.integers(1, 64),
    st.integers(2, 40),
    st.integers(0, 1),
)


@given(measured | grids)
def test_merging_loses_no_measured_size(rows: dict[int, int]) -> None:
    ladder = Ladder.from_measured(rows.items())
    listed = [(m, rung.choice) for rung in ladder.rungs for m in range(rung.first, rung.last + 1, rung.step)]
    assert listed == sorted(rows.items())


@given(measured | grids, st.integers(0, 5000))
def test_neighbours_are_those_of_the_plain_list(rows: dict[int, int], m: int) -> None:
    ladder = Ladder.from_measured(rows.items())
    above = min((known for known in rows if known >= m), default=None)
    below = max((known for known in rows if known < m), default=None)
    assert ladder.at_or_above(m) == (None if above is None else (above, rows[above]))
    assert ladder.below(m) == (None if below is None else (below, rows[below]))


@given(measured, st.integers(0, 3))
def test_one_more_grid_point_of_one_kernel_makes_no_new_rung(rows: dict[int, int], choice: int) -> None:
    grid = [(16 * i, choice) for i in range(1, 20)]
    assert len(Ladder.from_measured(grid).rungs) == 1


def test_group_slot_is_the_one_in_lookup_hpp() -> None:
    """The same four numbers are asserted of ckgen::group_slot in dispatcher_cpp/tests/test_lookup.cpp."""
    keys = ((1, 1, 0), (7168, 2048, 0), (2048, 7168, 0), (8192, 8192, 16))
    assert [group_slot(*key, 1 << 20) for key in keys] == [0x1D81F, 0xE1601, 0x6530F, 0x06F5A]


@given(st.sets(st.tuples(st.integers(1, 2**31), st.integers(1, 2**31), st.integers(0, 64)), min_size=1, max_size=80))
def test_every_group_is_found_by_probing(keys: set[tuple[int, int, int]]) -> None:
    order = sorted(keys)
    slots = layout_slots(order)
    assert len(slots) & (len(slots) - 1) == 0 and slots.count(0) >= len(slots) // 2
    for index, key in enumerate(order):
        slot = group_slot(*key, len(slots))
        while slots[slot] != index + 1:
            assert slots[slot] != 0
            slot = (slot + 1) & (len(slots) - 1)


@given(st.integers(0, 2**32 - 1))
def test_buckets_are_consecutive_and_begin_at_their_floor(m: int) -> None:
    bucket = ladder_bucket(m)
    assert bucket_floor(bucket) <= m < bucket_floor(bucket + 1)
    assert ladder_bucket(bucket_floor(bucket)) == bucket


@given(st.lists(measured, min_size=1, max_size=4), st.integers(1, 5000))
def test_a_directory_leaves_the_answer_between_two_entries(groups: list[dict[int, int]], m: int) -> None:
    ladders = [Ladder.from_measured(rows.items()) for rows in groups]
    rows = layout_directory(ladders)
    assert len({len(row) for row in rows}) == 1
    for ladder, row in zip(ladders, rows, strict=True):
        expected = next((i for i, rung in enumerate(ladder.rungs) if rung.last >= m), len(ladder.rungs))
        bucket = ladder_bucket(m)
        if bucket + 1 >= len(row):
            assert expected == len(ladder.rungs)
        else:
            assert row[bucket] <= expected <= row[bucket + 1]
