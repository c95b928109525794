"""Cases of attention's backward that run, and what a kernel that errs is found by."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from fuzz_fmha import CASE, CPU, changed, err

from ckgen.fuzz.check import Checker
from ckgen.fuzz.outcome import CaseStatus, FailureKind

pytestmark = [pytest.mark.cpp, pytest.mark.slow]

BACKWARD = replace(CASE, signature="fmha_bf16_bwd_varlen_masked_dropout", target=CPU)


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({}, CaseStatus.RAN),
        ({"head_first": 1, "gap_a": 3, "gap_b": 1, "gap_c": 2, "gap_d": 5}, CaseStatus.RAN),
        ({"signature": "fmha_fp32_bwd_masked_elementwise_sink_randval", "own_lengths": 1}, CaseStatus.RAN),
        ({"signature": "fmha_fp32_bwd_varlen_masked_softcap_sink_randval", "corner": "topleft"}, CaseStatus.RAN),
        ({"signature": "fmha_fp16_bwd_varlen_masked_elementwise_dropout", "gap_d": 1}, CaseStatus.RAN),
        ({"signature": "fmha_bf16_bwd_varlen_masked_alibi_sink_dropout", "k": 63, "hdim_v": 100}, CaseStatus.RAN),
        ({"signature": "fmha_fp32_bwd", "window_left": 3, "data": "integers"}, CaseStatus.RAN),
        ({"m": 0}, CaseStatus.RAN),
        ({"n": 0}, CaseStatus.RAN),
        ({"m": 20_000, "n": 20_000}, CaseStatus.PLANNED),
        ({"heads_k": 3}, CaseStatus.REFUSED),
        ({"target": "gfx942:304"}, CaseStatus.RAN),
        ({"signature": "fmha_bf16_bwd_lse"}, CaseStatus.REFUSED),
    ],
)
def test_each_status(checker: Checker, changes: dict[str, object], status: CaseStatus) -> None:
    outcome = checker.check(changed(BACKWARD, changes))
    assert outcome.status is status and outcome.kind is None, outcome


def behind(name: str) -> Callable[[Any], None]:
    """Another 16-bit value at the beginning of a tensor."""

    def change(args: Any) -> None:
        ctypes.c_uint16.from_address(getattr(args, name)).value ^= 0x4411

    return change


@pytest.mark.parametrize(
    ("change", "before", "said"),
    [
        (lambda args: setattr(args, "seed", args.seed ^ 1), True, "d"),
        (lambda args: setattr(args, "offset", args.offset + 64), True, "d"),
        (lambda args: setattr(args, "scale", args.scale * 1.5), True, "d"),
        (lambda args: setattr(args, "lse", args.lse + 4), True, "d"),
        (behind("dq"), False, "dq["),
        (behind("dk"), False, "dk["),
        (behind("dv"), False, "dv["),
    ],
)
def test_a_kernel_that_errs_is_found(
    checker: Checker, monkeypatch: pytest.MonkeyPatch, change: Callable[[Any], None], before: bool, said: str
) -> None:
    err(monkeypatch, change, before=before)
    outcome = checker.check(replace(BACKWARD, spare=0, gap_c=0))
    assert outcome.kind is FailureKind.RESULT and outcome.what.startswith(said), outcome
