"""Cases of attention, and kernels that err, for the tests of fuzzing."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ckgen.fuzz.case import Case, parse_case
from ckgen.runtime import Dispatcher, Plan
from ckgen.runtime.fmha import FmhaArgsStruct

CASE = Case(
    "fmha_bf16_varlen_masked_lse", "gfx942:304", m=33, n=70, k=64, hdim_v=64, batch=3, heads_q=4, heads_k=2, seed=6,
    spare=5, gap_c=8,
)  # fmt: skip
CPU = "x86_64_v3:2"
PLAIN = replace(CASE, signature="fmha_fp32_masked_lse", target=CPU, spare=0)


def changed(case: Case, changes: dict[str, object]) -> Case:
    """The case with other words in its text."""
    return parse_case(case.text() + "".join(f" {name}={value}" for name, value in changes.items()))


def err(monkeypatch: pytest.MonkeyPatch, change: Callable[[Any], None], *, before: bool) -> None:
    """Runs change their arguments, or memory behind them, before the kernel or after it."""
    run = Dispatcher.run

    def and_an_error(dispatcher: Dispatcher, plan: Plan, args: FmhaArgsStruct, workspace: int | None = None) -> None:
        if before:
            change(args)
        run(dispatcher, plan, args, workspace)
        if not before:
            change(args)

    monkeypatch.setattr(Dispatcher, "run", and_an_error)


def write(address: int) -> None:
    """Another 16-bit value there."""
    ctypes.c_uint16.from_address(address).value ^= 0x4411
