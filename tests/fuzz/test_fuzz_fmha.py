"""Cases of attention: what is drawn, how it lies in memory, and what a run finds."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from ckgen.families.fmha.append_problem import appends
from ckgen.families.fmha.enums import FmhaBias, FmhaCorner, FmhaDropout, FmhaKv, FmhaKvLayout, FmhaQuant
from ckgen.families.fmha.reference import Attention
from ckgen.families.fmha.signature import parse_canonical
from ckgen.fuzz import fmha as attention
from ckgen.fuzz.case import Case, Data, parse_case
from ckgen.fuzz.check import Checker
from ckgen.fuzz.decide import decide
from ckgen.fuzz.draw import case_of
from ckgen.fuzz.fmha_memory import gathered, read, scattered, tensor
from ckgen.fuzz.fmha_sizes import Rows, dense_refusal, lengths_of, rows_of, shape_of
from ckgen.fuzz.outcome import FailureKind, Fate
from ckgen.fuzz.prepare import space_of
from ckgen.fuzz.run import Subject
from ckgen.fuzz.shrink import shrink
from ckgen.fuzz.space import Space
from ckgen.fuzz.work import work_of
from ckgen.model.fmha_shape import FmhaShape
from ckgen.runtime import Dispatcher, Plan, RuntimeFailure, RuntimeLibrary
from ckgen.runtime.fmha import FmhaArgsStruct
from ckgen.runtime.fmha_split import FmhaSplitProblem

CASE = Case(
    "fmha_bf16_varlen_masked_lse", "gfx942:304", m=33, n=70, k=64, hdim_v=64, batch=3, heads_q=4, heads_k=2, seed=6,
    spare=5, gap_c=8,
)  # fmt: skip
CPU = "x86_64_v3:2"
PLAIN = replace(CASE, signature="fmha_fp32_masked_lse", target=CPU, spare=0)
APPEND = {"target": CPU, "m": 5, "new": 5, "rotary_dim": 32, "page_size": 16, "gap_a": 1, "gap_c": 3, "spare": 0}


@pytest.fixture(scope="module")
def space(tmp_path_factory: pytest.TempPathFactory) -> Space:
    return space_of(("fmha",), tmp_path_factory.mktemp("space"))[0]


def test_every_option_and_edge_is_among_the_cases(space: Space) -> None:
    cases = [case_of(space, 3, index) for index in range(1500)]
    assert all(parse_case(case.text()) == case for case in cases)
    assert {unit.name for unit in space.fmha} <= {case.signature for case in cases}
    assert {0, 1, 63, 64, 65, 127, 128, 129, 2**31 - 1, -1} <= {case.m for case in cases} | {case.n for case in cases}
    assert {0, 1, 32, 64, 128, 256, 257} <= {case.k for case in cases}
    assert {case.corner for case in cases} == {*FmhaCorner} and {0, 17} <= {case.spare for case in cases}
    assert any(case.heads_q % max(case.heads_k, 1) for case in cases) and any(case.own_lengths for case in cases)
    assert {0, 1, 3, 128} <= {case.page_size for case in cases}
    assert any(case.window_left > 0 <= case.window_right for case in cases) and any(c.sink_tokens for c in cases)
    traits = [unit.signature.traits for unit in space.fmha]
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


@pytest.fixture(scope="module")
def checker(subject: Subject) -> Checker:
    return Checker(subject.space, RuntimeLibrary(subject.library), subject.name)


@pytest.mark.cpp
@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "fate"),
    [
        ({}, Fate.RAN),
        ({"head_first": 1, "gap_a": 3, "gap_b": 1}, Fate.RAN),
        (
            {"signature": "fmha_fp32_masked_lse", "own_lengths": 1, "target": CPU, "corner": "topleft"},
            Fate.RAN,
        ),
        ({"signature": "fmha_fp16_masked_lse_dropout", "gap_d": 1, "window_left": 3}, Fate.RAN),
        ({"signature": "fmha_bf16_masked_elementwise", "gap_d": 8, "head_first": 1}, Fate.RAN),
        ({"signature": "fmha_bf16_masked_alibi"}, Fate.RAN),
        ({"signature": "fmha_fp8_bf16_masked_pertensor", "data": "extreme"}, Fate.RAN),
        ({"signature": "fmha_bf16_masked_softcap", "m": 1}, Fate.RAN),
        ({"signature": "fmha_bf16_fp8_ocp_bf16_varlen_masked_lse_pertensor", "target": CPU}, Fate.RAN),
        ({"signature": "fmha_fp8_ocp_bf16_vcolumn_masked_lse_blockscale", "target": CPU, "n": 200}, Fate.RAN),
        ({"signature": "fmha_fp16_masked_elementwise_sink_lse_randval", "target": CPU, "gap_d": 1}, Fate.RAN),
        ({"signature": "fmha_bf16_masked_lse_blocktable", "target": CPU, "page_size": 16, "gap_b": 3}, Fate.RAN),
        ({"signature": "fmha_fp32_masked_sink_lse_pagelist", "target": CPU, "page_size": 3, "head_first": 1}, Fate.RAN),
        (
            {"signature": "fmha_bf16_varlen_masked_pagelist_vectorized", "target": CPU, "page_size": 16, "gap_b": 9},
            Fate.RAN,
        ),
        (
            {
                "signature": "fmha_bf16_fp8_fnuz_bf16_varlen_masked_kvblockscale_blocktable",
                "target": CPU,
                "page_size": 3,
            },
            Fate.RAN,
        ),
        (
            {"signature": "fmha_bf16_varlen_masked_pagelist_vectorized", "target": CPU, "page_size": 12},
            Fate.REFUSED,
        ),
        ({"signature": "fmha_bf16_masked_lse_blocktable", "target": CPU}, Fate.REFUSED),
        ({**APPEND, "signature": "fmha_bf16_append_blocktable_rope_half"}, Fate.RAN),
        ({**APPEND, "signature": "fmha_bf16_append_varlen_rope_interleaved", "spare": 2, "in_place": 1}, Fate.RAN),
        ({**APPEND, "signature": "fmha_fp32_append_varlen_vcolumn_rope_half", "head_first": 1, "gap_b": 3}, Fate.RAN),
        (
            {
                **APPEND,
                "signature": "fmha_fp16_fp8_fnuz_fp16_append_kvblockscale_pagelist_vectorized_rope_half",
                "hdim_v": 20,
            },
            Fate.RAN,
        ),
        ({**APPEND, "signature": "fmha_fp16_append_vcolumn", "m": 0, "new": 0}, Fate.RAN),
        ({**APPEND, "signature": "fmha_bf16_append_rope_half", "new": 71}, Fate.REFUSED),
        ({**APPEND, "signature": "fmha_bf16_append_rope_half", "rotary_dim": 65}, Fate.REFUSED),
        ({"n": 0}, Fate.RAN),
        ({"m": 0}, Fate.RAN),
        ({"m": 20_000, "n": 20_000}, Fate.PLANNED),
        ({**APPEND, "signature": "fmha_bf16_append_blocktable", "batch": 257, "page_size": 2048, "m": 0}, Fate.PLANNED),
        ({"heads_k": 3}, Fate.REFUSED),
        ({"k": 257}, Fate.REFUSED),
        ({"batch": 2**31 - 1, "m": 2**31 - 1}, Fate.REFUSED),
        ({"signature": "fmha_bf16_masked_lse_blocktable"}, Fate.REFUSED),
        ({"signature": "fmha_bf16_softcap_alibi"}, Fate.REFUSED),
    ],
)
def test_each_fate(checker: Checker, changes: dict[str, object], fate: Fate) -> None:
    words = CASE.text() + "".join(f" {name}={value}" for name, value in changes.items())
    outcome = checker.check(parse_case(words))
    assert outcome.fate is fate and outcome.kind is None, outcome


@pytest.mark.cpp
@pytest.mark.slow
@pytest.mark.parametrize("words", ["varlen_masked_blocktable", "varlen_masked_pagelist_vectorized"])
def test_a_planners_schedule_runs_on_a_cpu(checker: Checker, words: str) -> None:
    case = replace(PLAIN, signature=f"fmha_bf16_{words}", m=3, n=800, page_size=16, seed=2)
    signature, library = parse_canonical(case.signature), checker.library
    decision = decide(checker.space, case, signature)
    work = work_of(case, decision)
    given, lengths = work.given(library, 0, 1), lengths_of(signature, case)
    assert isinstance(work, attention.FmhaWork) and isinstance(given, attention.FmhaGiven)
    shape = work.decision.query.shape
    made = library.fmha_split.plan(
        FmhaSplitProblem(
            case.heads_q, case.heads_k, case.hdim_v, m0=16, n0=64, cu_num=40, merge_heads=True, page_size=16,
            masked=True, window_left=case.window_left, window_right=case.window_right,
        ),
        lengths.q,
        lengths.k,
    )  # fmt: skip
    assert made.sizes.max_splits > 1
    shape = replace(
        shape, split_items=len(made.items), split_combines=len(made.combine_items), split_m0=16, split_n0=64,
        split_rows=made.sizes.partial_rows, split_merged=True,
    )  # fmt: skip
    plan = checker.dispatcher.plan(library.fmha_problem(case.signature, shape), library.simulated(case.target))
    given.args.split_items, given.args.split_combines = made.items.ctypes.data, made.combine_items.ctypes.data
    made.combine_items["partial_row"] += made.sizes.partial_rows
    with pytest.raises(RuntimeFailure, match=r"split.combine_items\[0\]: its partial rows"):
        checker.dispatcher.run(plan, given.args)
    made.combine_items["partial_row"] -= made.sizes.partial_rows
    checker.dispatcher.run(plan, given.args)
    assert given.wrong() == "" and given.trouble() == ""


@pytest.mark.cpp
@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "kind", "said"),
    [
        (lambda args: setattr(args, "scale", args.scale * 1.1), FailureKind.RESULT, "O["),
        (lambda args: setattr(args, "k_strides", args.q_strides), FailureKind.RESULT, "O["),
        (lambda args: setattr(args, "v", args.k), FailureKind.RESULT, "O["),
        (lambda args: _write(args.lse), FailureKind.RESULT, "lse["),
        (lambda args: _write(args.o + 2 * (args.o_strides.row - 1)), FailureKind.MEMORY, "O: byte"),
        (lambda args: _write(args.o - 2), FailureKind.MEMORY, "O: byte -2"),
        (lambda args: _write(args.q), FailureKind.MEMORY, "Q: its elements"),
        (lambda args: _write(args.o + 2 * 33 * args.o_strides.row), FailureKind.MEMORY, "a row that does not count"),
    ],
)
def test_a_kernel_that_errs_is_found(
    checker: Checker, monkeypatch: pytest.MonkeyPatch, change: Callable[[Any], None], kind: FailureKind, said: str
) -> None:
    run = Dispatcher.run
    before = said == "O[" and kind is FailureKind.RESULT

    def and_an_error(dispatcher: Dispatcher, plan: Plan, args: FmhaArgsStruct, workspace: int | None = None) -> None:
        if before:
            change(args)
        run(dispatcher, plan, args, workspace)
        if not before:
            change(args)

    monkeypatch.setattr(Dispatcher, "run", and_an_error)
    outcome = checker.check(replace(CASE, seed=first_whole()))
    assert outcome.kind is kind and said in outcome.what, outcome


@pytest.mark.cpp
@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "before", "kind", "said"),
    [
        (lambda args: setattr(args, "rotary_cos", args.rotary_sin), True, FailureKind.RESULT, "K["),
        (lambda args: setattr(args, "v_new", args.k_new), True, FailureKind.RESULT, "V["),
        (lambda args: _write(args.o), False, FailureKind.RESULT, "O["),
        (lambda args: _write_free_page(args), False, FailureKind.MEMORY, "K: a row that is not new"),
        (lambda args: _write(args.v_cache - 2), False, FailureKind.MEMORY, "V: byte -2"),
        (lambda args: _write(args.k_new), False, FailureKind.MEMORY, "k_new: its elements"),
    ],
)
def test_an_append_that_errs_is_found(
    checker: Checker,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Any], None],
    before: bool,
    kind: FailureKind,
    said: str,
) -> None:
    run = Dispatcher.run

    def and_an_error(dispatcher: Dispatcher, plan: Plan, args: FmhaArgsStruct, workspace: int | None = None) -> None:
        if before:
            change(args)
        run(dispatcher, plan, args, workspace)
        if not before:
            change(args)

    monkeypatch.setattr(Dispatcher, "run", and_an_error)
    words = {**APPEND, "signature": "fmha_bf16_append_blocktable_rope_half"}
    case = parse_case(CASE.text() + "".join(f" {name}={value}" for name, value in words.items()))
    outcome = checker.check(case)
    assert outcome.kind is kind and said in outcome.what, outcome


@pytest.mark.cpp
@pytest.mark.slow
def test_a_wrong_result_is_made_small(checker: Checker, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = attention.expect

    def wrong_behind_20(operands: Any) -> Attention:
        found = exact(operands)
        found.o.c[:, 20:] += 1.0
        return found

    monkeypatch.setattr(attention, "expect", wrong_behind_20)
    small, outcome = shrink(replace(PLAIN, data=Data.EXTREME), FailureKind.RESULT, checker.check)
    assert outcome is not None and outcome.what.startswith("O[0, 20, 0]")
    assert (small.m, small.batch, small.heads_q, small.head_first, small.gap_c) == (21, 1, 1, False, 0)


def first_whole() -> int:
    """A seed at which sequence 0 has all 33 rows."""
    signature = parse_canonical(CASE.signature)
    return next(seed for seed in range(99) if lengths_of(signature, replace(CASE, seed=seed)).q[0] == 33)


def _write_free_page(args: FmhaArgsStruct) -> None:
    """A page that no sequence has."""
    table = (ctypes.c_int32 * (3 * args.block_table_stride)).from_address(args.block_table)
    page = next(number for number in range(99) if number not in set(table))
    _write(args.k_cache + 2 * page * args.k_strides.batch)


def _write(address: int) -> None:
    ctypes.c_uint16.from_address(address).value ^= 0x4411
