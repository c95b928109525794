from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from fmha_kernels import Faults, run

from ckgen.families.common.storage import decode, encode
from ckgen.families.fmha.enums import FmhaBias, FmhaCorner, FmhaQuant
from ckgen.families.fmha.operands import FmhaOperands, Lengths, make_operands
from ckgen.families.fmha.reference import expect
from ckgen.families.fmha.signature import parse_canonical
from ckgen.model.dtype import DType
from ckgen.model.fmha_shape import FmhaShape

SIGNATURES = [
    "fp32_lse",
    "fp16_varlen_masked_lse",
    "bf16_masked_sink_lse",
    "fp16_vcolumn_masked_alibi_lse",
    "fp32_varlen_elementwise_sink_lse_dropout",
    "bf16_softcap_lse_randval",
    "fp8_ocp_bf16_masked_lse_pertensor",
    "fp8_fnuz_fp32_lse_blockscale",
    "bf16_fp8_ocp_bf16_masked_lse_blockscale",
    "fp16_masked_lse_blocktable",
    "bf16_fp8_fnuz_bf16_lse_kvblockscale_pagelist_vectorized",
    "fp8_ocp_fp16_varlen_masked_lse_kvblockscale_blocktable",
]
MASKS = [(FmhaCorner.BOTTOM_RIGHT, -1, 0, 0), (FmhaCorner.TOP_LEFT, 5, 3, 2), (FmhaCorner.BOTTOM_RIGHT, 4, -1, 0)]


def made(text: str, seed: int = 0) -> FmhaOperands:
    corner, left, right, sink = MASKS[seed % len(MASKS)]
    shape = FmhaShape(
        2, 4, 2, 23, 37, 24, 16, corner, left, right, sink,
        page_size=8 if "table" in text or "page" in text else 0, pages=12,
    )  # fmt: skip
    if "blockscale" in text and "kv" not in text:
        shape = replace(shape, seqlen_q=131, seqlen_k=140, heads_q=2)
    return make_operands(parse_canonical(f"fmha_{text}"), shape, seed)


