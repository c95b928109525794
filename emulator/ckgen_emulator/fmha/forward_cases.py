"""Small problems that reach what our kernel of attention of any options distinguishes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ckgen.families.fmha.enums import FmhaCorner, FmhaQuant
from ckgen.families.fmha.forward_config import HipForwardConfig
from ckgen.families.fmha.operands import SCALE_ROWS
from ckgen.families.fmha.problem import page_vector
from ckgen.families.fmha.signature import FmhaSignature
from ckgen_emulator.fmha.problem import FmhaProblem
from ckgen_emulator.gemm.problem import Data


def forward_cases(signature: FmhaSignature, config: HipForwardConfig) -> tuple[FmhaProblem, ...]:
    """Tiles that are whole and not, heads that share K and V, masks and sink tokens from both corners, lengths of 0.

    Exact data and random ones in turn. Where keys may be split they are, in some.
    """
    found = tuple(dict.fromkeys(_cases(signature, config)))
    data = (Data.RANDOM, Data.SMALL_INTEGERS)
    splits = (1, 2, 1, 3, 1) if signature.c.bits > 8 else (1,)
    return tuple(
        replace(one, data=data[at % 2], splits=splits[at % len(splits)], seed=at) for at, one in enumerate(found)
    )


def drawn_forward(signature: FmhaSignature, config: HipForwardConfig, seed: int) -> FmhaProblem:
    """A small problem that the kernel takes."""
    random, traits = np.random.default_rng((seed, 23)), signature.traits
    vector, most, batch = page_vector(signature), config.hdim, int(random.integers(1, 4))
    queries, keys = int(random.integers(1, 2 * config.m0)), int(random.integers(1, 4 * config.n0))

    def lengths(longest: int, *, own: bool) -> tuple[int, ...]:
        found = tuple(int(one) for one in random.integers(0, longest + 1, batch))
        return (longest, *found[1:]) if own else (longest,) * batch

    def some(*choices: int) -> int:
        return int(random.choice(choices))

    heads_k, group = int(random.integers(1, 3)), int(random.integers(1, 5))
    page = vector * some(1, 2, 3, 8) if traits.is_paged else 0
    spares = not traits.is_paged and random.random() < 0.3
    one = FmhaProblem(
        lengths(queries, own=traits.varlen), lengths(keys, own=traits.varlen or traits.is_paged or spares),
        heads_k * group, heads_k,
        vector * int(random.integers(1, most // vector + 1)), int(random.integers(1, most + 1)),
        spare=some(1, 3) if spares else 0, head_first=bool(random.random() < 0.3), seed=seed, page_size=page,
        splits=some(1, 1, 2, 5) if signature.c.bits > 8 else 1,
        data=Data.RANDOM if random.random() < 0.5 else Data.SMALL_INTEGERS,
    )  # fmt: skip
    if not traits.masked:
        return one
    corner = FmhaCorner.TOP_LEFT if random.random() < 0.5 else FmhaCorner.BOTTOM_RIGHT
    left, right = some(-1, -1, 0, 20, 70), some(-1, 0, 0, 5, 70)
    return replace(one, corner=corner, window_left=left, window_right=right, sink_tokens=some(0, 0, 3, 70))


def _cases(signature: FmhaSignature, config: HipForwardConfig) -> Iterator[FmhaProblem]:
    traits, m0, n0, hdim = signature.traits, config.m0, config.n0, config.hdim
    vector = page_vector(signature)
    one = FmhaProblem((m0,), (n0,), hdim_q=hdim, hdim_v=hdim, page_size=16 if traits.is_paged else 0)
    yield one
    yield replace(one, lengths_q=(1,), lengths_k=(3 * n0 + 7,), heads_q=6, heads_k=2, hdim_v=hdim - 3)
    if traits.quant is FmhaQuant.BLOCKSCALE:  # rows and keys of several blocks
        yield replace(one, lengths_q=(SCALE_ROWS + 9,), lengths_k=(SCALE_ROWS + 30,), hdim_q=7, hdim_v=5)
    several = replace(one, heads_q=6, heads_k=2, hdim_q=max(vector, hdim // 2 - vector), hdim_v=1)
    if traits.varlen:
        rested = replace(several, lengths_q=(23, 5, 0, 2), lengths_k=(2 * n0 + 44, n0 + 1, 7, 0))
        if not traits.is_paged:
            yield replace(rested, spare=3)
    else:
        rested = replace(several, lengths_q=(23,) * 3, lengths_k=(2 * n0 + 44, n0 + 1, 0))
        yield replace(rested, lengths_k=(90, 90, 90), head_first=True)
    yield rested
    if traits.masked:
        for corner in FmhaCorner:
            yield replace(rested, corner=corner)
            yield replace(rested, corner=corner, window_left=20, window_right=5)
            yield replace(rested, corner=corner, window_left=20, window_right=-1, sink_tokens=11)
            yield replace(rested, corner=corner, window_left=9, window_right=2, sink_tokens=n0 + 6)
    for size in (vector, 3 * vector, 2048) if traits.is_paged else ():
        yield replace(rested, page_size=size, window_left=70, sink_tokens=9, head_first=size == vector)
