"""GEMM of bf16 operands with an fp32 result: D[M, N] = A[M, K] times the transpose of B[N, K].

The host's side is asm_gemm_a16w16.cu: N a multiple of the tile's, K of 64, any M; with more than one split of K the
groups of a tile add to D, which the host has zeroed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ckgen_emulator.production.gemm_parts import THREADS, GemmProblem, StridedArguments, tile_of
from ckgen_emulator.production.model import Kind, Launch, Output
from ckgen_emulator.production.numbers import BF16, normal, product
from ckgen_emulator.production.slots import U32
from ckgen_emulator.production.wheel import KernelFile, Wheel

_TILE_N = 64
_STEP_K = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class GemmArguments(StridedArguments):
    """Strides in bytes."""

    splits: U32 = 1


def _files(wheel: Wheel) -> tuple[KernelFile, ...]:
    return tuple(file for arch in ("gfx942", "gfx950") for file in wheel.files(arch, "bf16gemm"))


def _tile_m(file: KernelFile) -> int:
    """From names as bf16gemm_outf32_tn_32x64_pf3."""
    tile = tile_of(file)
    assert tile is not None
    return tile[0]


def _problems(file: KernelFile) -> Mapping[str, GemmProblem]:
    tile = _tile_m(file)
    return {
        "tile": GemmProblem(tile, _TILE_N, 256),
        "edge": GemmProblem(tile + 5, 2 * _TILE_N, 320),
        "row": GemmProblem(1, _TILE_N, 192),
        "split": GemmProblem(tile - 1, _TILE_N, 512, 2),
        "uneven-split": GemmProblem(tile + 1, _TILE_N, 704, 3),
    }


def _edges(file: KernelFile) -> Mapping[str, GemmProblem]:
    """The host code asks for K in steps of 64, and for as many splits as the caller likes."""
    tile = _tile_m(file)
    return {
        "K 3 steps": GemmProblem(1, _TILE_N, 3 * _STEP_K),
        "K 2 steps": GemmProblem(1, _TILE_N, 2 * _STEP_K),
        "K 4 steps": GemmProblem(1, _TILE_N, 4 * _STEP_K),
        "K 5 steps less 8": GemmProblem(tile, _TILE_N, 5 * _STEP_K - 8),
        "K 5 steps and 8": GemmProblem(tile, _TILE_N, 5 * _STEP_K + 8),
        "8 steps, 8 splits": GemmProblem(tile, _TILE_N, 8 * _STEP_K, 8),
        "8 steps, 7 splits": GemmProblem(tile, _TILE_N, 8 * _STEP_K, 7),
        "8 steps, 9 splits": GemmProblem(tile, _TILE_N, 8 * _STEP_K, 9),
        "M a tile": GemmProblem(tile, _TILE_N, 256),
        "M a tile less 1": GemmProblem(tile - 1, _TILE_N, 256),
        "M a tile and 1": GemmProblem(tile + 1, _TILE_N, 256),
    }


def _prepare(file: KernelFile, problem: GemmProblem, generator: np.random.Generator) -> Launch:
    m, n, k = problem.m, problem.n, problem.k
    a, b = normal(generator, (m, k), BF16), normal(generator, (n, k), BF16)
    d = np.empty((m, n), np.float32)
    arguments = GemmArguments(
        d=d, a=a, b=b, stride_c0=4 * n, stride_a0=2 * k, stride_b0=2 * k, m=m, n=n, k=k, splits=problem.splits
    )
    grid = (n // _TILE_N, -(-m // _tile_m(file)), problem.splits)
    exact, bound = product(a, b)
    return Launch(grid, THREADS, arguments.pack(), (a, b), (Output("d", d, exact, bound, problem.splits > 1),))


KIND = Kind("bf16gemm", "bf16 GEMM, fp32 result", _files, _problems, _prepare, _edges)
