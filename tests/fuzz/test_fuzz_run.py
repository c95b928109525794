"""Runs: the checkout holds, and errors that are planted are found, minimised and told."""

from __future__ import annotations

import ctypes
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ckgen.families.common.comparison import Expected
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.moe.reference import MoeOperands
from ckgen.fuzz import gemm as gemms
from ckgen.fuzz import moe as layers
from ckgen.fuzz import prepare
from ckgen.fuzz import run as running
from ckgen.fuzz.case import Case, Route, parse_case
from ckgen.fuzz.check import Checker
from ckgen.fuzz.child import Child
from ckgen.fuzz.outcome import CaseStatus, FailureKind
from ckgen.fuzz.run import Subject, fuzz, run_case
from ckgen.fuzz.shrink import shrink
from ckgen.model.groups import GroupSize
from ckgen.plan.model import AnyUnit
from ckgen.runtime import Dispatcher, GemmArgsStruct, Plan, RuntimeLibrary
from ckgen.runtime.grouped import GroupOperandsStruct, GroupSizeStruct
from commands import run

pytestmark = [pytest.mark.cpp, pytest.mark.slow]

SEED, COUNT = 31, 480
NEVER = 3600
"""Seconds that no run takes."""
FP16 = Case("gemm_fp16_rcr", "gfx942:80", m=40, n=48, k=72, seed=3)
SIZES = (GroupSize(3, 8, 16), GroupSize(0, 8, 8), GroupSize(33, 5, 0), GroupSize(17, 20, 130))
GROUPED = Case("grouped_gemm_fp32_rcr", "x86_64_v3:2", groups=SIZES, seed=3)
GROUPS_OF_BLOCKS = Case(
    "grouped_gemm_fp8_ocp_bf16_rcr_blockscale",
    "gfx950:256",
    groups=(GroupSize(3, 128, 256), GroupSize(0, 8, 8), GroupSize(17, 256, 384)),
    gap_scale=3,
)
LAYER = Case(
    "moe_fp32_rcr_layer_gated_epi_silu", "x86_64_v3:2", m=9, n=40, k=24, experts=5, top_k=2, route=Route.SOME, seed=3
)
MX_ROWS = Case("gemm_fp8_ocp_bf16_rcr_mx", "gfx950:256", m=8, n=40, k=160, scale_shuffled=True)


def test_nothing_is_found_in_this_checkout(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prepare, "NAME", subject.name)
    prepared = prepare.Prepared(subject.library, subject.inputs, subject.space)
    monkeypatch.setattr(prepare, "prepare", lambda ops, say: prepared)
    done = run("fuzz", "--seconds", str(NEVER), "--count", str(COUNT), "--seed", str(SEED), "--json")
    assert done.stdout, done.output
    document = json.loads(done.stdout)
    assert document["failures"] == [] and done.exit_code == 0
    assert done.stderr == ""  # progress is for terminals
    assert document["cases"] == document["ran"] + document["planned"] + document["refused"] == COUNT
    assert document["ran"] > 150 and document["refused"] > 30 and document["instances"] > 100
    assert {"exact", "near", "far", "heuristic", "other_cu", "default", "forced"} <= document["tiers"].keys()


