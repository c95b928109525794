"""What was stored for kernels comes back: by values that are known, and as the inverse of what stored it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ckgen
from ckgen.model.errors import UsageError

RANDOM = np.random.default_rng(5)
HALVES = np.asarray([[0x2F, 0x80]], np.uint8)


def test_two_to_a_byte_are_known_values() -> None:
    assert ckgen.unpack_4bit(HALVES, "int4").astype(int).tolist() == [[-1, 2, 0, -8]]
    assert ckgen.unpack_4bit(HALVES).astype(float).tolist() == [[-6.0, 1.0, 0.0, -0.0]]
    for kind, word in ((ml_dtypes.int4, "int4"), (ml_dtypes.float4_e2m1fn, "fp4")):
        every = np.arange(16, dtype=np.uint8)
        packed = every[0::2] | every[1::2] << 4
        assert (ckgen.pack_4bit(ckgen.unpack_4bit(packed, word)) == packed).all()
        assert ckgen.unpack_4bit(packed, word).dtype == kind


@pytest.mark.parametrize("dtype", ["int8", "fp8_ocp", "fp8_fnuz", "bf8_ocp", "fp4"])
@pytest.mark.parametrize(
    ("scheme", "block"),
    [
        ("per_tensor", (1, 128)),
        ("rowwise", (1, 128)),
        ("blockscale", (1, 128)),
        ("blockscale", (16, 32)),
        ("mx", (1, 32)),
    ],
)
def test_values_are_each_code_times_its_own_scale(dtype: str, scheme: str, block: tuple[int, int]) -> None:
    if scheme == "mx" and dtype == "int8":
        return
    values = RANDOM.standard_normal((2, 24, 136))
    codes, scales = ckgen.quantize(values, dtype, scheme, block=block)
    found = ckgen.dequantize(codes, scales, scheme, block=block)
    every = ckgen.unpack_4bit(codes) if dtype == "fp4" else codes
    n, k = {"per_tensor": (24, 136), "rowwise": (1, 136), "mx": (1, 32)}.get(scheme, block)
    for at in ((0, 0, 0), (1, 23, 135), (0, 17, 70), (1, 15, 31), (1, 16, 32)):
        b, i, j = at
        scale = scales[{"per_tensor": (0,), "rowwise": (b, i)}.get(scheme, (b, i // n, j // k))]
        assert found[at] == np.float32(float(every[at]) * float(scale))


def test_orders_go_back() -> None:
    for shape, dtype in (((2, 32, 64), np.uint8), ((16, 32), ml_dtypes.bfloat16)):
        weights = RANDOM.integers(0, 255, shape).astype(dtype)
        assert (ckgen.unpreshuffle_b(ckgen.preshuffle_b(weights)) == weights).all()
    for rows, groups in ((32, 8), (33, 9), (1, 1)):
        scales = RANDOM.integers(1, 250, (rows, groups)).astype(np.uint8)
        assert (ckgen.unshuffle_mx_scale(ckgen.shuffle_mx_scale(scales), rows, groups) == scales).all()


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: ckgen.unpack_4bit(HALVES.astype(np.int8)), "int8 as 'fp4': unpack_4bit takes uint8"),
        (lambda: ckgen.unpack_4bit(HALVES, "fp8"), "uint8 as 'fp8'"),
        (lambda: ckgen.dequantize(HALVES, np.ones(2)), r"scales have shape \(2,\), and \(1,\) is asked for by rowwise"),
        (lambda: ckgen.dequantize(HALVES, np.ones(1), "rows"), "scheme is 'rows', and schemes are"),
        (lambda: ckgen.unpreshuffle_b(np.ones((8, 32))), "N is a multiple of 16"),
        (lambda: ckgen.unshuffle_mx_scale(np.ones(9, np.uint8), 1, 1), r"\(9,\) scales, and \(256,\) of 1 rows"),
    ],
)
def test_wrong_arrays_are_refused(call: Callable[[], Any], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        call()
