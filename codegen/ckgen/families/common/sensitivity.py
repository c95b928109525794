"""How small an error a comparison can see: its bound relative to the result."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_LEAST = 2.0**-10


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """Bound / |C|, its median and worst over elements; NaN where no element counts.

    Those count that are finite and at least a thousandth of the largest: an epilogue such as gelu comes as near 0 as it
    likes, and so does a sum that cancels. An infinite bound, where any value is right, counts.
    """

    median: float
    worst: float

    @staticmethod
    def of(c: npt.NDArray[np.float64], bound: npt.NDArray[np.float64]) -> Sensitivity:
        """Of a right result and its bound."""
        size = np.where(np.isfinite(c), np.abs(c), 0.0)
        counts = (size > 0) & (size >= _LEAST * size.max(initial=0.0))
        if not counts.any():
            return Sensitivity(float("nan"), float("nan"))
        ratios = bound[counts] / np.abs(c[counts])
        return Sensitivity(float(np.median(ratios)), float(ratios.max()))

    @staticmethod
    def worst_of(each: Iterable[Sensitivity]) -> Sensitivity:
        """The largest of all medians and of all worst ones; NaN where there are none that count."""
        counted = [one for one in each if one.worst == one.worst]
        if not counted:
            return Sensitivity(float("nan"), float("nan"))
        return Sensitivity(max(one.median for one in counted), max(one.worst for one in counted))

    def __str__(self) -> str:
        return f"bound/|C| {self.median:.2g} median, {self.worst:.2g} worst"
