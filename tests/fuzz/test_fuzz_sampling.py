"""Drawn rows of a large result: the definition gives the same of them as of all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ckgen.families.common.comparison import Expected
from ckgen.families.fmha import reference as attention
from ckgen.families.fmha.operands import Lengths
from ckgen.families.fmha.operands import make_operands as attention_operands
from ckgen.families.fmha.signature import parse_signature as parse_attention
from ckgen.families.gemm.reference import expect, of_rows
from ckgen.families.gemm.reference_data import make_operands
from ckgen.families.gemm.signature import parse_canonical
from ckgen.families.moe import reference as moe
from ckgen.fuzz.sampling import Budget
from ckgen.model.fmha_shape import FmhaShape
from ckgen.model.groups import Routing
from ckgen.model.tuned_row import Shape

BUDGET = Budget(1 << 20, 1 << 10)
ROWS = np.array([0, 3, 4, 8])


def is_part(some: Expected, whole: Expected, rows: np.ndarray) -> bool:  # type: ignore[type-arg]
    """Up to the order in which float64 was summed; nothing is known less exactly."""
    of_all = Expected(np.take(whole.c, rows, axis=-2), np.take(whole.bound, rows, axis=-2))
    return np.allclose(some.c, of_all.c, rtol=1e-12) and bool((some.bound <= of_all.bound * (1 + 1e-9)).all())


@pytest.mark.parametrize(
    "name",
    [
        "gemm_bf16_rcr_batched", "gemm_fp32_rcr_bias", "gemm_int8_bf16_rcr_rowwise",
        "gemm_fp8_ocp_bf16_rcr_blockscale", "gemm_fp8_ocp_bf16_rcr_mx",
    ],
)  # fmt: skip
def test_rows_of_a_gemm(name: str) -> None:
    signature = parse_canonical(name)
    operands = make_operands(signature, Shape(2 if signature.batched else 0, 9, 40, 256), 3)
    assert is_part(expect(of_rows(operands, ROWS)), expect(operands), ROWS)


@pytest.mark.parametrize("name", ["moe_bf16_rcr_layer_gated_epi_silu", "moe_bf16_rcr_down"])
def test_tokens_of_experts(name: str) -> None:
    operands = moe.make_operands(parse_canonical(name), moe.MoeSize(9, 16, 24, Routing(5, 2)), 3)
    assert is_part(moe.expect(moe.of_tokens(operands, ROWS)), moe.expect(operands), ROWS)


def test_rows_of_a_token_lie_together() -> None:
    signature = parse_canonical("moe_bf16_rcr_gate_up_gated_epi_silu")
    operands = moe.make_operands(signature, moe.MoeSize(9, 16, 24, Routing(5, 2)), 3)
    rows = (ROWS[:, None] * 2 + np.arange(2)).reshape(-1)
    assert is_part(moe.expect(moe.of_tokens(operands, ROWS)), moe.expect(operands), rows)


def test_heads_of_attention() -> None:
    shape = FmhaShape(2, 4, 2, 8, 8, 16, 16)
    operands = attention_operands(parse_attention("bf16", None), shape, 3, Lengths((8, 8), (8, 8)))
    whole, some = attention.expect(operands), attention.expect(operands, planes={1, 6})
    for b, h in np.ndindex(2, 4):
        is_drawn = (b, h) in ((0, 1), (1, 2))
        assert np.isfinite(some.o.bound[b, :, h]).all() == is_drawn
        assert not is_drawn or np.array_equal(some.o.c[b, :, h], whole.o.c[b, :, h])


def test_what_fits_is_not_drawn_and_parts_are_equal() -> None:
    assert BUDGET.rows(16, 1 << 16, 1 << 6, 3) is None
    rows = BUDGET.rows(1000, 1 << 16, 1 << 6, 3)
    assert rows is not None and len(rows) == 16
    assert [row * 16 // 1000 for row in rows] == list(range(16))
    assert replace(BUDGET, products=0).rows(5, 1, 1, 3) is not None
