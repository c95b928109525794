from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ckgen.families.common.ladder import Ladder

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


@given(measured | grids, st.data())
def test_a_size_that_goes_or_changes_leaves_rungs_that_are_not_beside_it(
    rows: dict[int, int], data: st.DataObject
) -> None:
    """Where sizes double, and pairs of them were rungs, all rungs behind the size would be others."""
    doubling = {4096 << at: 0 for at in range(12)}
    before = {*Ladder.from_measured((rows | doubling).items()).rungs}
    m = data.draw(st.sampled_from(sorted(rows | doubling)))
    for edited in (rows | doubling | {m: 4}, {size: won for size, won in (rows | doubling).items() if size != m}):
        assert len(before ^ {*Ladder.from_measured(edited.items()).rungs}) <= 9


def test_two_sizes_are_no_run_and_a_shared_end_is_of_the_first() -> None:
    def rungs(*sizes: int) -> list[tuple[int, int, int]]:
        return [(one.first, one.last, one.step) for one in Ladder.from_measured((m, 0) for m in sizes).rungs]

    assert rungs(1, 2) == [(1, 1, 1), (2, 2, 1)]
    assert rungs(1, 2, 4, 8) == [(1, 1, 1), (2, 2, 1), (4, 4, 1), (8, 8, 1)]
    assert rungs(1, 2, 3) == [(1, 3, 1)]
    assert rungs(1, 2, 3, 5, 7) == [(1, 3, 1), (5, 7, 2)]
    assert rungs(3, 6, 9) == [(3, 3, 1), (6, 6, 1), (9, 9, 1)]
