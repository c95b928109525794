"""GEMM of fp8 operands with scales per block of 128: C[M, N] = Σ over blocks of K of A Bᵀ · a_scale · b_scale.

A has a scale per row and 128 of K, kept as [K / 128, M]; B one per 128 by 128; B is shuffled by (16, 16). Host sides:
asm_mi350_a8w8_blockscale.cu (bf16 result, b_scale as [N / 128, K / 128], N a multiple of 256, K of 128, at least 512;
the wheel also has tiles of 64 and 96 rows that it does not launch) and asm_flatmm_a8w8_blockscale.cu (fp16 result,
b_scale as [K / 128, N / 128]).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckgen_emulator.production.gemm_parts import THREADS, GemmProblem
from ckgen_emulator.production.layouts import shuffled
from ckgen_emulator.production.model import Kind, Launch, Output
from ckgen_emulator.production.numbers import (
    BF16,
    FLOAT32,
    FP8_FNUZ,
    FP8_OCP,
    TO_BF16,
    TO_FP16,
    Float,
    normal,
    wide,
)
from ckgen_emulator.production.slots import U32, Arguments, Pointer
from ckgen_emulator.production.wheel import KernelFile, Wheel

_TILE_N = 256
_BLOCK = 128
_OF_MI350 = "f8_block_scale_mi350_x"


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockScaleArguments(Arguments):
    """Of gfx950's kernels: strides in bytes of a row."""

    c: Pointer = None
    a: Pointer = None
    b: Pointer = None
    unused0: Pointer = None
    a_scale: Pointer = None
    b_scale: Pointer = None
    unused1: Pointer = None
    unused2: Pointer = None
    unused3: Pointer = None
    k: U32 = 0
    n: U32 = 0
    m: U32 = 0
    experts: U32 = 1
    stride_a: U32 = 0
    stride_b: U32 = 0
    stride_c: U32 = 0
    unused4: U32 = 0
    unused5: U32 = 0
    unused6: U32 = 0
    unused7: U32 = 0
    splits: U32 = 0
    activation: U32 = 0
    unused8: Pointer = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FlatmmArguments(Arguments):
    """Of gfx942's kernel: one directly after the other, not in slots."""

    a: Pointer = None
    b: Pointer = None
    c: Pointer = None
    a_scale: Pointer = None
    b_scale: Pointer = None
    d: Pointer = None
    d_f16: Pointer = None
    debug_int: Pointer = None
    debug_fp8: Pointer = None
    debug_f16: Pointer = None
    debug_fp32: Pointer = None
    k: U32 = 0
    n: U32 = 0
    m: U32 = 0
    experts: U32 = 0
    top_k: U32 = 0
    stride_token: U32 = 0


def _tile_m(file: KernelFile) -> int:
    return int(file.stem.removeprefix(_OF_MI350)) if file.stem.startswith(_OF_MI350) else 128


def _problems(file: KernelFile) -> Mapping[str, GemmProblem]:
    tile = _tile_m(file)
    return {
        "tile": GemmProblem(tile, _TILE_N, 512),
        "edge": GemmProblem(tile + 21, _TILE_N, 768),
        "few-rows": GemmProblem(16, 2 * _TILE_N, 640),
    }


def _edges(file: KernelFile) -> Mapping[str, GemmProblem]:
    """gfx950's host code asks N in tiles of 256 and K in blocks of 128, at least four; gfx942's asks nothing."""
    tile = _tile_m(file)
    return {
        "K 3 blocks": GemmProblem(tile, _TILE_N, 3 * _BLOCK),
        "K 4 blocks": GemmProblem(tile, _TILE_N, 4 * _BLOCK),
        "K 5 blocks": GemmProblem(tile, _TILE_N, 5 * _BLOCK),
        "K 5 blocks less 64": GemmProblem(tile, _TILE_N, 5 * _BLOCK - 64),
        "K 5 blocks and 64": GemmProblem(tile, _TILE_N, 5 * _BLOCK + 64),
        "N a tile": GemmProblem(tile, _TILE_N, 4 * _BLOCK),
        "N a tile less 128": GemmProblem(tile, _TILE_N - 128, 4 * _BLOCK),
        "N a tile and 128": GemmProblem(tile, _TILE_N + 128, 4 * _BLOCK),
        "M a tile less 1": GemmProblem(tile - 1, _TILE_N, 4 * _BLOCK),
        "M a tile and 1": GemmProblem(tile + 1, _TILE_N, 4 * _BLOCK),
    }


def _prepare(file: KernelFile, problem: GemmProblem, generator: np.random.Generator) -> Launch:
    m, n, k = problem.m, problem.n, problem.k
    on_mi350 = file.stem.startswith(_OF_MI350)
    fp8, to, relative = (FP8_OCP, BF16, TO_BF16) if on_mi350 else (FP8_FNUZ, np.dtype(np.float16), TO_FP16)
    a, b = normal(generator, (m, k), fp8), normal(generator, (n, k), fp8)
    a_scale = generator.uniform(0.5, 2, (-(-k // _BLOCK), m)).astype(np.float32)
    b_scale = generator.uniform(0.5, 2, (n // _BLOCK, -(-k // _BLOCK))).astype(np.float32)
    laid, c = shuffled(b), np.empty((m, n), to)
    laid_scale = b_scale if on_mi350 else np.ascontiguousarray(b_scale.T)
    packed = (_mi350 if on_mi350 else _flatmm)(a, laid, a_scale, laid_scale, c)
    exact, absolute = _product(a, b, a_scale, b_scale)
    bound = 1.01 * relative * np.abs(exact) + k * FLOAT32 * absolute
    grid = (-(-n // _TILE_N), -(-m // _tile_m(file)), 1)
    return Launch(grid, THREADS, packed, (a, laid, a_scale, laid_scale), (Output("c", c, exact, bound),))


def _mi350(a: NDArray[Any], b: NDArray[Any], a_scale: NDArray[Any], b_scale: NDArray[Any], c: NDArray[Any]) -> bytes:
    (m, k), n = a.shape, c.shape[1]
    return BlockScaleArguments(
        c=c, a=a, b=b, a_scale=a_scale, b_scale=b_scale, k=k, n=n, m=m, stride_a=k, stride_b=k, stride_c=2 * n
    ).pack()


def _flatmm(a: NDArray[Any], b: NDArray[Any], a_scale: NDArray[Any], b_scale: NDArray[Any], c: NDArray[Any]) -> bytes:
    (m, k), n = a.shape, c.shape[1]
    return FlatmmArguments(a=a, b=b, a_scale=a_scale, b_scale=b_scale, d_f16=c, k=k, n=n, m=m).pack(slot=0)


def _product(a: NDArray[Any], b: NDArray[Any], a_scale: NDArray[Any], b_scale: NDArray[Any]) -> tuple[Float, Float]:
    """The result, and the sum of its summands' magnitudes."""
    k = a.shape[1]
    scaled_a = wide(a) * np.repeat(wide(a_scale).T, _BLOCK, axis=1)[:, :k]
    scaled_b = wide(b) * np.repeat(np.repeat(wide(b_scale), _BLOCK, axis=0), _BLOCK, axis=1)[:, :k]
    return scaled_a @ scaled_b.T, np.abs(scaled_a) @ np.abs(scaled_b).T


def _files(wheel: Wheel) -> tuple[KernelFile, ...]:
    return wheel.files("gfx942", start="flatmm_uk_gfx9_f16f8") + wheel.files("gfx950", start=_OF_MI350)


KIND = Kind("f8blockscale", "fp8 GEMM, scales per block of 128", _files, _problems, _prepare, _edges)
