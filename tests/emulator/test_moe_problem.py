"""A part's data as `run_part` judges it: of almost every element one value is right, and what is wrong is told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from ckgen.families.common.storage import encode
from ckgen.families.gemm.signature import GemmSignature, parse_canonical
from ckgen.families.moe.exact_operands import exact_operands
from ckgen.families.moe.reference import MoeOperands, expect
from ckgen_emulator.moe.problem import PartProblem, part_data
from ckgen_emulator.production.model import Output, Values, compare

PROBLEM = PartProblem(40, 256, 512)
TILE = 16
PARTS = (
    "bf16_rcr_preshuffle_gate_up_gated_epi_silu",
    "bf16_rcr_preshuffle_down",
    "fp8_fnuz_bf16_rcr_rowwise_preshuffle_gate_up_gated_epi_gelu",
    "int8_bf16_rcr_per_tensor_preshuffle_gate_up_gated_epi_silu",
    "fp8_ocp_bf16_rcr_blockscale_preshuffle_gate_up_gated_epi_silu",
    "fp8_fnuz_bf16_rcr_blockscale_preshuffle_down_weightfirst",
    "fp4_bf16_rcr_mx_preshuffle_gate_up_gated_epi_silu",
    "fp4_bf16_rcr_mx_preshuffle_down",
)


def signature_of(text: str) -> GemmSignature:
    return parse_canonical(f"moe_{text}")


def wrong(output: Output, actual: Values) -> int:
    """Elements that are reported."""
    return compare(replace(output, actual=actual)).wrong


def planted(operands: MoeOperands, right: Values) -> Iterator[tuple[str, Values]]:
    """Wrong results by what is wrong."""
    a = operands.a.copy()
    a[:, -32:] = 0
    yield "a step of K is dropped", encode(expect(replace(operands, a=a)).c, operands.signature.c)
    others = ((operands.ids + 1) % operands.size.routing.experts).astype(np.int32)
    yield "experts are others", encode(expect(replace(operands, ids=others)).c, operands.signature.c)
    row, column = np.argwhere(right)[np.count_nonzero(right) // 2]
    tile, flipped = right.copy(), right.copy()
    tile[row // TILE * TILE :, column // TILE * TILE :][:TILE, :TILE] = 0
    flipped[row, column] = -flipped[row, column]
    yield "a tile is zero", tile
    yield "a sign is flipped", flipped
    yield "all is 1.004 times as much", encode(1.004 * right.astype(np.float64), operands.signature.c)


@pytest.mark.parametrize("text", PARTS)
def test_planted_errors_are_told(text: str) -> None:
    signature = signature_of(text)
    output = part_data(signature, 32, PROBLEM).output
    right = encode(np.asarray(output.expected), signature.c)
    assert wrong(output, right) == 0
    for what, found in planted(exact_operands(signature, PROBLEM.size, PROBLEM.seed), right):
        assert wrong(output, found), what


@pytest.mark.parametrize("text", PARTS)
def test_the_last_bit_of_almost_every_element_counts(text: str) -> None:
    """Half of gate_up's are zeros: their gates are far below 0."""
    signature = signature_of(text)
    output = part_data(signature, 32, PROBLEM).output
    off = encode(np.asarray(output.expected), signature.c)
    counts = off != 0
    off.view(np.uint16)[counts] ^= 1
    assert counts.mean() > 0.4 and wrong(output, off) > 0.98 * counts.sum()


def test_sorted_rows_name_every_token_and_choice_once() -> None:
    signature = signature_of(PARTS[0])
    data, operands = part_data(signature, 32, PROBLEM), exact_operands(signature, PROBLEM.size, PROBLEM.seed)
    token, choice = data.routing.ids & 0xFFFFFF, data.routing.ids >> 24
    real = token < PROBLEM.tokens
    assert len(token) % 32 == 0 and (choice[~real] == PROBLEM.top_k).all()
    assert sorted(zip(token[real], choice[real], strict=True)) == sorted(np.ndindex(PROBLEM.tokens, PROBLEM.top_k))
    experts = np.repeat(data.routing.block_experts, 32)
    assert (operands.ids[token[real], choice[real]] == experts[real]).all()
    assert (operands.weights[token[real], choice[real]] == data.routing.id_weights[real]).all()
