"""Problems of the kernels of attention's gradients that AMD ships."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from ckgen.families.fmha.asm_kernels import AsmFmhaKernel
from ckgen.families.fmha.enums import FmhaCorner
from ckgen_emulator.fmha.problem import FmhaProblem
from ckgen_emulator.gemm.problem import Data


def shipped_backward_cases(kernel: AsmFmhaKernel) -> tuple[FmhaProblem, ...]:
    """Tiles that are whole and not, several of keys, both layouts, fewer keys than rows: with a mask that ends at
    the last key some see none. Of one that starts at the first, no row sees the last of more keys than rows.

    Sequences one after the other are of unequal lengths, some without rows, without keys, or without either.
    """
    rows, keys = kernel.q_tile, kernel.config.tile.m
    one = FmhaProblem((rows,), (keys,), 1, 1, kernel.hdim_q, kernel.hdim_v, data=Data.RANDOM)
    one = replace(one, corner=kernel.corner or one.corner)
    if kernel.varlen:
        two = replace(one, heads_q=2, heads_k=2)
        return (
            one,
            replace(two, lengths_q=(5, 2 * rows + 3, 0, rows), lengths_k=(keys + 9, 7, 3, keys), seed=1),
            replace(two, lengths_q=(3, 1, 4), lengths_k=(0, 2 * keys + 1, 1), head_first=True, seed=2),
            replace(one, lengths_q=(keys + 1, 0, 2), lengths_k=(7, 0, keys - 1), seed=3),
            replace(one, lengths_q=(rows, keys + rows + 1), lengths_k=(2, 3 * keys - 1), seed=4),
        )
    if kernel.corner is None and kernel.masked:
        return tuple(_windows(one, rows, keys))
    return (
        one,
        replace(one, lengths_q=(2 * rows + 5,) * 2, lengths_k=(keys + 9,) * 2, heads_q=2, heads_k=2, seed=1),
        replace(one, lengths_q=(3,), lengths_k=(2 * keys + 1,), heads_q=2, heads_k=2, head_first=True, seed=2),
        replace(one, lengths_q=(keys + 1,) * 2, lengths_k=(7,) * 2, seed=3),
        replace(one, lengths_q=(keys + rows + 1,), lengths_k=(3 * keys - 1,), seed=4),
    )


def _windows(one: FmhaProblem, rows: int, keys: int) -> Iterator[FmhaProblem]:
    """From both corners: limits on both sides and on one, rows that see nothing, tiles that nobody sees."""
    two, top = replace(one, heads_q=2, heads_k=2), FmhaCorner.TOP_LEFT
    yield replace(two, lengths_q=(3 * rows,) * 2, lengths_k=(keys + 9,) * 2, window_left=9, window_right=3)
    yield replace(two, lengths_q=(keys,), lengths_k=(100,), window_left=20, head_first=True, seed=1)
    yield replace(two, lengths_q=(keys,) * 2, lengths_k=(7,) * 2, window_left=0, window_right=2, seed=2)
    yield replace(one, lengths_q=(2 * keys + rows,), lengths_k=(2 * keys + 9,), window_left=20, seed=3)
    yield replace(two, corner=top, lengths_q=(2 * keys,), lengths_k=(keys - 5,), window_left=keys, seed=4)
    yield replace(one, corner=top, lengths_q=(rows,), lengths_k=(3 * keys,), window_right=keys // 2, seed=5)
    yield replace(two, corner=top, lengths_q=(4 * rows,), lengths_k=(keys + 1,), window_right=5, seed=6)
    yield replace(one, lengths_q=(3 * rows,), lengths_k=(2 * keys - 1,), window_left=33, window_right=-1, seed=7)
