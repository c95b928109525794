"""A result against the exact one: each element within its own bound."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ckgen.families.common.sensitivity import Sensitivity

_Values = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Expected:
    """The right result, [batch, M, N], and how far a correct kernel may be from it, elementwise.

    A bound of 0 asks for equality; where it is infinite any value is right.
    """

    c: _Values
    bound: _Values

    @property
    def sensitivity(self) -> Sensitivity:
        """How small an error is seen."""
        return Sensitivity.of(self.c, self.bound)

    def excess(self, actual: npt.NDArray[np.generic]) -> float:
        """The largest error in units of its bound; above 1 the kernel is wrong."""
        return compare(self, actual).excess


@dataclass(frozen=True, slots=True)
class Wrong:
    """An element that is farther from the exact result than a correct kernel may be."""

    batch: int
    row: int
    column: int
    expected: float
    actual: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """A result against the reference. `bound` is the largest of all elements, 0 where equality is asked.

    `max_abs_err` and `excess` (the largest error in units of its element's bound) are infinite where an element is NaN,
    or `excess` where equality was asked and is not there.
    """

    max_abs_err: float
    bound: float
    excess: float
    wrong: int
    first: Wrong | None

    @property
    def ok(self) -> bool:
        """Whether a correct kernel may give this."""
        return self.excess <= 1


def compare(expected: Expected, actual: npt.NDArray[np.generic]) -> Comparison:
    """Every element against its bound; `actual` is of any shape with as many elements."""
    found = np.asarray(actual, np.float64).reshape(expected.c.shape)
    with np.errstate(invalid="ignore"):
        error = np.abs(found - expected.c)
    error[np.isnan(found)] = np.inf
    bound = expected.bound
    if (is_any := np.isinf(bound)).any():
        error[is_any] = 0
        bound = np.where(is_any, 0, bound)
    inexact = np.flatnonzero(error)
    with np.errstate(invalid="ignore", divide="ignore"):
        excess = error.ravel()[inexact] / bound.ravel()[inexact]
    bad = inexact[excess > 1]
    first = None
    if len(bad):
        place = tuple(int(index) for index in np.unravel_index(bad[0], error.shape))
        first = Wrong(*_of_three(place), float(expected.c[place]), float(found[place]))
    most = (float(error.max(initial=0)), float(bound.max(initial=0)), float(excess.max(initial=0)))
    return Comparison(*most, len(bad), first)


def _of_three(place: tuple[int, ...]) -> tuple[int, int, int]:
    """Indices of fewer dimensions are the last ones."""
    batch, row, column = (0, 0, 0, *place)[-3:]
    return batch, row, column
