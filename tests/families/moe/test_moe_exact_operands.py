"""Data of layers of experts of which only one result is right: what they are made of, type by type."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest

from ckgen.families.common.storage import Values, decode, encode
from ckgen.families.gemm.signature import parse_canonical
from ckgen.families.moe.exact_operands import exact_operands
from ckgen.families.moe.reference import MoeOperands, MoeSize, Weights, expect, hidden
from ckgen.families.moe.reference_quantize import quantize
from ckgen.model.dtype import DType
from ckgen.model.groups import Routing

SIZE = MoeSize(37, 192, 160, Routing(4, 3))
K_OF_MX = 32


@dataclass(frozen=True)
class Layer:
    """Sizes of a gate's weight, of up's, and what rows of A add up to; the largest code of H; how dense W2 is."""

    signature: str
    gate: tuple[float, ...]
    up: tuple[float, ...]
    sums: tuple[float, ...]
    code: float
    dense: float

    def __str__(self) -> str:
        return self.signature


LAYERS = (
    Layer("fp32_rcr_layer_gated_epi_silu", (128,), (1, 2, 3, 7), (1, 2), 7 * 512, 1.0000),
    Layer("bf16_rcr_layer_gated_weightfirst_epi_gelu", (256,), (1, 2, 3, 7), (1, 2), 7 * 1024, 0.5072),
    Layer("fp16_rcr_layer_epi_relu", (96, 192, 288, 672), (), (1,), 672, 1.0000),
    Layer("int8_fp16_rcr_rowwise_layer_gated_weightfirst_epi_silu", (96,), (4, 8, 12, 508), (1,), 127, 0.9617),
    Layer("int8_bf16_rcr_rowwise_layer_gated_epi_silu", (128,), (4, 8, 12, 508), (1, 2), 127, 0.5493),
    Layer("int8_bf16_rcr_per_tensor_layer_gated_epi_gelu", (128,), (4, 8, 12, 508), (1,), 127, 0.5504),
    Layer("int8_bf16_rcr_per_tensor_layer_gated_weightfirst_epi_gelu", (256,), (32, 64, 96, 1016), (1,), 127, 0.5504),
    Layer("int8_bf16_rcr_rowwise_layer_epi_relu", (128, 256, 384, 16256), (), (1, 2), 127, 0.5493),
    Layer("fp8_ocp_bf16_rcr_rowwise_layer_gated_epi_silu", (128,), (4, 8, 12, 28), (1, 2), 448, 0.5072),
    Layer("fp8_fnuz_fp16_rcr_rowwise_layer_epi_relu", (96, 192, 288, 1440), (), (1,), 240, 1.0000),
    Layer("fp8_fnuz_bf16_rcr_per_tensor_preshuffle_layer_gated_epi_silu", (128,), (4, 8, 12, 60), (1,), 240, 0.3606),
    Layer("fp8_fnuz_bf16_rcr_blockscale_layer_gated_weightfirst_epi_silu", (256,), (8, 16, 24, 120), (1, 2),
          240, 0.3052),
    Layer("fp8_ocp_bf16_rcr_mx_layer_gated_epi_silu", (128,), (4, 8, 12, 28), (1, 2), 448, 0.3241),
    Layer("fp4_bf16_rcr_mx_layer_gated_epi_gelu", (128,), (64, 128, 192), (1, 2), 6, 0.5016),
    Layer("fp4_fp16_rcr_mx_layer_gated_epi_gelu", (96,), (32, 64, 96), (1,), 4, 1.0000),
    Layer("fp4_bf16_rcr_mx_layer_epi_gelu", (128, 256, 384), (), (1, 2), 6, 0.5016),
    Layer("fp8_ocp_fp4_bf16_rcr_mx_layer_gated_epi_silu", (128,), (64, 128, 192), (1, 2), 384, 0.3241),
    Layer("bf16_int4_bf16_rcr_blockscale_layer_gated_scales_b_1x128_epi_silu", (128,), (64, 128, 192), (1, 2),
          192 * 512, 0.4795),
    Layer("fp16_int4_fp16_rcr_blockscale_layer_gated_scales_b_1x128_epi_silu", (96,), (32, 64, 96), (1,),
          96 * 96, 1.0000),
    Layer("bf16_int4_bf16_rcr_blockscale_layer_scales_b_1x128_epi_silu", (128, 256, 384), (), (1, 2), 768, 0.4795),
)  # fmt: skip
DOWN = ("bf16_rcr_down", "fp8_ocp_bf16_rcr_rowwise_down", "int8_bf16_rcr_rowwise_down_weightfirst")


@cache
def made(text: str, seed: int = 1) -> MoeOperands:
    return exact_operands(parse_canonical(f"moe_{text}"), SIZE, seed)


def sizes(values: npt.NDArray[np.floating]) -> tuple[float, ...]:
    return tuple(size for size in np.unique(np.abs(values)).tolist() if size)


def scaled_a(operands: MoeOperands) -> Values:
    if operands.a_scale is None:
        return operands.a
    scale = operands.a_scale
    scale = scale.reshape(-1, 1) if scale.ndim < 2 else np.repeat(scale, -(-SIZE.k // scale.shape[1]), axis=1)
    if operands.signature.quant.value == "blockscale":
        scale = np.repeat(operands.a_scale, operands.signature.scale_block.k, axis=1)
    return np.asarray(operands.a * scale[:, : operands.a.shape[1]])


def scaled(operands: MoeOperands, of: Weights) -> Values:
    """Each expert's rows as they count."""
    rows, scales, block = np.swapaxes(of.values, 1, 2), of.scales, operands.signature.scale_block
    if scales is None:
        return rows
    match operands.signature.quant.value:
        case "per_tensor":
            whole = scales[..., None]
        case "rowwise":
            whole = scales[..., None]
        case "mx":
            whole = np.repeat(scales, K_OF_MX, axis=2)
        case _:
            whole = np.repeat(np.repeat(scales, block.n, axis=1), block.k, axis=2)
    return np.asarray(rows * whole[:, : rows.shape[1], : rows.shape[2]])


