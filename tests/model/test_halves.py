"""Regrets by halves of rounds: what made something the best is not what it is priced by."""

from __future__ import annotations

from random import Random
from statistics import fmean

import pytest

from ckgen.model.halves import Halves


def test_each_half_chooses_what_the_other_prices() -> None:
    halves = Halves({"a": 1.0, "b": 1.1}, {"a": 1.32, "b": 1.2})
    assert not halves.are_agreed
    assert halves.regret(["a"]) == pytest.approx((1.0 * (1.0 / 1.1)) ** 0.5)
    assert halves.floor == pytest.approx((1.1 * 1.1) ** 0.5)
    assert halves.regret(["b", "a"]) == 1.0, "the fastest by the half that chooses is the best"


def test_what_one_half_lacks_is_not_judged() -> None:
    halves = Halves({"a": 1.0, "b": 2.0, "c": 0.5}, {"a": 1.0, "b": 2.0})
    assert (halves.regret(["b"]), halves.regret(["c"]), halves.floor) == (2.0, None, 1.0)
    one_round: Halves[str] = Halves({"a": 1.0})
    assert (one_round.regret(["a"]), one_round.floor) == (None, None)


def test_noise_neither_flatters_nor_condemns() -> None:
    """Of equal kernels any is as good as any other; judged by the very times that chose the best, none would be."""
    draw = Random(1)
    same, split = [], []
    for _ in range(400):
        odd, even = ({kernel: draw.gauss(1, 0.05) for kernel in range(40)} for _ in range(2))
        same.append(odd[7] / min(odd.values()))
        split.append(Halves(odd, even).regret([7]))
    assert fmean(same) > 1.1
    assert fmean(one for one in split if one is not None) == pytest.approx(1.0, abs=0.005)
