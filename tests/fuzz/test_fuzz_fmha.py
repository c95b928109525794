"""Cases of attention: what is drawn, and how it lies in memory."""

from __future__ import annotations

import ctypes
from dataclasses import replace

import numpy as np
import pytest
from fuzz_fmha import CASE, PLAIN

from ckgen.families.fmha.append_problem import appends
from ckgen.families.fmha.enums import FmhaBias, FmhaCorner, FmhaDropout, FmhaKv, FmhaKvLayout, FmhaQuant
from ckgen.families.fmha.signature import FmhaSignature, parse_canonical
from ckgen.fuzz.case import Schedule, parse_case
from ckgen.fuzz.draw import case_of
from ckgen.fuzz.fmha_memory import gathered, read, scattered, tensor
from ckgen.fuzz.fmha_sizes import Rows, dense_refusal, lengths_of, rows_of, shape_of
from ckgen.fuzz.space import Space
from ckgen.model.fmha_shape import FmhaShape


def test_every_option_and_edge_is_among_the_cases(attention: Space) -> None:
    cases = [case_of(attention, 3, index) for index in range(2500)]
    assert all(parse_case(case.text()) == case for case in cases)
    assert {unit.name for unit in attention.units_of(FmhaSignature)} <= {case.signature for case in cases}
    assert {0, 1, 63, 64, 65, 127, 128, 129, 2**31 - 1, -1} <= {case.m for case in cases} | {case.n for case in cases}
    assert {0, 1, 32, 64, 128, 256, 257} <= {case.k for case in cases}
    assert {case.corner for case in cases} == {*FmhaCorner} and {0, 17} <= {case.spare for case in cases}
    assert any(case.heads_q % max(case.heads_k, 1) for case in cases) and any(case.own_lengths for case in cases)
    assert {0, 1, 3, 128} <= {case.page_size for case in cases}
    assert any(case.window_left > 0 <= case.window_right for case in cases) and any(c.sink_tokens for c in cases)
    traits = [unit.signature.traits for unit in attention.units_of(FmhaSignature)]
    assert {one.bias for one in traits} == {*FmhaBias} and any(one.varlen and one.lse for one in traits)
    assert any(one.sink for one in traits) and any(one.softcap for one in traits)
    assert any(one.quant is FmhaQuant.PER_TENSOR for one in traits)
    assert any(one.dropout is FmhaDropout.PHILOX for one in traits)
    vectors = [one for one in traits if one.kv_layout is FmhaKvLayout.VECTORIZED and not appends(one)]
    assert {one.kv for one in vectors} == {FmhaKv.BLOCK_TABLE, FmhaKv.PAGE_LIST} and {*vectors} <= {
        parse_canonical(case.signature).traits for case in cases
    }
    assert any(one.varlen and one.quant is FmhaQuant.KV_BLOCKSCALE for one in traits)
    assert {case.k_batch for case in cases} > {1, 2, 9}


def test_schedules_are_drawn_with_every_option(attention: Space) -> None:
    drawn = [case_of(attention, 3, index) for index in range(1600)]
    cases = [case for case in drawn if case.schedule is not Schedule.NONE]
    assert all(parse_case(case.text()) == case for case in cases) and len(cases) > 250
    assert {case.schedule for case in cases} == {*Schedule} - {Schedule.NONE}
    assert {case.max_splits for case in cases} > {0, 1, 2} and {case.split_spare for case in cases} == {0, 1, 6}
    assert {case.split_cu_num for case in cases} >= {0, 1, 304} and {case.split_bound for case in cases} == {
        False,
        True,
    }
    assert {128, 4097} <= {case.split_n0 for case in cases} and {256, 100} <= {case.fixed_split_size for case in cases}
    assert not any(case.split_n0 or case.split_bound for case in set(drawn) - set(cases))

    signed = [(case, parse_canonical(case.signature)) for case in cases if case.n > 300 and 0 < case.batch < 100]
    traits = [signature.traits for _, signature in signed]
    lengths = [lengths_of(signature, case) for case, signature in signed]
    assert any(0 in found.k and max(found.k) > 300 for found in lengths) and any(0 in found.q for found in lengths)
    assert not any(appends(one) for one in traits)
    for name in ("varlen", "is_paged", "masked", "sink", "lse"):
        assert {getattr(one, name) for one in traits} == {False, True}, name
    assert any(case.window_left > 100 for case, _ in signed) and any(case.sink_tokens for case, _ in signed)


