"""H between the products of a layer: scales and codes by hand, and how far a kernel's own may be from them."""

from __future__ import annotations

from dataclasses import replace

import ml_dtypes
import numpy as np
import pytest

from ckgen.families.gemm.enums import ScaleBlock, ScaleSides
from ckgen.families.gemm.signature import GemmSignature, parse_canonical
from ckgen.families.moe.reference_quantize import Known, Quantized, quantize, stored
from ckgen.model.dtype import DType

INT8 = parse_canonical("moe_int8_bf16_rcr_rowwise_layer_epi_relu")
TENSOR = parse_canonical("moe_int8_bf16_rcr_per_tensor_layer_epi_relu")
BLOCKS = parse_canonical("moe_fp8_fnuz_bf16_rcr_blockscale_layer_gated_epi_silu")
MX = parse_canonical("moe_fp8_ocp_bf16_rcr_mx_layer_epi_relu")
PLAIN = parse_canonical("moe_bf16_rcr_layer_gated_epi_silu")
FAITHFUL = 2.0**-23
"""How far a quotient of float32 may be from the true one, of itself."""


def of(signature: GemmSignature, rows: list[list[float]], bound: float = 0.0) -> Quantized:
    h = np.array(rows)
    return quantize(Known(h, np.full_like(h, bound)), signature)


@pytest.mark.parametrize(
    ("dtype", "numpys"),
    [
        (DType.FP4, ml_dtypes.float4_e2m1fn), (DType.FP8_FNUZ, ml_dtypes.float8_e4m3fnuz),
        (DType.FP8_OCP, ml_dtypes.float8_e4m3fn), (DType.BF8_FNUZ, ml_dtypes.float8_e5m2fnuz),
        (DType.BF8_OCP, ml_dtypes.float8_e5m2), (DType.FP16, np.float16), (DType.BF16, ml_dtypes.bfloat16),
        (DType.FP32, np.float32),
    ],
)  # fmt: skip
def test_what_is_too_large_is_stored_as_the_largest_of_its_type(dtype: DType, numpys: type) -> None:
    largest = float(ml_dtypes.finfo(numpys).max)  # type: ignore[no-untyped-call]
    assert stored(np.array([2 * largest, -2 * largest, largest]), dtype).tolist() == [largest, -largest, largest]
    scales = of(replace(INT8, a=dtype), [[largest, 0.0], [0.0, -largest / 2]]).scales
    assert scales is not None and scales.tolist() == [1.0, 0.5]


def test_integers_saturate_alike_on_both_sides_and_round_to_even() -> None:
    assert stored(np.array([-1e9, 2.5, 1e9, 3.5]), DType.INT8).tolist() == [-127.0, 2.0, 127.0, 4.0]


def test_scales_of_mx_follow_the_greatest_exponent() -> None:
    signature = parse_canonical("moe_fp8_ocp_bf16_rcr_mx_layer_epi_relu")
    h = np.zeros((2, 64))
    h[0, 0], h[0, 40], h[1, 3] = 448.0, 0.9, 2.0**-130
    found = quantize(Known(h, np.zeros_like(h)), signature)
    assert found.scales is not None
    assert found.scales.tolist() == [[1.0, 2.0**-9], [2.0**-127, 2.0**-127]]
    assert found.codes[0, 0] == 448.0
    assert found.codes[0, 40] == 0.9 * 512 // 32 * 32


def test_rows_of_zeros_have_a_scale_of_one() -> None:
    signature = parse_canonical("moe_int8_bf16_rcr_rowwise_layer_epi_relu")
    h = np.array([[0.0, 0.0], [3.0, 254.0]])
    found = quantize(Known(h, np.zeros_like(h)), signature)
    assert found.scales is not None
    assert found.scales.tolist() == [1.0, 2.0]
    assert found.codes.tolist() == [[0.0, 0.0], [2.0, 127.0]]  # 1.5 to even


