"""Schedules of splits for the emulator: legal ones with every option, run in a process of their own."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from amd_support import amd_toolchain
from ckgen.build.cache import Cache
from ckgen.families.fmha.hip_config import HipFmhaConfig
from ckgen.families.fmha.instance import FmhaInstance
from ckgen.families.fmha.problem import check_problem, supports
from ckgen.families.fmha.signature import parse_canonical
from ckgen.families.registry import make_instance
from ckgen.fuzz.case import Case, Schedule, parse_case
from ckgen.fuzz.decision import target_of
from ckgen.fuzz.fmha_schedule import FmhaSchedule, schedule_of
from ckgen.fuzz.fmha_sizes import lengths_of, shape_of
from ckgen.fuzz.outcome import Sampled
from ckgen.model.errors import UsageError
from ckgen.runtime.fmha_split import FmhaSplitPlanner
from ckgen.specs.archs import load_archs
from ckgen_emulator.fuzz import fmha_sample
from ckgen_emulator.fuzz.fmha_sample import Step, emulated_case, run_fmha_sample, run_step, step_of
from ckgen_emulator.gemm.build import default_context
from runtime_build import load_own

NAME = "fmha_bf16_fp8_fnuz_bf16_varlen_masked_sink_lse_kvblockscale_blocktable"
KERNEL = make_instance(parse_canonical(NAME), HipFmhaConfig(16, 256, 64, 128), ("gfx942",))
"""tests/emulator/test_fmha_decode.py compiles it too."""


@pytest.fixture(scope="module")
def planner(tmp_path_factory: pytest.TempPathFactory) -> FmhaSplitPlanner:
    return load_own(tmp_path_factory.mktemp("fmha_split")).fmha_split


def scheduled(case: Case, instance: FmhaInstance, planner: FmhaSplitPlanner) -> FmhaSchedule:
    signature, target = instance.signature, target_of(case)
    found = schedule_of(case, signature, shape_of(signature, case), target, instance.constraints, planner)
    assert isinstance(found, FmhaSchedule)
    return found


@pytest.mark.cpp
def test_cases_are_legal_and_reach_every_option(planner: FmhaSplitPlanner) -> None:
    random, most, zero = Random(1), [], []
    cases: list[Case] = []
    for instance, arch in fmha_sample.kernels(load_archs())[::5]:
        for _ in range(3):
            case = emulated_case(random, instance, f"{arch}:304")
            signature, found = instance.signature, scheduled(case, instance, planner)
            shape = found.applied(shape_of(signature, case))
            assert check_problem(signature, shape) is None
            assert supports(instance.constraints, signature.traits, shape) is None, case.text()
            most.append(found.plan(planner).sizes.max_splits)
            zero.append(0 in lengths_of(signature, case).k)
            cases.append(case)
    assert max(most) > 3 and most.count(1) > 10 and any(zero)
    assert {case.schedule for case in cases} == {*Schedule} - {Schedule.NONE}
    assert {case.split_bound for case in cases} == {False, True} == {case.spare > 0 for case in cases}
    assert any(case.sink_tokens and case.window_left >= 0 for case in cases)


@pytest.mark.amd
@pytest.mark.cpp
@pytest.mark.slow
def test_what_is_wrong_on_the_emulator_is_told(planner: FmhaSplitPlanner, monkeypatch: pytest.MonkeyPatch) -> None:
    amd_toolchain()
    case = replace(
        emulated_case(Random(2), KERNEL, "gfx942:304"), batch=3, m=2, n=1100, heads_q=4, heads_k=2, page_size=12,
        schedule=Schedule.FIXED, fixed_split_size=1, max_splits=0, split_n0=0, window_left=900,
    )  # fmt: skip
    step = step_of(case, KERNEL, planner)
    assert step.plan.sizes.max_splits > 1
    assert run_step(step) == ""
    step.plan.items["request"][np.flatnonzero(step.plan.items["partial_row"] >= 0)[0]] = -1
    assert "elements are wrong" in run_step(step)
    monkeypatch.setattr(fmha_sample, "_run", end)
    assert run_step(step) == "the process ended with 3"


@pytest.mark.amd
@pytest.mark.cpp
@pytest.mark.slow
def test_a_sample_is_of_kernels_that_are_compiled(planner: FmhaSplitPlanner, monkeypatch: pytest.MonkeyPatch) -> None:
    others = [pair for pair in fmha_sample.kernels(load_archs()) if pair[0] != KERNEL][:3]
    monkeypatch.setattr(fmha_sample, "kernels", lambda archs: [*others, (KERNEL, "gfx942")])
    monkeypatch.setattr(fmha_sample, "is_in_cache", lambda planned, context: planned.kernel == KERNEL.name)
    context = default_context(amd_toolchain(), load_archs(), print, lambda standing: None)
    names: list[str] = []
    assert run_fmha_sample(5, 3, planner, context, names.append) == Sampled(3, []) and names == [KERNEL.name] * 3
    monkeypatch.setattr(fmha_sample, "run_step", lambda step: "o: 3 elements are wrong")
    failure, *_ = run_fmha_sample(5, 3, planner, context, names.append).failures
    case = parse_case(failure.what.partition("wrong: ")[2])
    assert case.instance == KERNEL.name and case.schedule is not Schedule.NONE
    assert failure.command == "ckgen fuzz --ops fmha --seconds 0.1 --seed 5 --emulate 3"
    monkeypatch.setattr(FmhaSplitPlanner, "_struct", lambda planner, *asked: planner._defaults())
    refused = run_fmha_sample(5, 3, planner, context, names.append)
    assert refused.failures[0].what.startswith("the planner refuses a legal batch: seqlen_q is null")
    assert refused.ran == 0 and len(refused.failures) == 3


@pytest.mark.amd
@pytest.mark.cpp
def test_where_no_kernel_is_compiled_one_is(
    planner: FmhaSplitPlanner, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tried: list[str] = []

    def fails(case: Case, instance: FmhaInstance, planner: FmhaSplitPlanner) -> Step:
        tried.append(instance.name)
        raise UsageError("does not compile")

    monkeypatch.setattr(fmha_sample, "step_of", fails)
    context = default_context(amd_toolchain(), load_archs(), print, lambda standing: None)
    empty = replace(context, cache=Cache(tmp_path))
    sampled = run_fmha_sample(5, 3, planner, empty, lambda name: None)
    assert sampled.ran == 0 and len(tried) == 3 and len(set(tried)) == 1
    assert [failure.what.partition(":")[0] for failure in sampled.failures] == ["does not compile"] * 3
    monkeypatch.setattr(fmha_sample, "kernels", lambda archs: [])
    (failure,) = run_fmha_sample(5, 3, planner, empty, lambda name: None).failures
    assert failure.what == "fmha: 0 of 3 problems could be emulated: there is no kernel that reads schedules"


def end(*_: object) -> None:
    os._exit(3)
