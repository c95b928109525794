"""Data of attention of which only one result is right: kernels of any order and split give it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from fmha_kernels import run, run_split
from test_fmha_reference import MASKS, SIGNATURES

from ckgen.families.common.storage import decode, encode
from ckgen.families.fmha.append_operands import appended
from ckgen.families.fmha.exact_append import exact_append_operands
from ckgen.families.fmha.exact_operands import exact_operands
from ckgen.families.fmha.operands import FmhaOperands
from ckgen.families.fmha.reference import Attention, expect
from ckgen.families.fmha.signature import parse_canonical
from ckgen.fuzz.fmha import wrong_attention
from ckgen.model.fmha_shape import FmhaShape

MORE = [
    "bf16_varlen_masked_alibi_sink_lse_dropout",
    "fp16_fp8_fnuz_fp16_masked_alibi_lse_blockscale",
    "fp32_masked_softcap_sink_lse_randval",
    "bf8_fnuz_varlen_masked_lse_pertensor_blocktable_vectorized",
    "fp8_fnuz_fp32_varlen_masked_elementwise_lse_blockscale",
]
CASES = [(text, seed) for text in (*SIGNATURES, *MORE) for seed in range(2)]


def made(text: str, seed: int) -> FmhaOperands:
    corner, left, right, sink = MASKS[seed]
    paged = "table" in text or "page" in text
    shape = FmhaShape(
        2, 4, 2, 9, 85, (64, 24)[seed], 8, corner, left, right, sink, page_size=8 * paged, pages=40 * paged,
    )  # fmt: skip
    if "blockscale" in text and "kv" not in text:
        shape = replace(shape, seqlen_q=131, seqlen_k=140, heads_q=2)
    return exact_operands(parse_canonical(f"fmha_{text}"), shape, seed)


def judged(expected: Attention, found: tuple[np.ndarray, np.ndarray]) -> str:
    free = np.isinf(expected.o.bound)
    return wrong_attention(expected, np.where(free, 0.0, found[0]).astype(np.float32), found[1])


@pytest.mark.parametrize(("text", "seed"), CASES)
def test_kernels_of_any_order_and_split_are_right(text: str, seed: int) -> None:
    operands, random = made(text, seed), np.random.default_rng(seed)
    for values, dtype in ((operands.q, operands.signature.a), (operands.k, operands.signature.b)):
        assert np.array_equal(decode(encode(values, dtype)), values)
    expected = expect(operands)
    for tile, splits in ((7, 3), (32, 2)):
        assert not judged(expected, run(operands, tile))
        assert not judged(expected, run_split(operands, tile, splits, random))
    assert not judged(expect(operands, truncates=True), run(operands, 16, True))


@pytest.mark.parametrize(
    "text", ["bf16_masked_sink_lse", "fp8_ocp_bf16_masked_lse_pertensor", "bf16_softcap_lse_randval"]
)
def test_o_is_known_to_the_last_bit(text: str) -> None:
    expected = expect(made(text, 0)).o
    assert (expected.bound == 0)[np.isfinite(expected.bound)].mean() > 0.97


def test_rows_of_one_key_are_exact_in_fp32_and_where_p_is_cut() -> None:
    for text, truncates in (("fp32_lse", False), ("fp16_varlen_masked_lse", True)):
        expected = expect(made(text, 0), truncates).o
        assert (expected.bound == 0)[np.isfinite(expected.bound)].mean() > 0.3


@pytest.mark.parametrize("text", [
    "fp32_append_varlen_vcolumn_rope_half", "bf16_append_varlen_rope_interleaved",
    "bf16_fp8_ocp_bf16_append_varlen_pertensor_rope_half", "bf16_bf8_ocp_bf16_append_kvblockscale_blocktable",
])  # fmt: skip
def test_what_is_appended_is_a_value_of_its_type(text: str) -> None:
    paged = "table" in text
    shape = FmhaShape(2, 2, 2, 5, 30, 32, 16, page_size=8 * paged, pages=9 * paged, seqlen_new=5, rotary_dim=16)
    operands = exact_append_operands(parse_canonical(f"fmha_{text}"), shape, 1, (3, 9), (5, 5))
    found = appended(operands)
    for of, dtype in (
        (found.q, operands.signature.c),
        (found.k, operands.signature.b),
        (found.v, operands.signature.b),
    ):
        counts = np.isfinite(of.bound)
        assert (of.bound[counts] == 0).all() and np.array_equal(decode(encode(of.c[counts], dtype)), of.c[counts])


def test_a_row_that_sees_no_key_has_an_o_of_nothing() -> None:
    shape = FmhaShape(2, 4, 2, 9, 5, 64, 8)  # causal at the bottom right: the first four rows see nothing
    expected = expect(exact_operands(parse_canonical("fmha_bf16_masked_lse"), shape, 0))
    blind = np.isneginf(expected.lse.c).swapaxes(1, 2) & np.isfinite(expected.o.bound).all(axis=-1)
    assert blind.sum() == 2 * 4 * 4 and (expected.o.c[blind] == 0).all()
    assert (expected.o.bound[blind] < 2.0**-133).all()  # half of the least that bf16 holds


@pytest.mark.parametrize(("text", "step"), [("fp16_lse", 2.0**-10), ("bf16_lse", 2.0**-7)])
def test_a_cut_weight_that_should_be_a_power_of_two_is_a_step_off(text: str, step: float) -> None:
    """Of 16 bits: what is less than a power of two by nothing at all is cut to the value below, and then O is cut."""
    found = expect(made(text, 0), truncates=True).o
    counts = np.isfinite(found.bound)
    of_o_alone = np.abs(found.c[counts]) * step
    assert (found.bound[counts] > 1.01 * of_o_alone).mean() > 0.2
