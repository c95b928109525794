"""Random problems of an instance, most of them near where its rules change their mind."""

from __future__ import annotations

import numpy as np
from ck_host_units import Kind, Problems

from ckgen.families.gemm.problem_rules import check
from ckgen.model.tuned_row import Shape

_MOST = 2**31 - 1
_HUGE = (2**15, 2**16, 2**17, 46341, 65535, 1_000_000, 2**20, 2**24, 2**31 - 1)


def random_problems(kind: Kind, count: int, seed: int) -> Problems:
    """`count` legal problems of the kind's signature, m, n, k, batch, k_batch each; always the same for a seed.

    Extents are small, odd, around multiples of the tile and of vectors, or beyond what 31 bits count in bytes.
    """
    rng = np.random.default_rng(seed)
    found: list[tuple[int, ...]] = []
    while len(found) < count:
        for row in _drawn(kind, rng, count):
            m, n, k, batch, _ = row
            shape = Shape(batch if kind.instance.signature.batched else 0, m, n, k)
            if check(kind.instance.signature, shape) is None:
                found.append(row)
    return np.array(found[:count], np.int32)


def _drawn(kind: Kind, rng: np.random.Generator, count: int) -> list[tuple[int, ...]]:
    tile = kind.instance.config.macro_tile
    k_batch = rng.integers(1, 17, count) if kind.splits else np.ones(count, int)
    k_batch = np.where(rng.random(count) < 0.4, 1, k_batch)
    batch = rng.integers(1, 65, count) if kind.instance.signature.batched else np.ones(count, int)
    grains = (1, 2, 4, 8, 16, 32, 64, 128)
    m = _extents(rng, count, tile.m, (1, *grains))
    n = _extents(rng, count, tile.n, grains)
    k = _extents(rng, count, tile.k, grains, k_batch)
    return list(zip(*(part.tolist() for part in (m, n, k, batch, k_batch)), strict=True))


def _extents(
    rng: np.random.Generator, count: int, tile: int, grains: tuple[int, ...], splits: np.ndarray | int = 1
) -> np.ndarray:
    whole = tile * np.asarray(splits) * rng.integers(1, 12, count)
    grain = rng.choice(np.array(grains), count)
    near = whole + grain * rng.integers(-2, 3, count)
    small = grain * rng.integers(1, 200, count)
    huge = rng.choice(np.array(_HUGE), count) // grain * grain
    way = rng.random(count)
    drawn = np.select([way < 0.35, way < 0.6, way < 0.92], [whole, near, small], huge)
    return np.clip(drawn, 1, _MOST)
