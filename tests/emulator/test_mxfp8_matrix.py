"""The per-GPU shapes of MiniMax-M3: that there are 15, which kernel each goes to, and a few of them executed.

`tools/run_mxfp8_matrix.py` executes all of them, whole.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from emulate_support import context, runtime

from ckgen.families.gemm.hip_config import HipConfig
from ckgen_emulator.gemm.drive import RunOptions, emulate
from run_mxfp8_matrix import GATE_UP, RAW, WEIGHTED, Case, dense_cases, dense_shapes, expert_cases, requests

COLUMNS = 40
"""Whole workgroups of every kernel and a part of one."""
EXECUTED = {(3, 6144, 2304), (9, 1536, 6144), (8, 768, 6144), (64, 6144, 1536)}
"""M, K and N: rows that a GEMV masks, more waves than steps of K, two groups of columns."""


def test_the_shapes_of_tp_1_2_4_and_8_are_15() -> None:
    shapes = dense_shapes()
    assert len(shapes) == len(set(shapes)) == 15
    assert {k for k, n in shapes if n == 6144} == {8192, 4096, 2048, 1024, 6144, 3072, 1536, 768}
    assert {n for k, n in shapes if k == 6144} == {9216, 4608, 2304, 1152, 6144, 3072, 1536, 768}


def test_who_answers_for_the_matrix() -> None:
    cases = dense_cases((1, 2, 4, 8, 16, 32, 64))
    kinds = Counter((one.instance.config.kind.value, bool(one.declined)) for one in cases if of_hip(one))
    assert kinds == {("gemv", False): 45, ("mfma", False): 37, ("mfma", True): 23}
    declined = Counter(one.declined.rpartition("(rule ")[2] for one in cases if one.declined)
    assert declined == {"gemm.instance.untuned)": 22, "gemm.instance.declined)": 1}


def of_hip(case: Case) -> bool:
    return isinstance(case.instance.config, HipConfig)


def test_experts_of_ep_2_4_and_8(capsys: pytest.CaptureFixture[str]) -> None:
    """All run but gate_up of TP4, gated or raw, with all 256 experts' weights."""
    cases = expert_cases(COLUMNS)
    assert Counter(one.problem.routing.experts for one in cases) == {32: 14, 64: 14, 128: 14, 256: 10}
    told = capsys.readouterr().out.splitlines()
    assert len(told) == 4 and all("experts=256" in line and line.endswith("(rule moe.weights)") for line in told)


@pytest.mark.amd
@pytest.mark.cpp
def test_sections_of_the_matrix_are_right(tmp_path: Path) -> None:
    """K is whole, of N so many columns: a workgroup does the same whatever N is."""
    dense = dense_cases((3, 8, 9, 64), COLUMNS)
    cases = [one for one in dense if (one.problem.shape.m, one.problem.shape.k, one.all_n) in EXECUTED]
    experts = expert_cases(20, (32,))
    cases += [experts[1], experts[7], experts[13]]
    assert [one.signature for one in cases[4:]] == [GATE_UP, RAW, WEIGHTED]
    assert all(one.problem.shape.m > 1 and not one.declined for one in cases)
    results = emulate(requests(cases), runtime(tmp_path), context(), RunOptions(processes=2))
    assert [result.to_json() for result in results if not result.ok] == []
