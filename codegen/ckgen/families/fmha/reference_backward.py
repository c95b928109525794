"""What attention's backward must give, from the formulas of `ckgen/fmha.hpp`, in float64, with a derived bound per
element.

It is a function of Q, K, V, bias, sink, O, lse and dO as they are stored: what forward rounded is not its error. Let u
and E, the bound of a score, be those of `reference`, and f = 2^-126, below which a kernel may take a number for 0.

P = exp(S - lse): the exponent is off by E + 4 u (|S| + |lse|), the exp by 8 u of its value, and small ones are 0:
    e_P = P (exp(E + 4 u (|S| + |lse|) + 8 u) - 1) + f.
delta is a sum of hdim_v products: e_delta = (hdim_v + 8) u sum|dO O|; so is dP = dO V, and c = keep / (1 - p_drop) adds
two operations: e_dP = c ((hdim_v + 8) u sum|dO V| + 4 u |dP|). Z = c dP - delta adds one: e_Z = e_dP + e_delta + u
(|c dP| + |delta|), and
    e_dS = e_P (|Z| + e_Z) + P e_Z + 4 u P |Z| + f.
softcap multiplies by w = 1 - t^2, t = tanh(S / softcap), which is off by e_t = E / softcap where E bounds the capped
score: e_w = 2 |t| e_t + e_t^2 + 8 u, and dX = w dS by e_dS (w + e_w) + |dS| e_w + 4 u |dX|.

Products. dX and c P may be rounded to Q's type, to within r of themselves or a where they are subnormal; fp32 is not.
A sum of n products of numbers x with errors e by exact numbers y is then off by
    sum (e (1 + r) + |x| r + a) |y| + (n + 16) u sum (|x| + e)(1 + r)|y| + n f,
in any order: for dQ n is the keys, for dK and dV the rows of all query heads of the KV head. `scale` goes with dX.
What cuts them towards zero is off by a whole unit of their last place where rounding is off by half of one: by 2 r, or
2 a. dbias sums dS over what shares an element; dsink sums exp(sink - lse) delta over all rows, each off by its two
factors. Each result is rounded once to its type, or cut where dK and dV are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ckgen.families.common.comparison import Expected
from ckgen.families.common.rounding import rounded
from ckgen.families.common.storage import Values
from ckgen.families.fmha.backward_operands import BackwardOperands
from ckgen.families.fmha.cut import Cut
from ckgen.families.fmha.enums import FmhaBias
from ckgen.families.fmha.mask import FmhaMask
from ckgen.families.fmha.operands import FmhaOperands
from ckgen.families.fmha.reference import PRECISIONS, Precision
from ckgen.families.fmha.scores import FAITHFUL, scores_of
from ckgen.model.dtype import DType

_FLUSHED = 2.0**-126
_U = FAITHFUL
_Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Gradients:
    """Of Q, K and V in the axes of the operands, of a bias of elements and of sinks in theirs; None where there is
    none. Elements that do not count may be anything."""

    dq: Expected
    dk: Expected
    dv: Expected
    dbias: Expected | None
    dsink: Expected | None


@dataclass(slots=True)
class _Sum:
    """Sums, their errors but for that of adding, the sums of magnitudes, and how many terms each has."""

    exact: Values
    error: Values
    size: Values
    terms: Values

    @classmethod
    def of(cls, shape: tuple[int, ...]) -> _Sum:
        return cls(*(np.zeros(shape) for _ in range(4)))

    def add(self, at: Any, exact: Values, error: Values, size: Values, terms: float) -> None:
        for of, more in ((self.exact, exact), (self.error, error), (self.size, size)):
            of[at] += more
        self.terms[at] += terms

    def rounded(self, dtype: DType, factor: float = 1.0, *, is_cut: bool = False) -> Expected:
        """Where nothing was added any value is right."""
        error = self.error + (self.terms + 16) * _U * (self.size + self.error) + self.terms * _FLUSHED
        size = abs(factor)
        bound = size * error + 2 * _U * size * np.abs(self.exact)
        found = rounded(factor * self.exact, bound, dtype, truncates=is_cut)
        return Expected(found.c, np.where(self.terms > 0, found.bound, np.inf))


@dataclass(frozen=True, slots=True)
class _Head:
    """P with dropout, dS and dX of one sequence and query head, [length_q, length_k], each with its bound."""

    p: Values
    p_error: Values
    ds: Values
    ds_error: Values
    dx: Values
    dx_error: Values
    delta: Values
    delta_error: Values


def expect_backward(operands: BackwardOperands, cut: Cut = Cut.NOTHING) -> Gradients:
    """dQ, dK and dV, dbias of a bias of elements, and dsink of sinks; `cut`: of 16-bit types."""
    of = operands.forward
    shape, group, dtype = of.shape, of.shape.heads_q // of.shape.heads_k, of.signature.a
    mask, rounding = FmhaMask.of(shape, of.signature.traits.masked), _rounding(dtype, cut)
    dq, dk, dv = (_Sum.of(one.shape) for one in (of.q, of.k, of.v))
    elementwise = of.signature.traits.bias is FmhaBias.ELEMENTWISE and of.bias is not None
    dbias = _Sum.of(of.bias.shape) if elementwise and of.bias is not None else None
    dsink = _Sum.of((shape.heads_q,)) if of.sink is not None else None
    for b, (queries, keys) in enumerate(zip(of.lengths.q, of.lengths.k, strict=True)):
        visible = mask.over(queries, keys).array()
        for h in range(shape.heads_q):
            g, head = h // group, _head(operands, b, h, visible)
            q, k, dout = of.q[b, :queries, h], of.k[b, :keys, g], operands.dout[b, :queries, h]
            dx, p = (head.dx, head.dx_error), (head.p, head.p_error)
            dq.add((b, slice(queries), h), *_product(*dx, k, rounding), max(keys, 1))
            dk.add((b, slice(keys), g), *_product(dx[0].T, dx[1].T, q, rounding), max(queries, 1))
            dv.add((b, slice(keys), g), *_product(p[0].T, p[1].T, dout, rounding), max(queries, 1))
            if dbias is not None:
                _add_bias(dbias, b, h, head)
            if dsink is not None:
                _add_sink(dsink, operands, b, h, head)
    return Gradients(
        dq.rounded(dtype, of.scale),
        dk.rounded(dtype, of.scale, is_cut=cut.of_results),
        dv.rounded(dtype, is_cut=cut.of_results),
        None if dbias is None else dbias.rounded(dtype),
        None if dsink is None else dsink.rounded(DType.FP32),
    )


def _head(operands: BackwardOperands, b: int, h: int, visible: _Bools) -> _Head:
    of, (queries, keys) = operands.forward, visible.shape
    scores = scores_of(of, b, h, visible)
    v, dout, o = of.v[b, :keys, h // (of.shape.heads_q // of.shape.heads_k)], operands.dout[b, :queries, h], operands.o
    lse = operands.lse[b, h, :queries, None]
    sees = visible & np.isfinite(lse)
    lse = np.where(np.isfinite(lse), lse, 0.0)
    exponent = np.where(sees, scores.exact, 0.0) - lse
    p = np.where(sees, np.exp(exponent), 0.0)
    off = scores.bound + 4 * _U * (np.where(sees, np.abs(scores.exact), 0.0) + np.abs(lse)) + 8 * _U
    p_error = np.where(sees, p * np.expm1(off) + _FLUSHED, 0.0)

    terms = of.shape.hdim_v + 8
    delta = (dout * o[b, :queries, h]).sum(axis=1, keepdims=True)
    delta_error = terms * _U * np.abs(dout * o[b, :queries, h]).sum(axis=1, keepdims=True)
    kept = _kept(of, b, h, visible.shape)
    dp = kept * (dout @ v.T)
    dp_error = kept * terms * _U * (np.abs(dout) @ np.abs(v).T) + 4 * _U * np.abs(dp)
    z = dp - delta
    z_error = dp_error + delta_error + _U * (np.abs(dp) + np.abs(delta))
    ds = p * z
    ds_error = p_error * (np.abs(z) + z_error) + p * z_error + 4 * _U * np.abs(ds) + np.where(sees, _FLUSHED, 0.0)
    dx, dx_error = _capped(of, scores.exact, scores.bound, sees, ds, ds_error)
    dropped = p * kept
    return _Head(dropped, kept * p_error + 4 * _U * dropped, ds, ds_error, dx, dx_error, delta[:, 0], delta_error[:, 0])


def _capped(
    of: FmhaOperands, scores: Values, bound: Values, sees: _Bools, ds: Values, ds_error: Values
) -> tuple[Values, Values]:
    """The gradient before softcap, which goes without a bias: `scores` are its values."""
    if not of.signature.traits.softcap:
        return ds, ds_error
    t = np.where(sees, scores, 0.0) / of.softcap
    t_error = bound / of.softcap
    slope, slope_error = 1 - t * t, 2 * np.abs(t) * t_error + t_error * t_error + 8 * _U
    dx = ds * slope
    return dx, ds_error * (slope + slope_error) + np.abs(ds) * slope_error + 4 * _U * np.abs(dx)


def _kept(of: FmhaOperands, b: int, h: int, sizes: tuple[int, ...]) -> Values:
    """What dropout multiplies elements of P by."""
    if of.dropout is None:
        return np.ones(sizes)
    kept = of.dropout.keeps(b, h, of.shape.heads_q, (sizes[0], sizes[1]))
    return np.where(kept, of.dropout.factor, 0.0)


def _product(x: Values, error: Values, y: Values, rounding: Precision) -> tuple[Values, Values, Values]:
    """x y, its error but for that of adding, and the sum of magnitudes."""
    r, size = rounding.roundoff, np.abs(y)
    subnormal = np.where(np.abs(x) + error > 0, rounding.least, 0.0)
    return x @ y, (error * (1 + r) + np.abs(x) * r + subnormal) @ size, (np.abs(x) * (1 + r)) @ size


def _add_bias(dbias: _Sum, b: int, h: int, head: _Head) -> None:
    """Into the element that each score reads."""
    batch, heads, rows, _ = dbias.exact.shape
    queries, keys = head.ds.shape
    at = (b if batch > 1 else 0, h if heads > 1 else 0)
    exact, error, size = head.ds, head.ds_error, np.abs(head.ds)
    if rows == 1 and queries > 0:
        exact, error, size = (one.sum(axis=0, keepdims=True) for one in (exact, error, size))
    dbias.add((*at, slice(len(exact)), slice(keys)), exact, error, size, queries if rows == 1 else 1)


def _add_sink(dsink: _Sum, operands: BackwardOperands, b: int, h: int, head: _Head) -> None:
    assert operands.forward.sink is not None
    lse = operands.lse[b, h, : len(head.delta)]
    sees, sink = np.isfinite(lse), float(operands.forward.sink[h])
    lse = np.where(sees, lse, 0.0)
    weight = np.where(sees, np.exp(sink - lse), 0.0)
    off = np.expm1(4 * _U * (abs(sink) + np.abs(lse)) + 8 * _U)
    error = weight * off * (np.abs(head.delta) + head.delta_error) + weight * head.delta_error
    part = weight * head.delta
    dsink.add((h,), -part.sum(), error.sum(), np.abs(part).sum(), len(part))


def _rounding(dtype: DType, cut: Cut) -> Precision:
    """Of what goes into the products; bf16 dot products take subnormal numbers for 0."""
    one = PRECISIONS[dtype]
    if dtype is DType.FP32:
        return Precision(0.0, 0.0, one.largest)
    units = 1 if cut is Cut.NOTHING else 2
    return Precision(units * one.roundoff, max(units * one.least, _FLUSHED), one.largest)
