"""Our GEMM kernels with block scales of A and B, executed under all checks against the definition."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import ml_dtypes
import numpy as np
import pytest
from mx_support import Bytes, Float, close, code_object, launched, no_result, product
from numpy.typing import NDArray

TEXT = """#include <backends/hip/blockscale.hpp>
CKGEN_BLOCKSCALE_KERNEL(plain, 32, 128, 128, 1, 4, {step}, 2, false, false)
CKGEN_BLOCKSCALE_KERNEL(deep, 16, 128, 256, 1, 4, 64, 1, false, false)
CKGEN_BLOCKSCALE_KERNEL(shuffled, 64, 64, 128, 2, 2, {step}, 1, true, false)
"""
FP8 = {"gfx942": ml_dtypes.float8_e4m3fnuz, "gfx950": ml_dtypes.float8_e4m3fn}
STEP = {"gfx942": 32, "gfx950": 128}
TILES = {"plain": (32, 128, 256), "deep": (16, 128, 256), "shuffled": (64, 64, 256)}
GROUP = 128


@dataclass(frozen=True, slots=True)
class Operand:
    """Codes in rows with a gap behind each, and what they stand for."""

    codes: Bytes
    values: Float


def operand(generator: np.random.Generator, rows: int, k: int, gap: int, arch: str) -> Operand:
    """Every finite code."""
    codes = generator.integers(0, 256, (rows, k), dtype=np.uint8)
    values = codes.view(FP8[arch]).astype(np.float64)
    codes[np.isnan(values)] = 0
    held = np.full((rows, k + gap), 0x7F, np.uint8)
    held[:, :k] = codes
    return Operand(held, np.nan_to_num(values))


def preshuffled(codes: Bytes) -> Bytes:
    """The order of ckgen/preshuffle.hpp, by its own definition."""
    n, k = codes.shape
    return np.ascontiguousarray(codes.reshape(n // 16, 16, k // 32, 2, 16).transpose(0, 2, 3, 1, 4)).reshape(n, k)


def exact(a: Operand, b: Operand, a_scale: NDArray[np.float32], b_scale: NDArray[np.float32]) -> tuple[Float, Float]:
    """C and its bound: operands times their scales, a few roundings per group more than a plain product."""
    of_b = np.repeat(b_scale.astype(np.float64), GROUP, axis=0)[: b.values.shape[0]]
    scaled = [x.values * np.repeat(s.astype(np.float64), GROUP, axis=1) for x, s in ((a, a_scale), (b, of_b))]
    return product(*scaled)


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize(("kind", "m", "n", "k", "gap", "rows_first"), [
    ("plain", 45, 200, 384, 16, True), ("plain", 3, 128, 128, 0, False), ("deep", 17, 136, 640, 32, False),
    ("shuffled", 70, 80, 256, 0, True),
])  # fmt: skip
def test_products(arch: str, kind: str, m: int, n: int, k: int, gap: int, rows_first: bool) -> None:
    """Tails of every dimension, rows with gaps, both orders of A's scales."""
    generator = np.random.default_rng(m * n)
    a, b = operand(generator, m, k, gap, arch), operand(generator, n, k, 0 if kind == "shuffled" else gap, arch)
    a_scale = generator.uniform(0.25, 4, (m, k // GROUP)).astype(np.float32)
    b_scale = generator.uniform(0.25, 4, (-(-n // GROUP), k // GROUP)).astype(np.float32)
    held_scale = a_scale if rows_first else np.ascontiguousarray(a_scale.T)
    strides = (k // GROUP, 1) if rows_first else (1, m)
    held_b = preshuffled(b.codes) if kind == "shuffled" else b.codes
    c = no_result(m, n + 3)
    read = [a.codes, held_b, held_scale, b_scale]
    pointers = [array.ctypes.data for array in (a.codes, held_b, c, held_scale, b_scale)]
    args = struct.pack("<5Q8q", *pointers, m, n, k, k + gap, held_b.shape[1], n + 3, *strides)
    tile_m, tile_n, threads = TILES[kind]
    grid = (-(-m // tile_m) * -(-n // tile_n), 1)
    code = code_object(TEXT.replace("{step}", str(STEP[arch])), arch)
    launched(code, kind, grid, threads, args, read, c, arch=arch)
    assert close(c[:, :n], *exact(a, b, a_scale, b_scale))
    assert np.isnan(c[:, n:].astype(np.float32)).all()
