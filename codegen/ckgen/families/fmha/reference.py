"""What attention must give, from the definition in `ckgen/fmha.hpp`, in float64, with a derived bound per element.

Let u = 2^-23: every fp32 operation of a kernel gives a neighbour of the exact value, in any order, with any fusing, and
exp, log and tanh are off by at most 4u of the value, or of 1 where that is more.

Scores. A sum of hdim_q products, then scale and descales and the factor log2(e) of kernels with exp2:
    E = (hdim_q + 8) u |scale·descales| sum|Q K|.
softcap has a slope of at most 1: E + 16 u softcap + 4 u |S|. A bias adds u for the sum and 3 u for alibi's product.

Weights. With w = exp(S - lse), a kernel's exp(S - m) is w exp(theta) times what all elements of a row share, and what
they share cancels in O; |theta| <= d = E + 4 u (|S| + max|S|) + 8 u. The row sum, of weights that are not yet rounded,
is off by the part L = (1 + sum w (exp(d) - 1)) (1 + g) - 1 with
    g = (2 length_k + 32) u + 8 u (max|S| + log(length_k) + 8):
additions, rescaling as the maximum grows (its steps add up to at most max|S| - min S, which d has), and the weights of
parts that workgroups computed each on its own and that their lse joins. A sink is one more weight.

Output. P is rounded to Q's type t before the second product, to within r_t of itself, or a_t where it is subnormal; a
row's largest weight is 1 there at that time, or more, so that a_t counts in units of the largest w of the row. So does
f = 2^-126, below which an exp may give 0:
    N = sum w keep / (1 - p_drop) |V| ((1 + exp(d) - 1) (1 + r_t) (1 + 8 u) (1 + g) - 1)
        + a_t max(w) sum keep |V| + f max(w) sum keep / (1 - p_drop) |V|,
    bound of O = (N + |O| L) / (1 - L), and one rounding to O's type.
fp32 is not rounded on the way. The bound of lse is -log(1 - L) + 4 u (max|S| + |lse| + 16).

A row that sees nothing must be exactly 0, its lse -infinity.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ckgen.families.common.comparison import Expected
from ckgen.families.common.rounding import rounded
from ckgen.families.common.storage import Storage, Values
from ckgen.families.fmha.mask import FmhaMask
from ckgen.families.fmha.operands import FmhaOperands
from ckgen.families.fmha.reference_exact import exact_head
from ckgen.families.fmha.scores import FAITHFUL, Scores, scores_of, value_descales
from ckgen.model.dtype import DType

_EXACT = 2.0**-500
_FLUSHED = 2.0**-126
"""The least weight that is not 0, of the row's largest: that of fp32 without subnormal numbers."""


@dataclass(frozen=True, slots=True)
class Precision:
    """Of a float type: half a unit in the last place of 1, half the distance of subnormals, and the largest value."""

    roundoff: float
    least: float
    largest: float


PRECISIONS = {
    DType.FP32: Precision(2.0**-24, 2.0**-150, (2 - 2.0**-23) * 2.0**127),
    DType.FP16: Precision(2.0**-11, 2.0**-25, 65504.0),
    DType.BF16: Precision(2.0**-8, 2.0**-134, (2 - 2.0**-7) * 2.0**127),
    DType.FP8_OCP: Precision(2.0**-4, 2.0**-10, 448.0),
    DType.FP8_FNUZ: Precision(2.0**-4, 2.0**-11, 240.0),
    DType.BF8_OCP: Precision(2.0**-3, 2.0**-17, 57344.0),
    DType.BF8_FNUZ: Precision(2.0**-3, 2.0**-18, 57344.0),
}


@dataclass(frozen=True, slots=True)
class Attention:
    """O [batch, seqlen_q, heads_q, hdim_v] and lse [batch, heads_q, seqlen_q]; rows behind a length may be anything."""

    o: Expected
    lse: Expected

    def excess_of_lse(self, actual: Storage) -> float:
        """As Expected.excess; a row that sees nothing must be -infinity."""
        found = np.asarray(actual, np.float64).reshape(self.lse.c.shape)
        blind = np.isneginf(self.lse.c)
        if not np.isneginf(found[blind]).all():
            return float("inf")
        return Expected(np.where(blind, 0.0, self.lse.c), self.lse.bound).excess(np.where(blind, 0.0, found))


