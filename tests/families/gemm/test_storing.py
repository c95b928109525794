"""What helpers store is what kernels read."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import ckgen
from ckgen.model.errors import UsageError

SHAPES = {
    "per_tensor": ((1,), lambda s: s.reshape(1, 1)),
    "rowwise": ((6,), lambda s: s[:, None]),
    "blockscale": ((3, 2), lambda s: np.repeat(np.repeat(s, 2, 0), 128, 1)[:6, :200]),
    "mx": ((6, 7), lambda s: np.repeat(s, 32, 1)[:, :200]),
}


@pytest.mark.parametrize("scheme", SHAPES)
@pytest.mark.parametrize(
    ("dtype", "step"), [("int8", 0.5 / 127), ("fp8_fnuz", 2.0**-4), ("fp8_ocp", 2.0**-4), ("bf8_ocp", 2.0**-3)]
)
def test_codes_times_scales_are_the_values_within_half_a_step(scheme: str, dtype: str, step: float) -> None:
    values = np.random.default_rng(1).uniform(-3, 3, (6, 200))
    codes, scales = ckgen.quantize(values, dtype, scheme, block=(2, 128))
    shape, spread = SHAPES[scheme]
    assert (scales.shape, scales.dtype) == (shape, ml_dtypes.float8_e8m0fnu if scheme == "mx" else np.float32)
    each: Any = spread(scales.astype(np.float64))
    found = codes.astype(np.float64) * each
    if dtype == "int8":
        bound = 0.5 * each * (2 if scheme == "mx" else 1) + (np.abs(codes.astype(float)) == 127) * each * 130
    else:
        finfo = ml_dtypes.finfo(codes.dtype)
        bound = step * np.abs(values) + float(finfo.smallest_subnormal) * each
        bound += (np.abs(codes.astype(np.float64)) == float(finfo.max)) * np.abs(values)  # mx limits the largest
    assert (np.abs(found - values) <= bound * (1 + 1e-6)).all()
    if scheme != "mx":
        assert np.abs(codes.astype(np.float64)).max() == (
            127 if dtype == "int8" else float(ml_dtypes.finfo(codes.dtype).max)
        )


def test_fp4_comes_two_to_a_byte_low_first() -> None:
    values = np.asarray([[0.5, 1.0, 6.0, -6.0] + [0.0] * 28])
    codes, scales = ckgen.quantize(values, "fp4", "mx")
    assert codes.tolist() == [[0x21, 0xF7] + [0] * 14]
    assert scales.astype(float).tolist() == [[1.0]]
    assert (ckgen.pack_4bit(values.astype(ml_dtypes.float4_e2m1fn)) == codes).all()
    assert ckgen.pack_4bit(np.asarray([[-1, 2]]).astype(ml_dtypes.int4)).tolist() == [[0x2F]]


def test_weights_are_shuffled_as_sixteen_rows_of_sixteen_bytes() -> None:
    weights = np.arange(32 * 64, dtype=np.int16).reshape(32, 64)
    shuffled = ckgen.preshuffle_b(weights)
    assert shuffled.shape == weights.shape
    chunks = shuffled.view(np.uint8).reshape(2, 8, 16, 16)
    for n, k in ((0, 0), (17, 3), (31, 7)):
        assert (chunks[n // 16, k, n % 16] == weights.view(np.uint8)[n, 16 * k : 16 * k + 16]).all()


def test_scales_are_shuffled_and_padded() -> None:
    scales = np.arange(1, 33 * 9 + 1).reshape(33, 9).astype(np.uint8)
    assert ckgen.shuffle_mx_scale(scales).shape == (64 * 16,)
    assert sorted(ckgen.shuffle_mx_scale(scales)) == sorted([*scales.ravel().tolist(), *[0] * (64 * 16 - 33 * 9)])


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda: ckgen.quantize(np.ones(3), "int8"), r"values are finite, \[..., rows, K\]"),
        (lambda: ckgen.quantize(np.full((1, 2), np.nan), "int8"), "values are finite"),
        (lambda: ckgen.quantize(np.ones((1, 2)), "fp16"), "dtype is 'fp16': values become int8"),
        (lambda: ckgen.quantize(np.ones((1, 2)), "int8", "none"), "scheme is 'none', and schemes are per_tensor"),
        (lambda: ckgen.pack_4bit(np.ones((1, 2))), "float64 .1, 2.: pack_4bit takes int4 or float4_e2m1fn"),
        (lambda: ckgen.preshuffle_b(np.ones((8, 32))), "N is a multiple of 16"),
        (lambda: ckgen.shuffle_mx_scale(np.ones((8, 32))), r"scales are e8m0 \[rows, groups\]"),
    ],
)
def test_what_is_not_stored_is_refused(call: Any, reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        call()
