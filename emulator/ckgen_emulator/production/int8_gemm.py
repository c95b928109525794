"""GEMM of int8 operands with a scale per row and per column: C[M, N] = A Bᵀ · a_scale[M] · b_scale[N] + bias[N], bf16.

B is shuffled by (32, 16), N a multiple of the tile's. i8gemm's host side is asm_gemm_a8w8.cu: K split into multiples of
128. The two gemm_a8w8_m128 kernels have none in the wheel; they take the same arguments, the last one the logarithm of
the splits, and only the kernel that splits has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ckgen_emulator.production.gemm_parts import THREADS, GemmProblem, tile_of
from ckgen_emulator.production.layouts import shuffled
from ckgen_emulator.production.model import Kind, Launch, Output
from ckgen_emulator.production.numbers import BF16, FLOAT32, TO_BF16
from ckgen_emulator.production.slots import U32, Arguments, Pointer
from ckgen_emulator.production.wheel import KernelFile, Wheel

_SPLIT_MULTIPLE = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class GemmArguments(Arguments):
    """Strides in bytes of a row."""

    c: Pointer = None
    a: Pointer = None
    b: Pointer = None
    a_scale: Pointer = None
    b_scale: Pointer = None
    bias: Pointer = None
    m: U32 = 0
    n: U32 = 0
    k: U32 = 0
    stride_a: U32 = 0
    stride_b: U32 = 0
    stride_c: U32 = 0
    splits: U32 = 1


def _tile(file: KernelFile) -> tuple[int, int]:
    """M and N, from names as I8gemm_bf16_perTokenI8_BpreShuffle_192x128; others have 128 of both."""
    return tile_of(file) or (128, 128)


def _problems(file: KernelFile) -> Mapping[str, GemmProblem]:
    m, n = _tile(file)
    return {
        "tile": GemmProblem(m, n, 512),
        "edge": GemmProblem(m + 17, n, 384),
        "row": GemmProblem(1, n, 256),
        "split": GemmProblem(m - 3, n, 768, 2),
        "uneven-split": GemmProblem(33, n, 640, 3),
    }


def _edges(file: KernelFile) -> Mapping[str, GemmProblem]:
    """The host code has splits of whole steps of 128, and asks nothing of K."""
    m, n = _tile(file)
    return {
        "K 3 steps": GemmProblem(m, n, 3 * _SPLIT_MULTIPLE),
        "K 3 steps less 32": GemmProblem(m, n, 3 * _SPLIT_MULTIPLE - 32),
        "K 3 steps and 32": GemmProblem(m, n, 3 * _SPLIT_MULTIPLE + 32),
        "K 1 step": GemmProblem(m, n, _SPLIT_MULTIPLE),
        "K 2 steps": GemmProblem(m, n, 2 * _SPLIT_MULTIPLE),
        "4 steps, 4 splits": GemmProblem(m, n, 4 * _SPLIT_MULTIPLE, 4),
        "4 steps, 3 splits": GemmProblem(m, n, 4 * _SPLIT_MULTIPLE, 3),
        "4 steps, 5 splits": GemmProblem(m, n, 4 * _SPLIT_MULTIPLE, 5),
        "M a tile less 1": GemmProblem(m - 1, n, 256),
        "M a tile and 1": GemmProblem(m + 1, n, 256),
    }


def _older_problems(file: KernelFile) -> Mapping[str, GemmProblem]:
    problems = {"tile": GemmProblem(128, 128, 512), "edge": GemmProblem(140, 128, 768), "row": GemmProblem(1, 256, 512)}
    if file.stem.endswith("_splitK"):
        problems |= {"split": GemmProblem(128, 128, 1024, 2), "split-edge": GemmProblem(77, 128, 2048, 4)}
    return problems


def _older_edges(file: KernelFile) -> Mapping[str, GemmProblem]:
    """No host code says what they need: sizes at the tile, and K in the steps that i8gemm's has."""
    return {
        "K 2 steps": GemmProblem(128, 128, 2 * _SPLIT_MULTIPLE),
        "K 3 steps": GemmProblem(128, 128, 3 * _SPLIT_MULTIPLE),
        "K 4 steps": GemmProblem(128, 128, 4 * _SPLIT_MULTIPLE),
        "M a tile less 1": GemmProblem(127, 128, 512),
        "M a tile and 1": GemmProblem(129, 128, 512),
    }


def _splits(k: int, asked: int) -> int:
    """As many as are asked for, or fewer, so that none is empty."""
    return -(-k // _of_split(k, asked))


def _of_split(k: int, splits: int) -> int:
    """What each split but the last has of K: a multiple of 128."""
    each = -(-k // splits)
    return -(-each // _SPLIT_MULTIPLE) * _SPLIT_MULTIPLE


def _prepare(file: KernelFile, problem: GemmProblem, generator: np.random.Generator) -> Launch:
    m, n, k = problem.m, problem.n, problem.k
    a = generator.integers(-128, 128, (m, k), np.int8)
    b = generator.integers(-128, 128, (n, k), np.int8)
    a_scale = generator.uniform(0.5, 2, (m, 1)).astype(np.float32)
    b_scale = generator.uniform(0.5, 2, (1, n)).astype(np.float32)
    bias = (generator.standard_normal((1, n)) * 1e4).astype(np.float32)
    laid, c = shuffled(b, 32, 16), np.empty((m, n), BF16)
    tile_m, tile_n = _tile(file)
    splits = _splits(k, problem.splits)
    arguments = GemmArguments(
        c=c, a=a, b=laid, a_scale=a_scale, b_scale=b_scale, bias=bias,
        m=m, n=n, k=k, stride_a=k, stride_b=k, stride_c=2 * n,
        splits=splits if file.path.startswith("i8gemm/") else splits.bit_length() - 1,
    )  # fmt: skip
    partial = _partial_sums(a, b, splits) * a_scale.astype(np.float64) * b_scale.astype(np.float64)
    exact, summands = partial.sum(0) + bias, np.abs(partial).sum(0) + np.abs(bias)
    rounded = np.abs(exact) if splits == 1 else 2 * splits * summands
    bound = 1.01 * TO_BF16 * rounded + 4 * FLOAT32 * summands
    grid = (n // tile_n * splits, -(-m // tile_m), 1)
    inputs = (a, laid, a_scale, b_scale, bias)
    return Launch(grid, THREADS, arguments.pack(), inputs, (Output("c", c, exact, bound),))


def _partial_sums(a: NDArray[np.int8], b: NDArray[np.int8], splits: int) -> NDArray[np.float64]:
    """Of each split of K: [split, M, N]."""
    each = _of_split(a.shape[1], splits)
    parts = range(0, a.shape[1], each)
    return np.stack(
        [a[:, at : at + each].astype(np.float64) @ b[:, at : at + each].astype(np.float64).T for at in parts]
    )


def _files(wheel: Wheel) -> tuple[KernelFile, ...]:
    return wheel.files("gfx942", "i8gemm")


def _older_files(wheel: Wheel) -> tuple[KernelFile, ...]:
    return wheel.files("gfx942", start="gemm_a8w8_m128_")


OLDER = Kind(
    "gemm_a8w8_m128",
    "int8 GEMM, a scale per row and column, bf16 result",
    _older_files,
    _older_problems,
    _prepare,
    _older_edges,
)
KIND = Kind("i8gemm", "int8 GEMM, a scale per row and column, bf16 result", _files, _problems, _prepare, _edges)