def expect(operands: FmhaOperands, truncates: bool = False, planes: Collection[int] | None = None) -> Attention:
    """O and lse; `truncates`: 16-bit values are rounded towards zero, as ck_tile's GPU code does, not to nearest.

    `planes`: only those heads, batch * heads_q + head; of others any value is right. All where there are none.

    Exact data have a bound of their own, which is mostly 0 for O.
    """
    shape = operands.shape
    o, o_bound = (np.zeros((shape.batch, shape.seqlen_q, shape.heads_q, shape.hdim_v)) for _ in range(2))
    lse, lse_bound = (np.zeros((shape.batch, shape.heads_q, shape.seqlen_q)) for _ in range(2))
    o_bound[:], lse_bound[:] = np.inf, np.inf
    mask = FmhaMask.of(shape, operands.signature.traits.masked)
    for b, (queries, keys) in enumerate(zip(operands.lengths.q, operands.lengths.k, strict=True)):
        visible = mask.over(queries, keys).array()
        for h in range(shape.heads_q):
            if planes is not None and b * shape.heads_q + h not in planes:
                continue
            scores = scores_of(operands, b, h, visible)
            values = operands.v[b, :keys, h // (shape.heads_q // shape.heads_k)] * value_descales(operands, b, h)
            kept = _kept(operands, b, h, visible.shape)
            if operands.is_exact:
                dtypes = (operands.signature.a, operands.signature.c)
                found = Attention(*exact_head(scores, values, kept, dtypes, truncates))
            else:
                found = _of_head(operands, scores, values, kept, truncates)
            o[b, :queries, h], o_bound[b, :queries, h] = found.o.c, found.o.bound
            lse[b, h, :queries], lse_bound[b, h, :queries] = found.lse.c, found.lse.bound
    return Attention(Expected(o, o_bound), Expected(lse, lse_bound))


def _kept(operands: FmhaOperands, b: int, h: int, sizes: tuple[int, ...]) -> Values:
    """What dropout multiplies elements of P by."""
    if operands.dropout is None:
        return np.ones(sizes)
    kept = operands.dropout.keeps(b, h, operands.shape.heads_q, (sizes[0], sizes[1]))
    return np.where(kept, operands.dropout.factor, 0.0)


def _of_head(operands: FmhaOperands, scores: Scores, values: Values, kept: Values, truncates: bool) -> Attention:
    """One sequence and query head: [length_q, hdim_v] and [length_q]."""
    u, keys = FAITHFUL, scores.exact.shape[1]
    sink = scores.sink
    top = np.maximum(scores.exact.max(axis=1, initial=-np.inf), sink)
    seeing: npt.NDArray[np.bool_] = np.isfinite(top)
    top = np.where(seeing, top, 0.0)
    with np.errstate(divide="ignore"):
        lse = top + np.log(np.exp(scores.exact - top[:, None]).sum(axis=1) + np.exp(sink - top))
    base = np.where(seeing, lse, 0.0)
    weights, of_sink = np.exp(scores.exact - base[:, None]), np.where(seeing, np.exp(sink - base), 0.0)

    reach = np.maximum(np.abs(np.where(scores.visible, scores.exact, 0.0)).max(axis=1, initial=0.0), np.abs(top))
    sizes = np.where(scores.visible, np.abs(scores.exact), 0.0)
    grown = np.expm1(scores.bound + 4 * u * (sizes + reach[:, None]) + 8 * u)
    summing = (2 * keys + 32) * u + 8 * u * (reach + np.log(max(keys, 1)) + 8)
    # exp of a sink that is none is 0, and so is its part.
    of_sum = (weights * grown).sum(axis=1) + of_sink * np.expm1(8 * u * (reach + 2))
    lost = (1 + of_sum) * (1 + summing) - 1

    rounding = _rounding(operands.signature.a, truncates)
    if operands.signature.a is DType.FP32:
        rounding = Precision(0.0, 0.0, rounding.largest)
    each = (1 + grown) * (1 + rounding.roundoff) * (1 + 8 * u) * (1 + summing[:, None]) - 1
    dropped = weights * kept
    o, size = dropped @ values, np.abs(values)
    largest = np.maximum(weights.max(axis=1, initial=0.0), of_sink)[:, None]
    seen = np.where(scores.visible, kept, 0.0)
    numerator = (dropped * each) @ size + largest * (rounding.least * ((seen > 0) @ size) + _FLUSHED * (seen @ size))
    with np.errstate(divide="ignore", invalid="ignore"):
        bound = (numerator + np.abs(o) * lost[:, None]) / (1 - lost[:, None])
        lse_bound = -np.log1p(-np.minimum(lost, 1.0)) + 4 * u * (reach + np.abs(base) + 16)
    bound = np.where(lost[:, None] < 1, bound, np.inf)
    c = operands.signature.c
    stored = rounded(o, bound, c, truncates=truncates and c.bits == 16)
    sees = scores.visible.any(axis=1, keepdims=True)
    return Attention(
        Expected(np.where(sees, stored.c, 0.0), np.where(sees, stored.bound, _EXACT)),
        Expected(lse, np.where(seeing, lse_bound, _EXACT)),
    )


def _rounding(dtype: DType, truncates: bool) -> Precision:
    """What rounding to a type does; only 16-bit types are ever truncated."""
    one = PRECISIONS[dtype]
    if truncates and dtype.bits == 16:
        return Precision(2 * one.roundoff, 2 * one.least, one.largest)
    return one