def test_a_rule_that_only_one_language_has_is_found(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = subject.space.plan

    def strict(unit: AnyUnit) -> AnyUnit:
        if not isinstance(unit.signature, GemmSignature):
            return unit
        asked = (replace(one, constraints=replace(one.constraints, n_multiple=48)) for one in unit.instances)
        return replace(unit, instances=tuple(asked))

    stricter = replace(plan, units=tuple(map(strict, plan.units)))
    here = Checker(replace(subject.space, plan=stricter), RuntimeLibrary(subject.library), subject.name)
    monkeypatch.setattr(Child, "ask", lambda child, case: here.check(case))
    asked = replace(FP16, signature="gemm_fp32_rcr", n=50, gap_a=7, deterministic=True)
    report = run_case(subject, asked)
    (failure,) = report.failures
    assert failure.kind is FailureKind.SELECTION
    assert "(rule gemm.instance.n-multiple)" in failure.what
    case = parse_case(failure.command.partition("'")[2].removesuffix("'"))
    assert case == Case(asked.signature, asked.target)  # any N that is no multiple of 48


def test_a_wrong_result_is_found(checker: Checker, monkeypatch: pytest.MonkeyPatch) -> None:
    assert checker.check(FP16).status is CaseStatus.RAN
    exact = gemms.expected_of

    def wrong_behind_64(operands, case, k_batch):  # type: ignore[no-untyped-def]
        expected = exact(operands, case, k_batch)
        expected.c[:, :, 9:] *= 1.05 if case.k > 64 else 1
        return expected

    monkeypatch.setattr(gemms, "expected_of", wrong_behind_64)
    outcome = checker.check(FP16)
    assert outcome.kind is FailureKind.RESULT and outcome.what.startswith("C[0, ")
    small, _ = shrink(FP16, FailureKind.RESULT, checker.check)
    assert (small.n, small.k) == (10, 65)


@pytest.mark.parametrize(
    ("place", "what"),
    [
        (lambda plan, args, workspace: workspace + plan.workspace_size, "beside the workspace"),
        (lambda plan, args, workspace: workspace - 1, "beside the workspace"),
        (lambda plan, args, workspace: args.c + 2 * FP16.m * FP16.n, "C: byte 3840 was written"),
        (lambda plan, args, workspace: args.c - 1, "C: byte -1 was written"),
        (lambda plan, args, workspace: args.a + 2 * FP16.m * FP16.k - 1, "A: its elements were written"),
    ],
)
def test_a_byte_that_a_kernel_must_not_write_is_found(
    checker: Checker, monkeypatch: pytest.MonkeyPatch, place: Callable[..., int], what: str
) -> None:
    run = Dispatcher.run

    def and_one_more(dispatcher: Dispatcher, plan: Plan, args: GemmArgsStruct, workspace: int | None = None) -> None:
        run(dispatcher, plan, args, workspace)
        ctypes.c_uint8.from_address(place(plan, args, workspace)).value ^= 1

    monkeypatch.setattr(Dispatcher, "run", and_one_more)
    outcome = checker.check(FP16)
    assert outcome.kind is FailureKind.MEMORY and what in outcome.what


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        ({}, CaseStatus.RAN),
        ({"data": "special"}, CaseStatus.RAN),
        ({"gap_a": 2**31, "m": 2}, CaseStatus.RAN),
        ({"gap_c": -1}, CaseStatus.REFUSED),
        ({"k": 0}, CaseStatus.REFUSED),
        ({"signature": "gemm_fp64_fp16_rcr"}, CaseStatus.REFUSED),
        ({"signature": "gemm_fp64_rcr"}, CaseStatus.REFUSED),
        ({"m": 2**31 - 1, "n": 2**31 - 1, "k": 2**31 - 1}, CaseStatus.REFUSED),
        ({"m": 20_000, "n": 20_000}, CaseStatus.PLANNED),
    ],
)
def test_each_status(checker: Checker, changes: dict[str, object], status: CaseStatus) -> None:
    words = FP16.text() + "".join(f" {name}={value}" for name, value in changes.items())
    outcome = checker.check(parse_case(words))
    assert outcome.status is status and outcome.kind is None, outcome


@pytest.mark.parametrize(
    ("case", "changes", "status"),
    [
        (GROUPED, {}, CaseStatus.RAN),
        (GROUPED, {"data": "special"}, CaseStatus.RAN),
        (GROUPED, {"on_device": 1, "m": 40, "n": 20, "k": 130}, CaseStatus.RAN),
        (GROUPED, {"on_device": 1, "m": 40, "n": 20, "k": 0, "target": "gfx950:256"}, CaseStatus.REFUSED),
        (GROUPED, {"groups": f"2x0x{2**41},1x2x2"}, CaseStatus.RAN),
        (GROUPED, {"groups": "0x8x8"}, CaseStatus.REFUSED),
        (GROUPED, {"groups": ""}, CaseStatus.REFUSED),
        (GROUPED, {"groups": "-1x8x8,3x3x3"}, CaseStatus.REFUSED),
        (GROUPED, {"gap_b": -2}, CaseStatus.REFUSED),
        (GROUPED, {"signature": "grouped_gemm_bf16_rcr", "target": "gfx942:304"}, CaseStatus.RAN),
        (GROUPS_OF_BLOCKS, {}, CaseStatus.RAN),
        (GROUPS_OF_BLOCKS, {"scale_columns": 1, "on_device": 1, "m": 40, "n": 128, "k": 256}, CaseStatus.RAN),
        (LAYER, {}, CaseStatus.RAN),
        (LAYER, {"is_sorted": 1, "block_m": 16, "route": "one"}, CaseStatus.RAN),
        (LAYER, {"top_k": 5, "gap_a": 3, "gap_c": 1}, CaseStatus.RAN),
        (LAYER, {"signature": "moe_fp32_rcr_down"}, CaseStatus.RAN),
        (LAYER, {"block_m": 48}, CaseStatus.REFUSED),
        (LAYER, {"gap_c": -1}, CaseStatus.REFUSED),
        (LAYER, {"top_k": 6}, CaseStatus.REFUSED),
        (LAYER, {"m": 0}, CaseStatus.REFUSED),
        (LAYER, {"n": 2**61, "experts": 8}, CaseStatus.REFUSED),
        (MX_ROWS, {}, CaseStatus.RAN),
        (MX_ROWS, {"m": 16, "k": 256}, CaseStatus.RAN),
        (MX_ROWS, {"k": 161}, CaseStatus.REFUSED),
    ],
)
def test_each_status_of_other_ops(checker: Checker, case: Case, changes: dict[str, object], status: CaseStatus) -> None:
    words = case.text() + "".join(f" {name}={value}" for name, value in changes.items())
    outcome = checker.check(parse_case(words))
    assert outcome.status is status and outcome.kind is None, outcome


