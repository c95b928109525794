"""The least that a launch of an MX-FP8 kernel must do: each byte of B once, as few instructions as its tiles allow."""

from __future__ import annotations

from dataclasses import dataclass

from ckgen.families.gemm.hip_config import WAVE, HipConfig, HipKind
from ckgen.families.gemm.mxfp8_envelope import SCALE_BLOCK

_LOAD_BYTES = 16
_PAIR = 2
_FOLDED_HALVES = 9
"""Twice the instructions of a wave per sum: zeroed as a pair, its halves added, swapped and added with another one over
32 and over 16 lanes (two for two, two for four), and four rotations for four."""


@dataclass(frozen=True, slots=True)
class LeastWork:
    """Bytes that lanes load, and instructions of waves: matrix, vector (without address arithmetic), loads."""

    read: int
    matrix: int
    vector: int
    loads: int


def least_work(config: HipConfig, n: int, k: int, blocks: int = 1, rows: int | None = None) -> LeastWork:
    """Of `blocks` tiles of config.m rows (of MOE: sorted blocks) with `rows` real rows of A, over whole steps of K.

    A workgroup reads its rows of A and of B once: A is read by each of the workgroups along N.
    """
    rows = config.m * blocks if rows is None else rows
    along_n = -(-n // config.columns)
    row_bytes = k + k // SCALE_BLOCK
    read = (n * blocks + along_n * rows) * row_bytes
    groups = along_n * blocks
    if config.kind is HipKind.GEMV:
        steps, lines = k // (WAVE * _LOAD_BYTES), config.m + config.columns
        pairs = _LOAD_BYTES // _PAIR
        sums = config.m * config.columns
        step = pairs * (sums + lines) + lines  # products, conversions, exponents of scales
        vector = steps * step + config.k_splits * (sums * _FOLDED_HALVES // 2)
        return LeastWork(read, 0, groups * vector, groups * steps * 2 * lines)
    steps, lines = k // config.kind.k_step, config.tiles + config.n_sub
    return LeastWork(read, groups * steps * config.tiles * config.n_sub, 0, groups * steps * 3 * lines)
