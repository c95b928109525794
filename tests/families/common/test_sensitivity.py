"""How small an error a comparison can see."""

from __future__ import annotations

import math

import numpy as np

from ckgen.families.common.sensitivity import Sensitivity


def test_the_median_and_the_worst_of_bounds_relative_to_results() -> None:
    assert Sensitivity.of(np.array([1.0, -2.0, 4.0]), np.array([0.5, 0.5, 0.5])) == Sensitivity(0.25, 0.5)


def test_zeros_and_special_values_do_not_count_but_infinite_bounds_do() -> None:
    results = np.array([0.0, np.inf, np.nan, 2.0])
    assert Sensitivity.of(results, np.array([1.0, 1.0, 1.0, 0.5])) == Sensitivity(0.25, 0.25)
    assert Sensitivity.of(np.ones(3), np.array([0.0, 0.0, np.inf])) == Sensitivity(0.0, math.inf)


def test_a_result_in_which_nothing_counts_has_none() -> None:
    assert math.isnan(Sensitivity.of(np.zeros(2), np.zeros(2)).worst)


def test_a_thousandth_of_the_largest_counts_and_less_does_not() -> None:
    results = np.array([1024.0, 1.0, 0.999])
    assert Sensitivity.of(results, np.array([0.0, 3.0, 9.0])) == Sensitivity(1.5, 3.0)


def test_the_worst_of_several_is_of_those_in_which_something_counts() -> None:
    none = Sensitivity.of(np.zeros(2), np.zeros(2))
    assert Sensitivity.worst_of([Sensitivity(0.25, 0.5), none, Sensitivity(0.125, 2.0)]) == Sensitivity(0.25, 2.0)
    assert math.isnan(Sensitivity.worst_of([none]).median) and math.isnan(Sensitivity.worst_of([]).worst)
    assert str(Sensitivity(0.25, 2.0)) == "bound/|C| 0.25 median, 2 worst"