def test_few_rows_have_kernels_of_their_own(checker: Checker) -> None:
    small = {m: checker.check(replace(MX_ROWS, m=m)).instance for m in (1, 2, 4, 8, 9, 16)}
    assert all(f"_mxfp8_gemv_m{16 if m == 9 else m}_" in name for m, name in small.items())
    assert "_hip_" not in checker.check(replace(MX_ROWS, m=17)).instance
    assert "_mxfp8_mfma_m8_" in checker.check(replace(MX_ROWS, n=4096, k=256)).instance


def test_a_wrong_group_is_found_and_left(checker: Checker, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Dispatcher.run

    def and_one_group_less(dispatcher: Dispatcher, plan: Plan, args: Any, workspace: int | None = None) -> None:
        run(dispatcher, plan, args, workspace)
        operands = (GroupOperandsStruct * args.count).from_address(args.operands)
        sizes = (GroupSizeStruct * args.count).from_address(args.sizes)
        for one, size in zip(operands, sizes, strict=True):
            if size.k > 64 and one.c:
                ctypes.c_uint32.from_address(one.c).value ^= 0x7F000000

    monkeypatch.setattr(Dispatcher, "run", and_one_group_less)
    outcome = checker.check(GROUPED)
    assert outcome.kind is FailureKind.RESULT and outcome.what.startswith("group 3: C[0, 0, 0]")
    small, _ = shrink(GROUPED, FailureKind.RESULT, checker.check)
    assert small.groups == (GroupSize(2, 2, 65),)


def test_a_wrong_route_is_found(checker: Checker, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = layers.expect

    def next_expert(operands: MoeOperands) -> Expected:
        return exact(replace(operands, ids=(operands.ids + 1) % 5))

    monkeypatch.setattr(layers, "expect", next_expert)
    assert checker.check(LAYER).kind is FailureKind.RESULT


def test_a_wrong_sort_is_found(checker: Checker, monkeypatch: pytest.MonkeyPatch) -> None:
    sort = RuntimeLibrary.sort_tokens

    def with_a_weight_lost(library: RuntimeLibrary, *given: Any) -> None:
        sort(library, *given)
        ctypes.c_float.from_address(given[-1].weights).value = 0.0

    monkeypatch.setattr(RuntimeLibrary, "sort_tokens", with_a_weight_lost)
    outcome = checker.check(replace(LAYER, is_sorted=True))
    assert outcome.kind is FailureKind.RESULT and outcome.what == "weights of the sorted tokens is wrong"


_WORKER = """
import json, os, signal, sys, time
from ckgen.fuzz.forks import serve

def answer(prepared):
    print("ready", flush=True)
    for line in sys.stdin:
        m = dict(word.split("=", 1) for word in line.split()).get("m", "1")
        if int(m) > 8:
            {act}
        answer = {{"status": "ran", "tier": "", "instance": "", "kind": None, "what": "", "about": "", "seen": {{}}}}
        print(json.dumps(answer), flush=True)
    return 0

sys.exit(serve(None, answer))
"""


def crashing(subject: Subject, folder: Path, monkeypatch: pytest.MonkeyPatch, act: str) -> None:
    """Workers that do this for every M above 8."""
    script = folder / "worker.py"
    script.write_text(_WORKER.format(act=act))

    class Crashing(Child):
        def __init__(self, *arguments: Path, verbose: bool = False) -> None:
            super().__init__(subject.library, subject.name, subject.inputs, seconds=0.05)
            self._command = [sys.executable, str(script)]

    monkeypatch.setattr(running, "Child", Crashing)


@pytest.mark.parametrize(
    ("act", "kind", "text"),
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", FailureKind.CRASH, "signal SIGSEGV"),
        ("sys.exit('gone')", FailureKind.CRASH, "SystemExit: gone"),
        ("time.sleep(60)", FailureKind.HANG, "no answer after 0.05 s"),
    ],
)
def test_a_crash_is_a_failure_and_not_the_end(
    subject: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, act: str, kind: FailureKind, text: str
) -> None:
    crashing(subject, tmp_path, monkeypatch, act)
    report = run_case(subject, replace(FP16, m=300))
    (failure,) = report.failures
    assert failure.kind is kind and text in failure.what
    assert "signature=gemm_fp16_rcr target=gfx942:80 m=" in failure.command
    if kind is FailureKind.CRASH:
        assert failure.command.endswith(" m=9'")


def test_a_run_goes_on_after_a_crash(subject: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    crashing(subject, tmp_path, monkeypatch, "os.kill(os.getpid(), signal.SIGSEGV)")
    monkeypatch.setattr(running, "MOST_FAILURES", 2)
    report = fuzz(subject, 1, 20)
    assert len(report.failures) == 2 and report.cases >= 2


def test_given_problems_are_checked_words(subject: Subject) -> None:
    done = run("fuzz", "--problem", "signature=gemm_fp16_rcr")
    assert done.exit_code == 2 and "target missing" in done.stderr
    done = run("fuzz", "--problem", FP16.text(), "--emulate", "1")
    assert done.exit_code == 2 and "--emulate" in done.stderr