def by_hand(operands: FmhaOperands, b: int, h: int, i: int) -> tuple[list[float], float]:
    """One row of O and its lse from the formulas, element by element."""
    shape, traits, descales = operands.shape, operands.signature.traits, operands.descales
    g, queries, keys = h * shape.heads_k // shape.heads_q, operands.lengths.q[b], operands.lengths.k[b]
    shift = keys - queries if shape.corner is FmhaCorner.BOTTOM_RIGHT else 0

    def of(scales: np.ndarray | None, head: int, row: int, is_q: bool = False) -> float:
        if scales is None:
            return 1.0
        if traits.quant is FmhaQuant.BLOCKSCALE:
            return float(scales[b, head, row // 128])
        if traits.quant is FmhaQuant.KV_BLOCKSCALE and not is_q:
            return float(scales[operands.pages[b][row // shape.page_size], head])
        return float(scales[0])

    def score(j: int) -> float:
        s = math.fsum(float(operands.q[b, i, h, d] * operands.k[b, j, g, d]) for d in range(shape.hdim_q))
        s *= operands.scale * of(descales.q, h, i, is_q=True) * of(descales.k, g, j)
        if traits.softcap:
            s = operands.softcap * math.tanh(s / operands.softcap)
        if operands.bias is not None:
            bias = operands.bias[b % operands.bias.shape[0], h % operands.bias.shape[1]]
            s += float(bias[i, j]) if traits.bias is FmhaBias.ELEMENTWISE else -bias * abs(i + keys - queries - j)
        return s

    def sees(j: int) -> bool:
        left, right = shape.window_left, shape.window_right
        ends = right < 0 or j <= i + shift + right
        return not traits.masked or (ends and (left < 0 or j >= i + shift - left or j < shape.sink_tokens))

    scores = {j: score(j) for j in range(keys) if sees(j)}
    total = math.fsum([math.exp(s) for s in scores.values()] + ([math.exp(operands.sink[h])] if traits.sink else []))
    if total == 0:
        return [0.0] * shape.hdim_v, -math.inf
    kept = np.ones((queries, keys))
    if operands.dropout is not None:
        kept = operands.dropout.keeps(b, h, shape.heads_q, (queries, keys)) / (1 - operands.dropout.p_drop)
    o = [
        math.fsum(
            math.exp(s) / total * kept[i, j] * operands.v[b, j, g, d] * of(descales.v, g, j) for j, s in scores.items()
        )
        for d in range(shape.hdim_v)
    ]
    return o, math.log(total)


@pytest.mark.parametrize("text", SIGNATURES)
def test_it_is_the_definition(text: str) -> None:
    for seed in range(len(MASKS)):
        operands = made(text, seed)
        found = expect(operands)
        for b, length in enumerate(operands.lengths.q):
            for h, i in ((0, 0), (operands.shape.heads_q - 1, length - 1), (1, length // 2)):
                if length == 0:
                    continue
                o, lse = by_hand(operands, b, h, i)
                nearest = decode(encode(np.array(o), operands.signature.c))
                assert (np.abs(nearest - found.o.c[b, i, h]) <= found.o.bound[b, i, h]).all()
                if (
                    operands.signature.a is operands.signature.c is DType.FP32
                ):  # the middle of what is right is then near
                    assert found.o.c[b, i, h] == pytest.approx(o, rel=2.0**-22, abs=1e-13)
                assert found.lse.c[b, h, i] == pytest.approx(lse, rel=1e-12)


@pytest.mark.parametrize("truncates", [False, True])
@pytest.mark.parametrize("text", SIGNATURES)
def test_kernels_stay_within_the_bound(text: str, truncates: bool) -> None:
    for seed in range(len(MASKS)):
        operands = made(text, seed)
        found = expect(operands, truncates)
        for tile in (7, 32):
            o, lse = run(operands, tile, truncates)
            assert 0 < found.o.excess(o) <= 1 and 0 < found.excess_of_lse(lse) < 1


@pytest.mark.parametrize("text", ["fp16_masked_lse", "fp8_ocp_bf16_masked_lse_pertensor"])
def test_values_that_no_row_sees_do_not_loosen_the_bound(text: str) -> None:
    operands = made(text, 1)  # top left, 3 to the right: 23 rows see none of the keys behind the 26th
    huge = np.where(np.arange(37)[None, :, None, None] < 26, operands.v, 200.0)
    one, other = expect(operands).o, expect(replace(operands, v=huge)).o
    assert np.array_equal(one.c, other.c) and np.array_equal(one.bound, other.bound)


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("fp32_lse", Faults(without="scale")),
        ("fp32_lse", Faults(without="last")),
        ("fp32_lse", Faults(without="rescaling")),
        ("fp32_lse", Faults(kv_head=1)),
        ("fp16_varlen_masked_lse", Faults(right=1)),
        ("fp16_varlen_masked_lse", Faults(right=-1)),
        ("fp16_varlen_masked_lse", Faults(of_batch_0="lengths")),
        ("bf16_masked_sink_lse", Faults(without="sink")),
        ("bf16_masked_sink_lse", Faults(left=1)),
        ("bf16_masked_sink_lse", Faults(sink_tokens=1)),
        ("fp16_vcolumn_masked_alibi_lse", Faults(without="bias")),
        ("fp32_varlen_elementwise_sink_lse_dropout", Faults(without="dropout")),
        ("fp32_varlen_elementwise_sink_lse_dropout", Faults(without="bias")),
        ("bf16_softcap_lse_randval", Faults(without="softcap")),
        ("bf16_softcap_lse_randval", Faults(without="dropout")),
        *(("fp8_fnuz_fp32_lse_blockscale", Faults(without=f"{x}_descale")) for x in "qkv"),
        *(("bf16_fp8_fnuz_bf16_lse_kvblockscale_pagelist_vectorized", Faults(without=f"{x}_descale")) for x in "kv"),
    ],
)
def test_mistakes_are_seen(text: str, faults: Faults) -> None:
    operands = made(text, seed=1)
    found = expect(operands)
    o, lse = run(operands, faults=faults)
    assert max(found.o.excess(o), found.excess_of_lse(lse)) > 1


def test_the_ends_of_what_is_right_are_values_of_the_type() -> None:
    found = expect(made("bf16_masked_sink_lse", seed=1)).o
    finite = np.isfinite(found.bound) & (found.c != 0)
    for end in (found.c[finite] - found.bound[finite], found.c[finite] + found.bound[finite]):
        assert len(end) > 1000 and (decode(encode(end, DType.BF16)) == end).all()


def test_rows_that_see_nothing_are_exactly_zero() -> None:
    shape = FmhaShape(1, 2, 1, 9, 4, 8, 8, FmhaCorner.BOTTOM_RIGHT)
    operands = make_operands(parse_canonical("fmha_fp32_masked_lse"), shape, 3)
    found = expect(operands)
    o, lse = run(operands)
    assert found.o.excess(o) < 1 and found.excess_of_lse(lse) < 1
    assert np.isneginf(found.lse.c[0, :, :5]).all() and np.isfinite(found.lse.c[0, :, 5:]).all()
    o[0, 4, 1, 7] = 1e-30
    assert found.o.excess(o) > 1
    lse[0, 1, 4] = -1e30
    assert found.excess_of_lse(lse) == math.inf


@pytest.mark.parametrize("lengths", [Lengths((0, 0), (5, 0)), Lengths((3, 3), (0, 0)), Lengths((3, 0), (0, 5))])
def test_sequences_may_be_empty(lengths: Lengths) -> None:
    shape = FmhaShape(2, 2, 2, 3, 5, 8, 8)
    operands = make_operands(parse_canonical("fmha_bf16_varlen_masked_sink_lse"), shape, 0, lengths)
    found = expect(operands)
    assert operands.shape.total_q == sum(lengths.q)
    for b, h in np.ndindex(2, 2):
        if lengths.k[b] == 0:
            assert not found.o.c[b].any()
            assert found.lse.c[b, h, : lengths.q[b]] == pytest.approx(operands.sink[h])  # type: ignore[index]
    assert np.isinf(found.o.bound[np.arange(3)[None, :] >= np.array(lengths.q)[:, None]]).all()


def test_a_bound_is_free_only_where_o_cannot_hold_the_value() -> None:
    shape = FmhaShape(1, 1, 1, 4, 4, 8, 8)
    operands = make_operands(parse_canonical("fmha_fp16"), shape, 0)
    assert np.isfinite(expect(operands).o.bound).all()
    assert np.isinf(expect(replace(operands, v=operands.v * 0 + 65504.0)).o.bound).all()


@pytest.mark.parametrize(("score", "may_be_lost"), [(-87.2, False), (-87.6, True)])
def test_only_weights_below_the_least_normal_number_may_be_lost(score: float, may_be_lost: bool) -> None:
    shape = FmhaShape(1, 1, 1, 1, 2, 1, 1)
    operands = make_operands(parse_canonical("fmha_fp32"), shape, 0)
    keys, values = np.array([0.0, score]), np.array([0.0, 1.0])
    operands = replace(operands, q=np.ones((1, 1, 1, 1)), k=keys.reshape(1, 2, 1, 1), v=values.reshape(1, 2, 1, 1))
    found = expect(replace(operands, scale=1.0)).o
    assert 1e-39 < found.c[0, 0, 0, 0] < 1e-37 and (found.excess(np.zeros((1, 1, 1, 1))) <= 1) == may_be_lost