@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_numbers_of_a_layer_are_those_of_its_types(layer: Layer) -> None:
    operands = made(layer.signature)
    assert operands.w1 is not None and operands.w2 is not None
    w1, n = scaled(operands, operands.w1), SIZE.n
    assert sizes(w1[:, :n]) == layer.gate and sizes(w1[:, n:]) == layer.up
    gates = sizes(scaled_a(operands) @ w1[0, :n].T)
    assert set(gates) == {size * times for size in sizes(w1[0, :n]) for times in layer.sums}
    between = quantize(hidden(operands), operands.signature)
    assert np.abs(between.codes).max() == layer.code
    w2 = scaled(operands, operands.w2)
    assert sizes(w2) == (2.0**-9,)
    assert (w2 != 0).mean() == pytest.approx(layer.dense, abs=1e-4)


@pytest.mark.parametrize("text", [*(layer.signature for layer in LAYERS), *DOWN])
def test_every_number_is_a_value_of_its_type_and_almost_every_result_exact(text: str) -> None:
    operands = made(text)
    signature = operands.signature
    held = [(operands.a, signature.a)]
    held += [(one.values, signature.b) for one in (operands.w1, operands.w2) if one is not None]
    for values, dtype in held:
        assert np.array_equal(decode(encode(values, dtype)), values)
    expected = expect(operands)
    assert np.isfinite(expected.bound).all() and (expected.bound == 0).mean() > 0.98
    assert (expected.c != 0).mean() > 0.97
    if signature.c is not DType.FP32:
        assert (decode(encode(expected.c, signature.c)) == expected.c).mean() > 0.98


