"""What keys, values and rows of Q become that are appended to a cache, with RoPE, in float64 with a derived bound.

The new row i of a sequence with `before` rows is at position p = before + i. With half the rotated dimensions R / 2 = r
and t below r, a pair is (x[2 t], x[2 t + 1]) where interleaved and (x[t], x[t + r]) where in halves; it becomes
    (x0 cos[p][t] - x1 sin[p][t], x1 cos[p][t] + x0 sin[p][t]).
Dimensions from R on stay, and so do V and what was in the cache. Bound, with u = 2^-23: two fp32 products and a sum are
off by 3 u (|x0 cos| + |x1 sin|), dividing by a descale by u of the quotient; then comes one rounding to the type, and
what is beyond its largest value becomes that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ckgen.families.elements import Values
from ckgen.families.fmha.enums import FmhaRope
from ckgen.families.fmha.reference import PRECISIONS
from ckgen.families.fmha.scores import FAITHFUL
from ckgen.families.gemm.comparison import Expected
from ckgen.model.dtype import DType


@dataclass(frozen=True, slots=True)
class Rotary:
    """Cosines and sines, [positions, R / 2], that fp32 holds."""

    rope: FmhaRope
    cos: Values
    sin: Values

    @property
    def dims(self) -> int:
        """R: how many dimensions of a head rotate."""
        return 2 * int(self.cos.shape[1])


def make_rotary(rope: FmhaRope, positions: int, dims: int) -> Rotary:
    """Angles p / 10000^(2 t / R), as models have them."""
    angles = np.arange(positions)[:, None] * 10000.0 ** -(np.arange(0, dims, 2) / max(dims, 1))
    cos, sin = (of.astype(np.float32).astype(np.float64) for of in (np.cos(angles), np.sin(angles)))
    return Rotary(rope, cos, sin)


def rotate(x: Values, first: int, rotary: Rotary, dtype: DType) -> Expected:
    """Rows at positions from `first` on, [rows, heads, D], rotated and rounded to their type."""
    dims, half = rotary.dims, rotary.dims // 2
    cos, sin = (table[first : first + len(x), None] for table in (rotary.cos, rotary.sin))
    if rotary.rope is FmhaRope.INTERLEAVED:
        places = (slice(0, dims, 2), slice(1, dims, 2))
    else:
        places = (slice(0, half), slice(half, dims))
    exact, size = x.copy(), np.zeros_like(x)
    x0, x1 = (x[..., place] for place in places)
    exact[..., places[0]], exact[..., places[1]] = x0 * cos - x1 * sin, x1 * cos + x0 * sin
    size[..., places[0]] = np.abs(x0 * cos) + np.abs(x1 * sin)
    size[..., places[1]] = np.abs(x1 * cos) + np.abs(x0 * sin)
    to = PRECISIONS[dtype]
    bound = 3 * FAITHFUL * size
    bound[..., :dims] += (np.abs(exact) + bound)[..., :dims] * to.roundoff * 1.001 + to.least
    return Expected(exact, np.maximum(bound, 2.0**-500))


def stored(x: Values, first: int, rotary: Rotary | None, descale: Values | None, of: DType, to: DType) -> Expected:
    """Rows from position `first` on, [rows, heads, D] of type `of`, rotated, divided by descales and limited to `to`.

    A descale goes with what it broadcasts to.
    """
    if descale is None:
        if rotary is None:
            return Expected(x, np.full_like(x, 2.0**-500))
        return rotate(x, first, rotary, to)
    u, type_ = FAITHFUL, PRECISIONS[to]
    exact, bound = x, np.zeros_like(x)
    if rotary is not None:
        turned = rotate(x, first, rotary, DType.FP32)
        exact, bound = turned.c, turned.bound
    exact, bound = exact / descale, bound / descale + u * np.abs(exact / descale)
    limited = np.clip(exact, -type_.largest, type_.largest)
    rounding = (np.abs(limited) + bound) * type_.roundoff * 1.001 + type_.least
    return Expected(limited, bound + rounding)
