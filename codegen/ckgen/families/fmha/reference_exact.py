"""What attention must give for the data of `exact_operands`, with the bound that docs/exactness_ops.md derives.

Weights are powers of two or vanish, so that P is exact in every type that a kernel rounds it to. What is left are fp32
operations on the few keys that count, and one rounding of O.
"""

from __future__ import annotations

import numpy as np

from ckgen.families.elements import Values
from ckgen.families.fmha.scores import FAITHFUL, Scores
from ckgen.families.gemm.comparison import Expected
from ckgen.families.rounding import rounded
from ckgen.model.dtype import DType

LN2 = float(np.log(2.0))
_COUNTS = 64.0
"""Below a row's largest score by more, a key's weight is lost beside the others: 2^-92."""
_VANISHES = 110.0
"""And by so much, its weight is 0 in fp32: below 2^-150."""
_NEARLY = 2.0**-500
_SMALLEST_P = {DType.FP16: 14, DType.BF16: 126, DType.FP8_OCP: 6, DType.FP8_FNUZ: 7, DType.BF8_OCP: 14,
               DType.BF8_FNUZ: 15}  # fmt: skip
"""The least normal number of a type is 2 to minus this."""


def exact_head(
    scores: Scores, values: Values, kept: Values, dtypes: tuple[DType, DType], truncates: bool
) -> tuple[Expected, Expected]:
    """O and lse of one sequence and query head, [length_q, hdim_v] and [length_q]; `dtypes` are Q's and O's.

    `kept` is what dropout multiplies each weight by; truncates: 16-bit values may be rounded towards zero.
    """
    u, sink = FAITHFUL, scores.sink
    top = np.maximum(scores.exact.max(axis=1, initial=-np.inf), sink)
    seeing = np.isfinite(top)
    base = np.where(seeing, top, 0.0)[:, None]
    counts = scores.visible & (scores.exact >= base - _COUNTS)
    raised = np.exp(np.where(scores.visible, scores.exact, -np.inf) - base)
    of_sink = np.where(seeing, np.exp(sink - base[:, 0]), 0.0)
    total = np.where(seeing, raised.sum(axis=1) + of_sink, 1.0)
    weights, of_sink = raised / total[:, None], of_sink / total

    number = counts.sum(axis=1)
    sizes = np.where(counts, np.abs(scores.exact), 0.0)
    reach = np.maximum(sizes.max(axis=1, initial=0.0), np.abs(base[:, 0]))
    of_score = scores.bound + 4 * u * (sizes + reach[:, None])
    grown = np.where(counts, np.expm1(of_score + 8 * u), 1.0)
    summing = (2 * number + 32) * u + 8 * u * (reach + np.log(np.maximum(number, 1)) + 8)
    of_sum = (weights * grown).sum(axis=1) + of_sink * np.expm1(8 * u * (reach + 2))
    lost = (1 + of_sum) * (1 + summing) - 1
    each = (1 + grown) * (1 + _rounding(scores, base, dtypes[0], truncates)) * (1 + 8 * u) * (1 + summing[:, None]) - 1
    dropped, size = weights * kept, np.abs(values)
    o = dropped @ values
    numerator = np.where(counts, dropped * each, 2 * dropped) @ size
    error = (numerator + np.abs(o) * lost[:, None]) / (1 - lost[:, None])

    is_alone = _is_alone(scores, base, of_sink)
    o = np.where(is_alone[:, None], np.where(counts, kept, 0.0) @ values, o)
    error[is_alone] = 0.0
    found = rounded(o, error, dtypes[1], truncates=truncates and dtypes[1].bits == 16)
    sees = scores.visible.any(axis=1, keepdims=True)
    none = Expected(np.where(sees, found.c, 0.0), np.where(sees, found.bound, _NEARLY))
    with np.errstate(divide="ignore"):
        lse = np.where(seeing, base[:, 0] + np.log(total), -np.inf)
    near = -np.log1p(-lost) + 4 * u * (reach + np.abs(np.where(seeing, lse, 0.0)) + 16)
    return none, Expected(lse, np.where(seeing, near, _NEARLY))


def _rounding(scores: Scores, base: Values, dtype: DType, truncates: bool) -> Values:
    """How far rounding P to Q's type moves it: not at all where it is a power of two that the type holds."""
    halvings = np.where(scores.visible, base - scores.exact, 0.0) / LN2
    if dtype is DType.FP32:
        return np.zeros_like(halvings)
    is_power = (np.abs(halvings - np.rint(halvings)) < 2.0**-9) & (halvings < _SMALLEST_P[dtype] + 0.5)
    if truncates and dtype.bits == 16:  # less than a power of two by nothing at all
        is_power = (scores.exact == 0) & (base == 0)
    roundoff = {16: 2.0**-10 if dtype is DType.FP16 else 2.0**-7, 8: 2.0**-2}[dtype.bits]
    is_normal = halvings < _SMALLEST_P[dtype] + 0.5
    return np.where(is_power, 0.0, np.where(is_normal, roundoff, 1.0))


def _is_alone(scores: Scores, base: Values, of_sink: Values) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Rows of one key with a score of 0 beside which nothing is: O is its V, whatever the order."""
    above = scores.visible & (scores.exact >= base - _VANISHES)
    found: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] = (
        (above.sum(axis=1) == 1) & (np.where(above, scores.exact, 0.0) == 0).all(axis=1) & (of_sink == 0)
    )
    return found
