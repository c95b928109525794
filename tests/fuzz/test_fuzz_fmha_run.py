"""Cases of attention that run: their statuses, and what a kernel that errs is found by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from fuzz_fmha import CASE, CPU, PLAIN, changed, err, write

from ckgen.families.fmha.reference import Attention
from ckgen.families.fmha.signature import parse_canonical
from ckgen.fuzz import fmha as attention
from ckgen.fuzz.case import Data
from ckgen.fuzz.check import Checker
from ckgen.fuzz.fmha_sizes import lengths_of
from ckgen.fuzz.outcome import CaseStatus, FailureKind
from ckgen.fuzz.shrink import shrink

pytestmark = [pytest.mark.cpp, pytest.mark.slow]


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({}, CaseStatus.RAN),
        ({"head_first": 1, "gap_a": 3, "gap_b": 1}, CaseStatus.RAN),
        (
            {"signature": "fmha_fp32_masked_lse", "own_lengths": 1, "target": CPU, "corner": "topleft"},
            CaseStatus.RAN,
        ),
        ({"signature": "fmha_fp16_masked_lse_dropout", "gap_d": 1, "window_left": 3}, CaseStatus.RAN),
        ({"signature": "fmha_bf16_masked_elementwise", "gap_d": 8, "head_first": 1}, CaseStatus.RAN),
        ({"signature": "fmha_bf16_masked_alibi"}, CaseStatus.RAN),
        ({"signature": "fmha_fp8_bf16_masked_pertensor", "data": "extreme"}, CaseStatus.RAN),
        ({"signature": "fmha_bf16_masked_softcap", "m": 1}, CaseStatus.RAN),
        ({"signature": "fmha_bf16_fp8_ocp_bf16_varlen_masked_lse_pertensor", "target": CPU}, CaseStatus.RAN),
        ({"signature": "fmha_fp8_ocp_bf16_vcolumn_masked_lse_blockscale", "target": CPU, "n": 200}, CaseStatus.RAN),
        ({"signature": "fmha_fp16_masked_elementwise_sink_lse_randval", "target": CPU, "gap_d": 1}, CaseStatus.RAN),
        ({"signature": "fmha_bf16_masked_lse_blocktable", "target": CPU, "page_size": 16, "gap_b": 3}, CaseStatus.RAN),
        (
            {"signature": "fmha_fp32_masked_sink_lse_pagelist", "target": CPU, "page_size": 3, "head_first": 1},
            CaseStatus.RAN,
        ),
        (
            {"signature": "fmha_bf16_varlen_masked_pagelist_vectorized", "target": CPU, "page_size": 16, "gap_b": 9},
            CaseStatus.RAN,
        ),
        (
            {
                "signature": "fmha_bf16_fp8_fnuz_bf16_varlen_masked_kvblockscale_blocktable",
                "target": CPU,
                "page_size": 3,
            },
            CaseStatus.RAN,
        ),
        (
            {"signature": "fmha_bf16_varlen_masked_pagelist_vectorized", "target": CPU, "page_size": 12},
            CaseStatus.REFUSED,
        ),
        ({"signature": "fmha_bf16_masked_lse_blocktable", "target": CPU}, CaseStatus.REFUSED),
        ({"n": 0}, CaseStatus.RAN),
        ({"m": 0}, CaseStatus.RAN),
        ({"m": 20_000, "n": 20_000}, CaseStatus.PLANNED),
        ({"heads_k": 3}, CaseStatus.REFUSED),
        ({"k": 257}, CaseStatus.REFUSED),
        ({"batch": 2**31 - 1, "m": 2**31 - 1}, CaseStatus.REFUSED),
        ({"signature": "fmha_bf16_masked_lse_blocktable"}, CaseStatus.REFUSED),
        ({"signature": "fmha_bf16_softcap_alibi"}, CaseStatus.REFUSED),
    ],
)
def test_each_status(checker: Checker, changes: dict[str, object], status: CaseStatus) -> None:
    outcome = checker.check(changed(CASE, changes))
    assert outcome.status is status and outcome.kind is None, outcome


@pytest.mark.parametrize(
    ("change", "kind", "said"),
    [
        (lambda args: setattr(args, "scale", args.scale * 1.1), FailureKind.RESULT, "O["),
        (lambda args: setattr(args, "k_strides", args.q_strides), FailureKind.RESULT, "O["),
        (lambda args: setattr(args, "v", args.k), FailureKind.RESULT, "O["),
        (lambda args: write(args.lse), FailureKind.RESULT, "lse["),
        (lambda args: write(args.o + 2 * (args.o_strides.row - 1)), FailureKind.MEMORY, "O: byte"),
        (lambda args: write(args.o - 2), FailureKind.MEMORY, "O: byte -2"),
        (lambda args: write(args.q), FailureKind.MEMORY, "Q: its elements"),
        (lambda args: write(args.o + 2 * 33 * args.o_strides.row), FailureKind.MEMORY, "a row that does not count"),
    ],
)
def test_a_kernel_that_errs_is_found(
    checker: Checker, monkeypatch: pytest.MonkeyPatch, change: Callable[[Any], None], kind: FailureKind, said: str
) -> None:
    err(monkeypatch, change, before=said == "O[" and kind is FailureKind.RESULT)
    outcome = checker.check(replace(CASE, seed=first_whole()))
    assert outcome.kind is kind and said in outcome.what, outcome


def test_a_wrong_result_is_made_small(checker: Checker, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = attention.expect

    def wrong_behind_20(operands: Any, planes: Any) -> Attention:
        found = exact(operands, planes=planes)
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
