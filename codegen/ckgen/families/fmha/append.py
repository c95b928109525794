"""What appending keys and values to a cache must give, with RoPE, in float64 with a derived bound.

The new row i of a sequence with `before` rows is at position p = before + i. With half the rotated dimensions R / 2 = r
and t below r, a pair is (x[2 t], x[2 t + 1]) where interleaved and (x[t], x[t + r]) where in halves; it becomes
    (x0 cos[p][t] - x1 sin[p][t], x1 cos[p][t] + x0 sin[p][t]).
Dimensions from R on stay, and so do values, V and what was in the cache. Bound, with u = 2^-23: two fp32 products and a
sum are off by 3 u (|x0 cos| + |x1 sin|), then comes one rounding to the type.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ckgen.families.fmha.enums import FmhaRope
from ckgen.families.fmha.reference import PRECISIONS
from ckgen.families.fmha.scores import FAITHFUL
from ckgen.families.gemm.reference import Expected, Values
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


def append(
    cache: Values, new: Values, before: Sequence[int], rotary: Rotary | None, dtype: DType
) -> tuple[Expected, tuple[int, ...]]:
    """The cache, [batch, rows, heads, D], with `new`, [batch, new rows, heads, D], behind the `before` rows of each.

    Also the lengths then; ValueError for a cache with too few rows.
    """
    count = new.shape[1]
    after = tuple(length + count for length in before)
    if max(after, default=0) > cache.shape[1]:
        raise ValueError(f"{max(after)} rows do not fit into {cache.shape[1]}")
    exact, bound = cache.copy(), np.full_like(cache, 2.0**-500)
    for b, first in enumerate(before):
        rows = slice(first, first + count)
        exact[b, rows] = new[b]
        if rotary is not None:
            rotated = rotate(new[b], first, rotary, dtype)
            exact[b, rows], bound[b, rows] = rotated.c, rotated.bound
    return Expected(exact, bound), after
