"""What turns say together: quiet ones much, disturbed ones little."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckgen.measure.model import Candidate, Measured, MeasureStatus
from ckgen.tune.losses import Apart, location, loss_to
from examples import examples

A, B = Candidate("a"), Candidate("b")
VALUES = st.lists(st.floats(-0.5, 0.5), min_size=1, max_size=9)


def timed(one: Candidate, us: float, spread: float = 0.005) -> Measured:
    return Measured(one, MeasureStatus.OK, "", us, spread, 15)


@settings(max_examples=examples(100))
@given(VALUES, st.floats(0.1, 1e4))
def test_of_equal_weights_it_is_the_median_of_the_means_of_pairs(values: list[float], weight: float) -> None:
    means = sorted((values[i] + values[j]) / 2 for i in range(len(values)) for j in range(i, len(values)))
    middle = len(means) // 2
    expected = means[middle] if len(means) % 2 else (means[middle - 1] + means[middle]) / 2
    found = location([Apart(value, weight) for value in values])
    assert found == pytest.approx(expected, abs=1e-9)


def test_what_weighs_little_moves_it_little() -> None:
    quiet = [Apart(0.05, 4000.0)] * 3
    assert location([*quiet, *[Apart(-0.4, 20.0)] * 6]) == pytest.approx(0.05, abs=0.01)
    assert location([Apart(0.05, 1.0)] * 3 + [Apart(-0.4, 1.0)] * 6) < -0.15


def test_a_loss_is_of_the_turns_that_have_both_and_one_disturbed_turn_misfits_no_more_than_nine_variances() -> None:
    turns = [{A: timed(A, 105), B: timed(B, 100)}] * 4
    clean = loss_to([*turns, {A: timed(A, 900)}], A, B)
    assert clean is not None
    assert (clean.count, clean.value, clean.misfit) == (4, pytest.approx(math.log(1.05)), pytest.approx(0))
    worse = loss_to([*turns, {A: timed(A, 200), B: timed(B, 100)}], A, B)
    assert worse is not None and worse.misfit == pytest.approx(9)
    assert loss_to([{A: timed(A, 1)}, {B: timed(B, 1)}], A, B) is None


def test_a_turn_weighs_by_its_spread() -> None:
    quiet, noisy = ({A: timed(A, 100, spread), B: timed(B, 100, spread)} for spread in (0.005, 0.4))
    known, vague = loss_to([quiet], A, B), loss_to([noisy], A, B)
    assert known is not None and vague is not None
    assert known.weight > 50 * vague.weight


def test_a_disturbed_median_is_no_more_certain_for_many_rounds() -> None:
    """Three of four rounds had one CPU of two, for one of them; a single such turn decides nothing."""
    turn = {A: timed(A, 200, 0.01), B: timed(B, 100, 0.48)}
    found = loss_to([turn], A, B)
    assert found is not None
    assert found.value < 2.5 / math.sqrt(found.weight)
