from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from ckgen.families.common.storage import decode, encode
from ckgen.families.gemm.enums import MoePart
from ckgen.families.gemm.signature import GemmSignature, parse_canonical
from ckgen.families.moe.parts import part_signatures
from ckgen.families.moe.reference import MoeOperands, MoeSize, Weights, expect, hidden, make_operands
from ckgen.families.moe.reference_quantize import Known, quantize
from ckgen.model.dtype import DType
from ckgen.model.groups import Routing

LAYERS = [
    "moe_bf16_rcr_layer_gated_epi_silu",
    "moe_fp16_rcr_layer_weightfirst_epi_relu",
    "moe_fp8_ocp_bf16_rcr_rowwise_layer_gated_epi_gelu",
    "moe_int8_bf16_rcr_per_tensor_layer_gated_weightfirst_epi_silu",
    "moe_fp8_fnuz_bf16_rcr_blockscale_layer_gated_epi_silu",
    "moe_fp8_ocp_bf16_rcr_mx_layer_gated_epi_silu",
    "moe_fp4_bf16_rcr_mx_layer_gated_epi_relu",
]
SIZE = MoeSize(5, 160, 128, Routing(4, 2))


def scale_of(operands: MoeOperands, scales: np.ndarray | None, row: int, k: int, of_weights: bool) -> float:
    """The scale of one element from the definition; `scales` of one operand or one expert."""
    if scales is None:
        return 1.0
    signature = operands.signature
    block = signature.scale_block
    line = row // block.n if of_weights else row
    return float({
        "per_tensor": lambda: scales[0], "rowwise": lambda: scales[row],
        "blockscale": lambda: scales[line, k // block.k], "mx": lambda: scales[row, k // 32],
    }[signature.quant.value]())  # fmt: skip


def dot(
    operands: MoeOperands, a: np.ndarray, a_scale: np.ndarray | None, row: int, of: Weights, e: int, n: int
) -> float:
    """Row `row` of A times row `n` of an expert's weights."""
    scales = None if of.scales is None else of.scales[e]
    return math.fsum(
        float(a[row, k]) * float(of.values[e, k, n])
        * scale_of(operands, a_scale, row, k, False) * scale_of(operands, scales, n, k, True)
        for k in range(a.shape[1])
    )  # fmt: skip


def act(signature: GemmSignature, x: float) -> float:
    word = signature.epilogue[0].value
    if word == "relu":
        return max(x, 0.0)
    if word == "silu":
        return x / (1 + math.exp(-x))
    return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def hidden_by_hand(operands: MoeOperands, token: int, slot: int, n: int) -> float:
    """One element of H from the formulas."""
    moe, of = operands.signature.moe, operands.w1
    assert of is not None
    e, w = int(operands.ids[token, slot]), float(operands.weights[token, slot])
    first = w if moe.weight_first else 1.0
    h = act(operands.signature, first * dot(operands, operands.a, operands.a_scale, token, of, e, n))
    return (
        h * first * dot(operands, operands.a, operands.a_scale, token, of, e, operands.size.n + n) if moe.gated else h
    )


@pytest.mark.parametrize("text", LAYERS)
def test_hidden_is_the_definition(text: str) -> None:
    operands = make_operands(parse_canonical(text), SIZE, seed=2)
    h = hidden(operands)
    for token, slot, n in ((0, 0, 0), (4, 1, 159), (2, 1, 130)):
        wanted = hidden_by_hand(operands, token, slot, n)
        assert h.exact[token * 2 + slot, n] == pytest.approx(wanted, rel=1e-11, abs=1e-11)


@pytest.mark.parametrize("text", LAYERS)
def test_a_layer_is_its_parts_with_quantisation_between(text: str) -> None:
    layer = parse_canonical(text)
    operands = make_operands(layer, SIZE, seed=3)
    between = quantize(hidden(operands), layer)
    gate_up, down = part_signatures(layer)
    first = expect(replace(operands, signature=gate_up, w2=None))
    assert np.array_equal(first.c, hidden(operands).exact)
    scale = between.scales
    if layer.quant.value == "per_tensor":
        assert scale is not None
        scale = scale.reshape(1)
    codes = replace(operands, signature=down, a=between.codes, a_scale=scale, w1=None)
    second, whole = expect(replace(codes, size=replace(SIZE, n=SIZE.k, k=SIZE.n))), expect(operands)
    assert np.allclose(second.c, whole.c, rtol=1e-12, atol=1e-12)
    assert (second.bound <= whole.bound).all()


def test_down_adds_slots_times_their_weights() -> None:
    signature = parse_canonical("moe_bf16_rcr_down")
    operands = make_operands(signature, MoeSize(3, 24, 32, Routing(5, 3)), seed=1)
    assert operands.w2 is not None
    found = expect(operands)
    for token, n in ((0, 0), (2, 23)):
        wanted = math.fsum(
            float(operands.weights[token, s])
            * dot(operands, operands.a, None, token * 3 + s, operands.w2, int(operands.ids[token, s]), n)
            for s in range(3)
        )
        assert found.c[token, n] == pytest.approx(wanted, rel=1e-12)
    assert (expect(operands, adds_in_c=True).bound > found.bound).all()


def test_no_token_goes_twice_to_an_expert() -> None:
    operands = make_operands(parse_canonical(LAYERS[0]), MoeSize(50, 16, 16, Routing(6, 4)), seed=0)
    assert all(len(set(row)) == 4 for row in operands.ids.tolist())


@pytest.mark.parametrize("text", LAYERS)
def test_what_float32_makes_of_h_is_within_its_bound(text: str) -> None:
    """Codes and scales made from an H with the errors that a kernel may have."""
    signature = parse_canonical(text)
    operands = make_operands(signature, SIZE, seed=4)
    h = hidden(operands)
    random = np.random.default_rng(0)
    wanted = quantize(h, signature).value
    for _ in range(3):
        off = h.exact + h.bound * random.uniform(-0.9, 0.9, h.exact.shape)
        moved = quantize(Known(decode(encode(off, DType.FP32)), np.zeros_like(off)), signature).value
        assert (np.abs(moved.exact - wanted.exact) <= wanted.bound * 1.000001 + 1e-30).all()


def test_a_wrong_scale_or_a_lost_slot_is_beyond_the_bound() -> None:
    for text in LAYERS:
        operands = make_operands(parse_canonical(text), SIZE, seed=6)
        expected = expect(operands)
        assert expected.excess(expected.c) == 0.0
        lost = operands.weights.copy()
        lost[:, 1] = 0
        assert expected.excess(expect(replace(operands, weights=lost)).c) > 1.0
        swapped = np.roll(operands.ids, 1, axis=0)
        assert expected.excess(expect(replace(operands, ids=swapped)).c) > 1.0
        if operands.w1 is not None and operands.w1.scales is not None:
            wrong = replace(operands, w1=replace(operands.w1, scales=operands.w1.scales * 2))
            assert expected.excess(expect(wrong).c) > 1.0


def test_parts_have_the_sizes_of_their_matrices() -> None:
    for part, rows, columns in ((MoePart.GATE_UP, 10, 160), (MoePart.DOWN, 5, 160), (MoePart.LAYER, 5, 128)):
        layer = parse_canonical(LAYERS[0])
        gated = part is not MoePart.DOWN
        moe = replace(layer.moe, part=part, gated=gated)
        signature = replace(layer, moe=moe, epilogue=layer.epilogue if gated else ())
        operands = make_operands(signature, SIZE, seed=0)
        assert expect(operands).c.shape == (rows, columns)
        assert operands.bytes_of_a().shape[-1] == SIZE.k * 2