@pytest.mark.parametrize("layer", [one for one in LAYERS if "fp16_rcr" not in one.signature], ids=str)
def test_every_dimension_of_k_is_needed(layer: Layer) -> None:
    size = MoeSize(8, 32, 64, Routing(4, 2))
    operands = exact_operands(parse_canonical(f"moe_{layer.signature}"), size, 1)
    right = hidden(operands).exact
    for k in range(size.k):
        a = operands.a.copy()
        a[:, k] = 0
        assert not np.array_equal(hidden(replace(operands, a=a)).exact, right), k


@pytest.mark.parametrize("layer", LAYERS, ids=str)
def test_dimensions_are_of_eight_classes_that_an_experts_rows_share(layer: Layer) -> None:
    operands = made(layer.signature)
    assert operands.w1 is not None
    w1 = scaled(operands, operands.w1)
    columns = np.concatenate(list(w1 * np.sign(w1[0, :1])))
    assert len(np.unique(columns, axis=1).T) <= 16  # of a class two, by the sign of the first row
    assert len(np.unique(np.abs(columns), axis=1).T) <= 8


def test_routing_weights_of_neighbours_differ_and_are_powers_of_two() -> None:
    few, first = made("bf16_rcr_down").weights, made("int8_bf16_rcr_rowwise_down_weightfirst").weights
    many = exact_operands(parse_canonical("moe_bf16_rcr_down"), MoeSize(8, 32, 32, Routing(9, 5)), 1).weights
    assert sizes(few) == (0.25, 0.5, 1.0) and sizes(first) == sizes(many) == (0.5, 1.0)
    for weights in (few, first, many):
        assert weights.dtype == np.float32
        assert (weights[:, 1:] != weights[:, :-1]).all() and (weights[1:] != weights[:-1]).all()


def test_scales_of_neighbours_differ_and_integers_are_doubled_at_most() -> None:
    floats, integers = made("fp8_ocp_bf16_rcr_rowwise_down"), made("int8_bf16_rcr_rowwise_down_weightfirst")
    for operands, known in ((floats, (0.5, 1.0, 2.0)), (integers, (0.5, 1.0))):
        assert operands.a_scale is not None and operands.w2 is not None and operands.w2.scales is not None
        for scales in (operands.a_scale, operands.w2.scales):
            assert sizes(scales) == known and (scales[..., 1:] != scales[..., :-1]).all()


def test_down_adds_ones_times_ones_and_twos() -> None:
    for text in DOWN:
        operands = made(text)
        assert operands.w1 is None and operands.w2 is not None and operands.is_exact
        assert sizes(scaled_a(operands)) == (1.0, 2.0) and sizes(scaled(operands, operands.w2)) == (1.0,)
        assert (scaled_a(operands) == 0).mean() == pytest.approx(1 / 3, abs=0.02)


def test_a_seed_makes_the_same_data_and_the_routing_may_be_given() -> None:
    signature = parse_canonical(f"moe_{LAYERS[1].signature}")
    ids = np.arange(SIZE.tokens * 3, dtype=np.int32).reshape(-1, 3) % 4
    again, other = exact_operands(signature, SIZE, 1), exact_operands(signature, SIZE, 2)
    assert np.array_equal(again.a, made(LAYERS[1].signature).a) and not np.array_equal(again.a, other.a)
    assert exact_operands(signature, SIZE, 1, ids).ids is ids


def test_the_few_dimensions_of_a_small_k_are_of_as_few_classes() -> None:
    for k, count in ((4, 1), (16, 2), (64, 8), (128, 8)):
        operands = exact_operands(
            parse_canonical("moe_bf16_rcr_gate_up_gated_epi_silu"), MoeSize(8, 64, k, Routing(4, 2)), 1
        )
        assert operands.w1 is not None and operands.w2 is None
        assert len(np.unique(np.abs(np.concatenate(list(scaled(operands, operands.w1)))), axis=1).T) == count
