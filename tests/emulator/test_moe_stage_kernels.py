"""The device kernels between the products of a mixture of experts: tokens sorted by expert, rows quantised."""

from __future__ import annotations

import struct
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy.typing import NDArray
from step_support import CHIPS, table

from amd_support import code_object_of
from ckgen.families.gemm.reference import shuffle_mx_scale
from ckgen_emulator.bindings import Emulator, Options
from ckgen_emulator.production.routing import routed

TEXT = """#include <backends/hip/moe_sort.hpp>
#include <backends/hip/quantize.hpp>
CKGEN_MOE_SORT_KERNEL(moe_sort)
CKGEN_QUANTIZE_ROW_KERNEL(bf16_rows_fp8, Bf16, ToFp8)
CKGEN_QUANTIZE_ROW_KERNEL(fp16_rows_int8, Fp16, ToInt8)
CKGEN_QUANTIZE_PARTS_KERNEL(bf16_parts_fp8, Bf16, ToFp8, 128)
CKGEN_QUANTIZE_SORTED_KERNEL(bf16_sorted_fp4, Bf16)
CKGEN_QUANTIZE_MX_KERNEL(bf16_mx, Bf16)
"""
SORT_LANES, QUANTIZE_LANES = 512, 256
BF16 = np.dtype(ml_dtypes.bfloat16)
FP8 = {"gfx942": np.dtype(ml_dtypes.float8_e4m3fnuz), "gfx950": np.dtype(ml_dtypes.float8_e4m3fn)}
LARGEST = {"gfx942": 240, "gfx950": 448}
NOT_WRITTEN = -12345


@cache
def code_object(arch: str) -> bytes:
    return code_object_of("MoE stages", "hip", arch, TEXT).read_bytes()


def launch(arch: str, symbol: str, groups: int, lanes: int, args: bytes, *arrays: NDArray[Any], seed: int = 7) -> None:
    """Runs a kernel that may read and write the arrays, checked."""
    with Emulator(CHIPS[arch], table(arch)) as emulator:
        for array in arrays:
            emulator.add(array)
        module = emulator.load(code_object(arch))
        run = emulator.launch(module, symbol, [groups, 1, 1], [lanes, 1, 1], args, Options(seed=seed))
        assert not run.findings, run.findings


