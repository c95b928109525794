"""GEMM of fp4 operands with an e8m0 scale per 32 elements of K: D = A Bᵀ, bf16.

The host's side is asm_gemm_a4w4.cu: two elements per byte, the even one low; B shuffled by (16, 16) except for the
kernel whose name says noBpreShuffle; scales shuffled and padded to 256 rows; C holds fp32; K a multiple of 256. Kernels
that the wheel's table marks with splitK add the splits of K to D, which the host has zeroed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ckgen_emulator.production.gemm_parts import THREADS, GemmProblem, StridedArguments, tile_of
from ckgen_emulator.production.layouts import shuffled, shuffled_scales
from ckgen_emulator.production.model import Kind, Launch, Output
from ckgen_emulator.production.numbers import BF16, FLOAT32, FP4, TO_BF16
from ckgen_emulator.production.slots import U32, Pointer
from ckgen_emulator.production.wheel import KernelFile, Wheel

_BLOCK = 32
_STEP = 256
_ROWS = 32
"""D has a multiple of so many rows."""
_SPLITTING = ("_BpreShuffle_256x256", "_BpreShuffle_128x512")
_SCALING = ("_BpreShuffle_256x256", "_BpreShuffle_128x512", "_noBpreShuffle_256x256")
"""Take alpha; the others ignore it, and all of them beta and C."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GemmArguments(StridedArguments):
    """Strides in elements, of scales in bytes."""

    scale_a: Pointer = None
    scale_b: Pointer = None
    stride_scale_a0: U32 = 0
    stride_scale_a1: U32 = 0
    stride_scale_b0: U32 = 0
    stride_scale_b1: U32 = 0
    log2_splits: U32 = 0


@dataclass(frozen=True, slots=True)
class Problem(GemmProblem):
    """Splits are a power of two; the product is multiplied by `alpha`."""

    alpha: float = 1


def _tile(file: KernelFile) -> tuple[int, int]:
    """M and N, from names as f4gemm_bf16_per1x32Fp4_BpreShuffle_192x128."""
    tile = tile_of(file)
    assert tile is not None
    return tile


def _problems(file: KernelFile) -> Mapping[str, Problem]:
    m, n = _tile(file)
    problems = {
        "tile": Problem(m, n, 512),
        "edge": Problem(m + 5, n, 768),
        "row": Problem(1, n, 512),
    }
    if file.stem.endswith(_SCALING):
        problems["scaled"] = Problem(m, n, 512, alpha=-1.5)
    if file.stem.endswith(_SPLITTING):
        problems["split"] = Problem(m, n, 1024, 2)
    return problems


def _edges(file: KernelFile) -> Mapping[str, Problem]:
    """The host code asks K in steps of 256, pads D to 32 rows and takes splits as a power of two.

    It rounds the grid up, so that N need not be whole tiles, and compares splits with nothing.
    """
    m, n = _tile(file)
    problems = {
        "K 1 step": Problem(m, n, _STEP),
        "K 2 steps": Problem(m, n, 2 * _STEP),
        "K 3 steps": Problem(m, n, 3 * _STEP),
        "K 3 steps less 64": Problem(m, n, 3 * _STEP - 64),
        "K 3 steps and 64": Problem(m, n, 3 * _STEP + 64),
        "M a tile less 1": Problem(m - 1, n, 2 * _STEP),
        "M a tile and 1": Problem(m + 1, n, 2 * _STEP),
        "M 31": Problem(_ROWS - 1, n, 2 * _STEP),
        "M 32": Problem(_ROWS, n, 2 * _STEP),
        "M 33": Problem(_ROWS + 1, n, 2 * _STEP),
        "N a tile less 32": Problem(m, n - 32, 2 * _STEP),
        "N a tile and 32": Problem(m, n + 32, 2 * _STEP),
    }
    if file.stem.endswith(_SPLITTING):
        problems |= {f"4 steps, {splits} splits": Problem(m, n, 4 * _STEP, splits) for splits in (2, 4, 8)}
    return problems


def _operand(
    generator: np.random.Generator, rows: int, k: int
) -> tuple[NDArray[np.uint8], NDArray[np.uint8], NDArray[np.float64]]:
    """Packed elements[rows, K / 2], scales[rows, K / 32], and what they stand for."""
    codes = generator.integers(0, 16, (rows, k), np.uint8)
    scales = generator.integers(124, 131, (rows, k // _BLOCK), np.uint8)
    values = codes.view(FP4).astype(np.float64) * np.repeat(np.exp2(scales.astype(np.float64) - 127), _BLOCK, axis=1)
    return codes[:, 0::2] | codes[:, 1::2] << 4, scales, values


def _prepare(file: KernelFile, problem: Problem, generator: np.random.Generator) -> Launch:
    m, n, k = problem.m, problem.n, problem.k
    a, scale_a, wide_a = _operand(generator, m, k)
    b, scale_b, wide_b = _operand(generator, n, k)
    laid = b if "noBpreShuffle" in file.stem else shuffled(b)
    laid_a, laid_b = shuffled_scales(scale_a), shuffled_scales(scale_b)
    d = np.empty((-(-m // _ROWS) * _ROWS, n), BF16)
    arguments = GemmArguments(
        d=d, a=np.ascontiguousarray(a), b=laid, alpha=problem.alpha, stride_c0=n, stride_a0=k,
        stride_b0=k, m=m, n=n, k=k, scale_a=laid_a, scale_b=laid_b, stride_scale_a0=laid_a.shape[1],
        stride_scale_b0=laid_b.shape[1], log2_splits=problem.splits.bit_length() - 1,
    )  # fmt: skip
    assert arguments.a is not None
    exact = wide_a @ wide_b.T * problem.alpha
    absolute = np.abs(wide_a) @ np.abs(wide_b).T * abs(problem.alpha)
    rounded = np.abs(exact) if problem.splits == 1 else 2 * problem.splits * absolute
    bound = 1.01 * TO_BF16 * rounded + k * FLOAT32 * absolute
    tile_m, tile_n = _tile(file)
    grid = (-(-n // tile_n), -(-m // tile_m), problem.splits)
    return Launch(
        grid,
        THREADS,
        arguments.pack(),
        (arguments.a, laid, laid_a, laid_b),
        (Output("d", d, exact, bound, problem.splits > 1),),
    )


def _files(wheel: Wheel) -> tuple[KernelFile, ...]:
    return wheel.files("gfx950", "f4gemm")


KIND = Kind("f4gemm", "fp4 GEMM, e8m0 scales per 32 of K, bf16 result", _files, _problems, _prepare, _edges)
