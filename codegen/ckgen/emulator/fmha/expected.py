"""One head of attention in double precision, and how far a correct kernel may be off."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckgen.emulator.production.numbers import FLOAT32, TO_BF16, TO_FP16, Float, wide
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.model.dtype import DType

_TO = {
    DType.FP32: FLOAT32,
    DType.FP16: 2 * TO_FP16,
    DType.BF16: TO_BF16,
    DType.FP8_FNUZ: 2.0**-4,
    DType.FP8_OCP: 2.0**-4,
}
"""Relative error of P and of O as they are rounded; fp16 may be cut."""

_SMALLEST = {DType.FP16: 2.0**-24, DType.FP8_FNUZ: 2.0**-11 / 240, DType.FP8_OCP: 2.0**-10 / 448}
"""Half of the least P that is not 0, in units of the largest, where that is not next to nothing."""

_APPROXIMATE = 2e-6
"""Relative error of exp2 in single precision, and of sums of what it gives."""

_TANH = 2e-5
"""Relative error of a soft cap."""


@dataclass(frozen=True, slots=True)
class Sequence:
    """A head of Q, K and V, what is added to the scores, which are visible, and what P is multiplied by; None: 1."""

    q: NDArray[Any]
    k: NDArray[Any]
    v: NDArray[Any]
    added: Float
    visible: NDArray[np.bool_]
    kept: NDArray[Any] | None


@dataclass(frozen=True, slots=True)
class Scores:
    """Factor of the scores, and softcap of them where that is not 0; factor of O."""

    scale: float
    softcap: float
    factor: float


@dataclass(frozen=True, slots=True)
class Expected:
    """O [rows, columns] and lse [rows], each with the largest error per element."""

    o: Float
    o_bound: Float
    lse: Float
    lse_bound: Float


def expected(sequence: Sequence, scores: Scores, signature: FmhaSignature) -> Expected:
    """The formulas of ckgen/fmha.hpp."""
    q, k, v = wide(sequence.q), wide(sequence.k), wide(sequence.v)
    s = scores.scale * (q @ k.T)
    off = scores.scale * (q.shape[1] + 4) * FLOAT32 * (np.abs(q) @ np.abs(k).T) + FLOAT32 * np.abs(sequence.added)
    if scores.softcap:
        s = scores.softcap * np.tanh(s / scores.softcap)
        off = off + _TANH * scores.softcap
    s = np.where(sequence.visible, s + sequence.added, -np.inf)
    off = np.where(sequence.visible, off + 2 * FLOAT32 * np.abs(np.where(sequence.visible, s, 0)), 0.0)
    largest = s.max(1, initial=-np.inf, keepdims=True)
    largest = np.where(np.isinf(largest), 0.0, largest)
    weights = np.exp(s - largest)
    total = weights.sum(1, keepdims=True)
    p = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    with np.errstate(divide="ignore"):
        lse = (np.log(total) + largest)[:, 0]
    moved = off.max(1, initial=0.0, keepdims=True)
    kept = p if sequence.kept is None else p * sequence.kept
    o = scores.factor * (kept @ v)
    each = 2 * moved + _APPROXIMATE + k.shape[0] * FLOAT32 + _TO[signature.b]
    least = np.divide(_SMALLEST.get(signature.b, 0.0), total, out=np.zeros_like(total), where=total > 0)
    bound = scores.factor * (each * (kept @ np.abs(v)) + least * np.abs(v).sum(0)[None])
    bound = bound + _TO[signature.c] * np.abs(o)
    finite = np.where(np.isinf(lse), 0.0, lse)
    lse_bound = moved[:, 0] + _APPROXIMATE * np.maximum(1, np.abs(finite)) + k.shape[0] * FLOAT32
    return Expected(o, bound, lse, lse_bound)