def sorted_rows(
    ids: NDArray[np.int32], weights: NDArray[np.float32], experts: int, block: int, capacity: int
) -> tuple[NDArray[Any], ...]:
    """The definition: token ids, weights, experts of blocks and the two counts, all of the capacity filled."""
    tokens, top_k = ids.shape
    token_ids = np.full(capacity, top_k << 24 | tokens, np.int32)
    sorted_weights, block_experts = np.zeros(capacity, np.float32), np.full(capacity // block, -1, np.int32)
    at = 0
    for expert in range(experts):
        found = np.argwhere(ids == expert)
        token_ids[at : at + len(found)] = found[:, 1] << 24 | found[:, 0]
        sorted_weights[at : at + len(found)] = weights[ids == expert]
        blocks = -(-len(found) // block)
        block_experts[at // block : at // block + blocks] = expert
        at += blocks * block
    return token_ids, sorted_weights, block_experts, np.array([at, tokens], np.int32)


@pytest.mark.parametrize(
    ("arch", "tokens", "experts", "top_k", "block"),
    [("gfx942", 40, 4, 2, 32), ("gfx950", 300, 70, 6, 16), ("gfx942", 130, 1024, 8, 16), ("gfx950", 1, 3, 1, 32)],
)
def test_tokens_by_expert(arch: str, tokens: int, experts: int, top_k: int, block: int) -> None:
    """Fewer and more rows than lanes, experts without tokens, and one expert that most tokens go to."""
    random = np.random.default_rng(tokens)
    likely = np.where(np.arange(experts) == experts // 2, 20.0, 1.0) / (experts + 19)
    ids = np.stack([random.choice(experts, top_k, replace=False, p=likely) for _ in range(tokens)]).astype(np.int32)
    weights = random.uniform(0.1, 1, ids.shape).astype(np.float32)
    busy = min(experts, ids.size)
    capacity = (busy + (ids.size - busy) // block) * block
    expected = sorted_rows(ids, weights, experts, block, capacity)
    out = [np.full_like(one, NOT_WRITTEN) for one in expected]
    pointers = [one.ctypes.data for one in (ids, weights, *out)]
    args = struct.pack("<6Q5i", *pointers, tokens, experts, top_k, block, capacity)
    launch(arch, "moe_sort", 1, SORT_LANES, args, ids, weights, *out)
    for found, wanted in zip(out, expected, strict=True):
        assert np.array_equal(found, wanted)


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize(
    ("symbol", "source", "part"),
    [("bf16_rows_fp8", BF16, 0), ("fp16_rows_int8", np.dtype(np.float16), 0), ("bf16_parts_fp8", BF16, 128)],
)
def test_quantised_rows(arch: str, symbol: str, source: np.dtype[Any], part: int) -> None:
    """Every bit of values and scales; a row of zeros, one of subnormals, and rows longer than a workgroup takes."""
    rows, columns = 5, 2176
    random = np.random.default_rng(3)
    values = (random.standard_normal((rows, columns)) * np.exp2(random.integers(-9, 9, (rows, 1)))).astype(source)
    values[1] = 0
    values[2, :64] = np.finfo(source).smallest_subnormal if source == np.float16 else 1e-39
    target = np.dtype(np.int8) if symbol.endswith("int8") else FP8[arch]
    largest = np.float32(127 if symbol.endswith("int8") else LARGEST[arch])
    groups = values.astype(np.float32).reshape(rows, -1, part or columns)
    top = np.abs(groups).max(2, keepdims=True)
    expected_scales = np.where(top == 0, np.float32(1), top / largest)
    ratio = groups / expected_scales
    expected = (np.rint(ratio) if target == np.int8 else ratio).astype(target).reshape(rows, columns)
    found = np.full((rows, columns), 77, np.uint8).view(target)
    scales = np.full(expected_scales.shape[:2], np.nan, np.float32)
    args = struct.pack("<3Qq", values.ctypes.data, found.ctypes.data, scales.ctypes.data, columns)
    launch(arch, symbol, rows, QUANTIZE_LANES, args, values, found, scales)
    assert np.array_equal(scales, expected_scales[:, :, 0])
    assert np.array_equal(found.view(np.uint8), expected.view(np.uint8))


def test_mx_rows() -> None:
    """Every bit of values and scales; zeros, subnormals, a NaN, and magnitudes that only the largest value holds."""
    rows, columns = 3, 2176
    random = np.random.default_rng(9)
    values = (random.standard_normal((rows, columns)) * np.exp2(random.integers(-60, 60, (rows, 1)))).astype(BF16)
    values[0, :32], values[0, 32:64], values[1, :32], values[1, 5] = 0, 1e-39, 1.9921875, 1.0
    values[2, 40] = np.nan
    groups = values.astype(np.float64).reshape(rows, -1, 32)
    with np.errstate(divide="ignore"):
        exponents = np.maximum(np.floor(np.log2(np.nanmax(np.abs(groups), 2))) - 8, -127)
    ratio = np.clip(groups / np.exp2(exponents)[..., None], -448, 448)
    assert (np.abs(ratio) == 448).any()
    expected = ratio.astype(np.float32).astype(FP8["gfx950"]).reshape(rows, columns)
    found, scales = np.full((rows, columns), 77, np.uint8), np.full(exponents.shape, 77, np.uint8)
    args = struct.pack("<3Qq", values.ctypes.data, found.ctypes.data, scales.ctypes.data, columns)
    launch("gfx950", "bf16_mx", rows, QUANTIZE_LANES, args, values, found, scales)
    assert np.array_equal(scales, (exponents + 127).astype(np.uint8))
    nan = np.isnan(expected.astype(np.float32))
    assert np.array_equal(found[~nan], expected.view(np.uint8)[~nan])
    assert nan.any() and (found[nan] & 0x7F == 0x7F).all()


def test_fp4_by_sorted_rows() -> None:
    """Every value and scale, halves between two values and subnormals too; the scale of padding is 1."""
    tokens, top_k, columns = 20, 2, 512
    random = np.random.default_rng(5)
    routing = routed(random, tokens, 3, top_k, 32)
    values = (random.integers(-24, 25, (tokens * top_k, columns)) * np.exp2(random.integers(-4, 4, (40, 1)))).astype(
        BF16
    )
    values[3], values[4, :32] = 0, 1e-39
    groups = values.astype(np.float64).reshape(tokens * top_k, -1, 32)
    top = np.abs(groups).max(2)
    with np.errstate(divide="ignore"):
        exponents = np.maximum(np.floor(np.log2(top)) - 2, -127)
    codes = (groups / np.exp2(exponents)[..., None]).astype(np.float32).astype(ml_dtypes.float4_e2m1fn).view(np.uint8)
    codes = codes.reshape(tokens * top_k, columns)
    token, slot = routing.ids & 0xFFFFFF, routing.ids >> 24
    row = np.where(slot < top_k, token * top_k + slot, 0)
    in_order = np.where((slot < top_k)[:, None], (exponents + 127).astype(np.uint8)[row], np.uint8(127))
    found = np.full((tokens * top_k, columns // 2), 0x77, np.uint8)
    scales = np.full(len(routing.ids) * columns // 32, 0x55, np.uint8)
    ids, valid = routing.ids, routing.valid
    pointers = [one.ctypes.data for one in (values, found, scales, ids, valid)]
    args = struct.pack("<5Qqi", *pointers, columns, top_k)
    launch("gfx950", "bf16_sorted_fp4", len(ids), QUANTIZE_LANES, args, values, found, scales, ids, valid)
    assert np.array_equal(scales, shuffle_mx_scale(in_order[None]))
    assert np.array_equal(found, codes[:, 0::2] | codes[:, 1::2] << 4)
