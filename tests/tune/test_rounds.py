"""Which candidates a further round of an exhaustive tune times."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from ckgen.measure.model import Candidate, Measured, MeasureStatus
from ckgen.tune.losses import Turn
from ckgen.tune.rounds import LEAST_ROUNDS, unsettled
from ckgen.tune.ties import MOST_TURNS

A, B, C = map(Candidate, "abc")


def turns(count: int, us: Mapping[Candidate, float], noise: float = 0.0) -> list[Turn]:
    draw = Random(1)
    return [
        {one: Measured(one, MeasureStatus.OK, "", time * draw.gauss(1, noise), noise, 3) for one, time in us.items()}
        for _ in range(count)
    ]


def test_the_first_rounds_are_of_all() -> None:
    assert unsettled(turns(LEAST_ROUNDS - 1, {A: 1.0, B: 2.0, C: 9.0})) == (A, B, C)


def test_what_is_known_well_is_timed_no_more() -> None:
    assert unsettled(turns(LEAST_ROUNDS, {A: 1.0, B: 1.005, C: 2.0})) == ()


def test_what_may_be_as_fast_is_timed_beside_the_fastest() -> None:
    noisy = {A: 1.0, B: 1.02, C: 3.0}
    assert unsettled(turns(LEAST_ROUNDS, noisy, noise=0.03)) == (A, B)
    assert unsettled(turns(MOST_TURNS, noisy, noise=0.2)) == ()


def test_of_nothing_nothing_is_timed() -> None:
    assert unsettled([{} for _ in range(LEAST_ROUNDS)]) == ()