def test_one_scale_is_of_a_row_of_all_or_of_a_block() -> None:
    rows = [[127.0, -254.0], [12.7, 0.0]]
    of_rows, of_all = of(INT8, rows), of(TENSOR, rows)
    assert of_rows.scales is not None and of_rows.scales.tolist() == [2.0, 12.7 / 127]
    assert of_all.scales is not None and of_all.scales.tolist() == [2.0]
    assert of_all.codes.tolist() == [[64.0, -127.0], [6.0, 0.0]]
    assert BLOCKS.scale_block.k == 128
    of_blocks = of(BLOCKS, [[240.0] * 128 + [-480.0] * 3])
    assert of_blocks.scales is not None and of_blocks.scales.tolist() == [[1.0, 2.0]]
    assert of_blocks.codes.tolist() == [[240.0] * 128 + [-240.0] * 3]
    assert (of_blocks.value.exact.shape, of_blocks.value.bound.shape) == ((1, 131), (1, 131))


def test_what_is_neither_scaled_nor_another_type_stays_as_it_is() -> None:
    h = Known(np.array([[1 + 2.0**-20]]), np.array([[0.25]]))
    found = quantize(h, PLAIN)
    assert found.codes is h.exact and found.scales is None and found.value is h
    of_weights = replace(BLOCKS, a=DType.BF16, scale_block=ScaleBlock(ScaleSides.B))
    assert quantize(h, of_weights).value is h


def test_another_type_may_be_rounded_to_either_neighbour_of_a_tie() -> None:
    signature = replace(PLAIN, c=DType.FP32)
    tie, close = 1 + 2.0**-8, 1 + 2.0**-8 - 2.0**-16
    found = of(signature, [[tie, close, 3.0]])
    assert found.scales is None
    assert found.codes.tolist() == found.value.exact.tolist() == [[1.0, 1.0, 3.0]]
    assert found.value.bound.tolist() == [[2.0**-7, 0.0, 0.0]]


def test_an_exact_scale_gives_an_exact_value_and_a_rounded_one_is_off_by_its_rounding() -> None:
    assert of(INT8, [[254.0, 4.0]]).value.bound.tolist() == [[0.0, 0.0]]
    third = of(INT8, [[3.0, 0.0]]).value
    assert third.exact[0, 0] == pytest.approx(3.0, rel=1e-15)
    assert third.bound[0] == pytest.approx([3.0 * FAITHFUL, 0.0], rel=1e-6)


def test_a_tie_may_become_either_code() -> None:
    found = of(INT8, [[127.0, 0.5, 0.5 - 2.0**-20, -1.5]])
    assert found.codes.tolist() == [[127.0, 0.0, 0.0, -2.0]]
    assert found.value.bound.tolist() == [[0.0, 1.0, 0.0, 1.0]]


def test_an_uncertain_largest_moves_scale_and_codes() -> None:
    """127 within 1: the scale is 126/127 to 128/127, of which any may divide and any multiply."""
    found = of(INT8, [[127.0, 0.0]], bound=1.0)
    low, high = 126 / 127 * (1 - FAITHFUL), 128 / 127 * (1 + FAITHFUL)
    assert found.value.bound[0, 0] == pytest.approx(max(127 - round(126 / high) * low, 127 * high - 127), rel=1e-9)
    assert found.value.bound[0, 1] == pytest.approx(high, rel=1e-9)


def test_the_reach_of_what_is_known_is_its_largest_magnitude() -> None:
    assert Known(np.array([-3.0, 2.0]), np.array([0.5, 0.25])).reach.tolist() == [3.5, 2.25]


def test_a_scale_of_mx_divides_and_multiplies_as_the_same_power_of_two() -> None:
    """512 within 1 has scales of 1 or 2: 511 saturates at 448, 513 is 512; never 448 times 2."""
    found = of(MX, [[512.0] + [0.0] * 31], bound=1.0)
    assert found.scales is not None and found.scales.tolist() == [[2.0]]
    assert (found.value.exact[0, 0], found.value.bound[0, 0]) == (512.0, 64.0)


def test_a_scale_of_mx_is_within_eight_bits_of_exponent() -> None:
    largest = of(replace(MX, a=DType.FP4), [[2.0**130] + [0.0] * 31])
    assert largest.scales is not None and largest.scales.tolist() == [[2.0**127]]
    none = of(MX, [[0.0] * 32])
    assert none.scales is not None and none.scales.tolist() == [[2.0**-127]]
