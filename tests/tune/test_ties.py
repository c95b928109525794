"""Ties within the noise go to what the neighbours in M take."""

from __future__ import annotations

from itertools import pairwise, product

from hypothesis import given, settings
from hypothesis import strategies as st

from ckgen.measure.model import Candidate, Measured, MeasureStatus
from ckgen.tune.ties import along, fastest, ties
from examples import examples

A, B, C = map(Candidate, "abc")


def timed(one: Candidate, us: float, spread: float = 0.0) -> Measured:
    return Measured(one, MeasureStatus.OK, "", us, spread, 9)


def table(**us: float | tuple[float, float]) -> dict[Candidate, Measured]:
    pairs = {name: time if isinstance(time, tuple) else (time, 0.0) for name, time in us.items()}
    return {Candidate(name): timed(Candidate(name), *pair) for name, pair in pairs.items()}


def test_a_tie_is_within_the_spreads_of_both() -> None:
    assert ties(table(a=(100, 0.01), b=(102, 0.01)).values()) == {A, B}
    assert ties(table(a=(100, 0.01), b=(102.1, 0.01)).values()) == {A}
    assert ties(table(a=(100, 0.0), b=(102, 0.02)).values()) == {A, B}
    assert ties(table(a=100, b=100).values()) == {A, B}
    assert ties(table(a=(100, 0.0), b=(105, 9.0), c=(105.1, 9.0)).values()) == {A, B}, "however wide the spread is"
    assert ties([]) == frozenset()


def test_what_was_not_timed_neither_wins_nor_ties() -> None:
    wrong = Measured(A, MeasureStatus.WRONG, "no")
    assert fastest([wrong]) is None
    assert ties([wrong, timed(B, 5)]) == {B}
    assert along([{A: wrong}, table(b=5)]) == (None, B)


def test_a_tie_goes_to_the_neighbours_winner_on_either_side() -> None:
    clear_a, clear_b = table(a=100, b=150), table(a=150, b=100)
    tie = table(a=(100, 0.01), b=(101, 0.01))
    assert along([clear_b, tie]) == (B, B)
    assert along([tie, clear_b]) == (B, B)
    assert along([tie]) == (A,)
    assert along([clear_a, tie, clear_b]) == (A, A, B)
    assert along([clear_a, {}, tie]) == (A, None, A)


LADDERS = st.lists(
    st.dictionaries(
        st.sampled_from([A, B, C]),
        st.tuples(st.floats(50, 60), st.sampled_from([0.0, 0.01, 0.05])),
        max_size=3,
    ).map(lambda found: {one: timed(one, *pair) for one, pair in found.items()}),
    max_size=6,
)


def changes(winners: tuple[Candidate | None, ...]) -> int:
    there = [one for one in winners if one is not None]
    return sum(left != right for left, right in pairwise(there))


@settings(max_examples=examples(100))
@given(LADDERS)
def test_winners_are_ties_with_as_few_changes_as_any_choice_has(ladder: list[dict[Candidate, Measured]]) -> None:
    found = along(ladder)
    sets = [ties(times.values()) for times in ladder]
    for winner, known in zip(found, sets, strict=True):
        assert (winner in known) if known else winner is None
    choices = product(*(sorted(known) or [None] for known in sets))
    assert changes(found) == min(map(changes, choices), default=0)


@settings(max_examples=examples(100))
@given(LADDERS, st.randoms(use_true_random=False))
def test_the_order_of_candidates_changes_nothing(ladder: list[dict[Candidate, Measured]], draw) -> None:  # type: ignore[no-untyped-def]
    def mixed(times: dict[Candidate, Measured]) -> dict[Candidate, Measured]:
        pairs = list(times.items())
        draw.shuffle(pairs)
        return dict(pairs)

    assert along([mixed(times) for times in ladder]) == along(ladder)


def test_what_loses_less_than_one_per_cent_is_equal_and_the_first_by_name_wins() -> None:
    assert along([table(a=(100.9, 0.01), b=(100, 0.01))]) == (A,)
    assert along([table(a=(101.1, 0.01), b=(100, 0.01))]) == (B,)
