"""How far results are from what must come out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ckgen.fuzz.operation import Result


@dataclass(frozen=True, slots=True)
class Errors:
    """See Measured."""

    max_rel: float
    frob_rel: float
    checked: int


def errors_of(results: list[Result]) -> Errors:
    """Of all elements that a bound holds; infinite where one is no number."""
    max_rel, frob_rel, checked = 0.0, 0.0, 0
    for one in results:
        found = one.found.reshape(one.expected.c.shape)
        counts = np.isfinite(one.expected.bound) & np.isfinite(one.expected.c)
        checked += int(np.count_nonzero(counts))
        if np.array_equal(found, one.expected.c):
            continue
        exact = one.expected.c[counts]
        error = np.abs(found[counts] - exact)
        error[np.isnan(error)] = np.inf
        if exact.size:
            max_rel = max(max_rel, _over(float(error.max()), float(np.abs(exact).max())))
            frob_rel = max(frob_rel, _over(float(np.linalg.norm(error)), float(np.linalg.norm(exact))))
    return Errors(max_rel, frob_rel, checked)


def _over(error: float, size: float) -> float:
    return error / size if size else (0.0 if not error else float("inf"))