@pytest.mark.parametrize("head_first", [False, True])
@pytest.mark.parametrize("starts", [(), (0, 4, 4, 11)])
def test_strides_lead_to_every_element(starts: tuple[int, ...], head_first: bool) -> None:
    lengths = (3, 0, 6) if starts else (6, 6, 6)
    values = np.arange(3 * 6 * 2 * 5, dtype=np.float32).reshape(3, 6, 2, 5)
    rows = Rows(6, starts)
    stored = gathered(values, rows, lengths)
    one = tensor(stored, 3, head_first=head_first)
    for b, length in enumerate(lengths):
        for i in range(length):
            at = (i + starts[b]) * one.row if starts else i * one.row + b * one.batch
            for h, d in np.ndindex(2, 5):
                found = ctypes.c_float.from_address(one.address + 4 * (at + h * one.head + d)).value
                assert found == values[b, i, h, d]
    back = scattered(read(one, stored, head_first=head_first), rows, lengths, 6)
    counted = np.arange(6)[None, :] < np.array(lengths)[:, None]
    assert np.array_equal(back[counted], values[counted]) and not back[~counted].any()
    assert np.isnan(stored).sum() == (stored.shape[1] * stored.shape[0] - sum(lengths)) * 10


def test_lengths_are_the_cases_own() -> None:
    signature = parse_canonical(CASE.signature)
    lengths, shape = lengths_of(signature, CASE), shape_of(signature, CASE)
    assert max(lengths.q) == 33 and max(lengths.k) == 70 and len(set(lengths.q)) > 1
    assert rows_of(signature, CASE, lengths.q, 33).total == shape.total_q == sum(lengths.q) + 15
    many = replace(CASE, batch=70_000, m=1, n=1)
    assert shape_of(signature, many).total_q == sum(lengths_of(signature, many).q) + 5 * 70_000
    plain = parse_canonical(PLAIN.signature)
    assert lengths_of(plain, PLAIN).k == (70, 70, 70) and shape_of(plain, PLAIN).total_q == 0
    assert len(set(lengths_of(plain, replace(PLAIN, own_lengths=True)).k)) > 1
    assert shape_of(signature, replace(CASE, batch=2**31)).batch == 2**31


def test_pages_are_enough_for_every_sequence() -> None:
    signature = parse_canonical("fmha_bf16_masked_lse_blocktable")
    case = replace(PLAIN, page_size=16)
    shape, lengths = shape_of(signature, case), lengths_of(signature, case)
    assert (shape.page_size, shape.pages) == (16, 3 * 5 + 3) and len(set(lengths.k)) > 1
    assert dense_refusal(signature, replace(shape, pages=2**31 - 1, hdim_q=2**31)).startswith("K has")


def test_what_cannot_be_counted_is_named() -> None:
    most = 2**31 - 1
    shape = FmhaShape(most, 1, 1, 5, most, 64, 64)
    signature = parse_canonical("fmha_bf16")
    assert dense_refusal(signature, shape) == "K has more bits than 64-bit integers count"
    assert dense_refusal(signature, replace(shape, seqlen_q=most)).startswith("Q has")
    assert dense_refusal(signature, replace(shape, batch=9)) == ""
    biased = parse_canonical("fmha_bf16_elementwise")
    assert dense_refusal(biased, replace(shape, batch=2**10, seqlen_q=most)).startswith("bias has")
