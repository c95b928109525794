"""Problems of the kernels of attention's gradients that AMD ships."""

from __future__ import annotations

from dataclasses import replace

from ckgen.families.fmha.asm_kernels import AsmFmhaKernel
from ckgen_emulator.fmha.problem import FmhaProblem
from ckgen_emulator.gemm.problem import Data


def shipped_backward_cases(kernel: AsmFmhaKernel) -> tuple[FmhaProblem, ...]:
    """Tiles that are whole and not, several of keys, both layouts, fewer keys than rows: with a mask some see none.

    Sequences one after the other are of unequal lengths, some without rows, without keys, or without either.
    """
    rows, keys = kernel.q_tile, kernel.config.tile.m
    one = FmhaProblem((rows,), (keys,), 1, 1, kernel.hdim_q, kernel.hdim_v, data=Data.RANDOM)
    if kernel.varlen:
        two = replace(one, heads_q=2, heads_k=2)
        return (
            one,
            replace(two, lengths_q=(5, 2 * rows + 3, 0, rows), lengths_k=(keys + 9, 7, 3, keys), seed=1),
            replace(two, lengths_q=(3, 1, 4), lengths_k=(0, 2 * keys + 1, 1), head_first=True, seed=2),
            replace(one, lengths_q=(keys + 1, 0, 2), lengths_k=(7, 0, keys - 1), seed=3),
            replace(one, lengths_q=(rows, keys + rows + 1), lengths_k=(2, 3 * keys - 1), seed=4),
        )
    return (
        one,
        replace(one, lengths_q=(2 * rows + 5,) * 2, lengths_k=(keys + 9,) * 2, heads_q=2, heads_k=2, seed=1),
        replace(one, lengths_q=(3,), lengths_k=(2 * keys + 1,), heads_q=2, heads_k=2, head_first=True, seed=2),
        replace(one, lengths_q=(keys + 1,) * 2, lengths_k=(7,) * 2, seed=3),
        replace(one, lengths_q=(keys + rows + 1,), lengths_k=(3 * keys - 1,), seed=4),
    )
