"""Bounds of exact data, of single rows, from their formulas in docs/exactness_ops.md."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from ckgen.families.fmha.reference_exact import exact_head
from ckgen.families.fmha.scores import Scores
from ckgen.model.dtype import DType

U = 2.0**-23


def bound_of_lse(scores: Sequence[float]) -> float:
    """Of keys that all count, without a sink; `bound` of each score is 4 u."""
    number, reach = len(scores), max(map(abs, scores))
    lse = math.log(math.fsum(map(math.exp, scores)))
    rest = (2 * number + 32) * U + 8 * U * (reach + math.log(number) + 8)
    grown = (math.exp(s - lse) * math.expm1(4 * U + 4 * U * (abs(s) + reach) + 8 * U) for s in scores)
    lost = (1 + math.fsum(grown)) * (1 + rest) - 1
    return -math.log1p(-lost) + 4 * U * (reach + abs(lse) + 16)


@pytest.mark.parametrize("scores", [(0.0,), (5.0,), (-20.0,), (1.0, 1.0), (3.0, -4.0, 0.5)])
def test_the_bound_of_lse_is_its_formula(scores: tuple[float, ...]) -> None:
    exact = np.array([[*scores, -np.inf]])
    visible = np.isfinite(exact)
    asked = Scores(exact, np.where(visible, 4 * U, 0.0), visible, -math.inf)
    ones = np.ones(exact.shape)
    _, lse = exact_head(asked, np.ones((exact.shape[1], 1)), ones, (DType.FP32, DType.FP32), truncates=False)
    assert lse.c[0] == pytest.approx(math.log(math.fsum(map(math.exp, scores))), rel=1e-12)
    assert lse.bound[0] == pytest.approx(bound_of_lse(scores), rel=1e-6)
