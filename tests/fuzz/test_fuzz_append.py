"""Cases that append to a cache and run: their statuses, and what a kernel that errs is found by."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from fuzz_fmha import CASE, CPU, changed, err, write

from ckgen.fuzz.check import Checker
from ckgen.fuzz.outcome import CaseStatus, FailureKind
from ckgen.runtime.fmha import FmhaArgsStruct

pytestmark = [pytest.mark.cpp, pytest.mark.slow]

APPEND = replace(CASE, target=CPU, m=5, new=5, rotary_dim=32, page_size=16, gap_a=1, gap_c=3, spare=0)


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({"signature": "fmha_bf16_append_blocktable_rope_half"}, CaseStatus.RAN),
        ({"signature": "fmha_bf16_append_varlen_rope_interleaved", "spare": 2, "in_place": 1}, CaseStatus.RAN),
        ({"signature": "fmha_fp32_append_varlen_vcolumn_rope_half", "head_first": 1, "gap_b": 3}, CaseStatus.RAN),
        (
            {
                "signature": "fmha_fp16_fp8_fnuz_fp16_append_kvblockscale_pagelist_vectorized_rope_half",
                "hdim_v": 20,
            },
            CaseStatus.RAN,
        ),
        ({"signature": "fmha_fp16_append_vcolumn", "m": 0, "new": 0}, CaseStatus.RAN),
        ({"signature": "fmha_bf16_append_rope_half", "new": 71}, CaseStatus.REFUSED),
        ({"signature": "fmha_bf16_append_rope_half", "rotary_dim": 65}, CaseStatus.REFUSED),
        ({"signature": "fmha_bf16_append_blocktable", "batch": 257, "page_size": 2048, "m": 0}, CaseStatus.PLANNED),
    ],
)
def test_each_status(checker: Checker, changes: dict[str, object], status: CaseStatus) -> None:
    outcome = checker.check(changed(APPEND, changes))
    assert outcome.status is status and outcome.kind is None, outcome


@pytest.mark.parametrize(
    ("change", "before", "kind", "said"),
    [
        (lambda args: setattr(args, "rotary_cos", args.rotary_sin), True, FailureKind.RESULT, "K["),
        (lambda args: setattr(args, "v_new", args.k_new), True, FailureKind.RESULT, "V["),
        (lambda args: write(args.o), False, FailureKind.RESULT, "O["),
        (lambda args: _write_free_page(args), False, FailureKind.MEMORY, "K: a row that is not new"),
        (lambda args: write(args.v_cache - 2), False, FailureKind.MEMORY, "V: byte -2"),
        (lambda args: write(args.k_new), False, FailureKind.MEMORY, "k_new: its elements"),
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
    err(monkeypatch, change, before=before)
    outcome = checker.check(replace(APPEND, signature="fmha_bf16_append_blocktable_rope_half"))
    assert outcome.kind is kind and said in outcome.what, outcome


def _write_free_page(args: FmhaArgsStruct) -> None:
    """A page that no sequence has."""
    table = (ctypes.c_int32 * (3 * args.block_table_stride)).from_address(args.block_table)
    page = next(number for number in range(99) if number not in set(table))
    write(args.k_cache + 2 * page * args.k_strides.batch)
