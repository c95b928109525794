"""What counts as right."""

from __future__ import annotations

import math

import numpy as np

from ckgen_emulator.production.model import Output, compare


def test_within_the_bound() -> None:
    actual = np.array([1.0, 2.5, -3.0], np.float32)
    found = compare(Output("c", actual, np.array([1.0, 2.0, -3.0]), np.array([0.0, 1.0, 0.0])))
    assert (found.max_error, found.bound, found.excess, found.wrong) == (0.5, 1.0, 0.5, 0)


def test_beyond_the_bound() -> None:
    actual = np.array([1.0, 2.5, -3.0], np.float32)
    found = compare(Output("c", actual, np.array([1.0, 2.0, -3.0]), 0.25))
    assert (found.excess, found.wrong) == (2.0, 1)


def test_equality() -> None:
    found = compare(Output("c", np.array([1, 2]), np.array([1, 3]), 0))
    assert math.isinf(found.excess)
    assert found.wrong == 1


def test_nan() -> None:
    """Where one is expected only."""
    actual = np.array([math.nan, math.nan], np.float32)
    found = compare(Output("c", actual, np.array([math.nan, 1.0]), 10))
    assert math.isinf(found.max_error)
    assert found.wrong == 1


def test_more_rows_than_expected() -> None:
    actual = np.array([[1.0], [math.nan]], np.float32)
    assert compare(Output("c", actual, np.array([[1.0]]), 0)).wrong == 0
