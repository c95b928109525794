"""`ckgen emulate` as a command: what it takes, and what it makes of results. What runs is in tests/emulator."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cli_support import LARGE, SMALL, row

from ckgen.families.common.comparison import Comparison, Wrong
from ckgen.families.common.sensitivity import Sensitivity
from ckgen.model.groups import GroupSize, Routing
from ckgen.model.tuned_row import Shape
from ckgen_emulator.bindings import Options
from ckgen_emulator.fmha.append import AppendProblem
from ckgen_emulator.fmha.emulate import FmhaResult
from ckgen_emulator.fmha.problem import FmhaProblem
from ckgen_emulator.gemm.drive import Request, RunOptions
from ckgen_emulator.gemm.job import Answer
from ckgen_emulator.gemm.problem import GemmProblem
from ckgen_emulator.gemm.result import GemmResult
from ckgen_emulator.production.model import Compared, Outcome
from commands import run
from fake_compiler import FakeCompiler

RIGHT = Comparison(0.0, 0.0, 0.0, 0, None)
FINDING = {
    "rule": "hazard", "address": 0x1A0, "instruction": "v_mov_b32_e32 v1, v2", "group": [1, 0, 0], "wave": 2,
    "lane": -1, "count": 3, "what": "two wait states are missing",
}  # fmt: skip
NAME = "gemm_fp8_fnuz_bf16_rcr_blockscale_ck_" + SMALL.removeprefix("a8w8_blockscale_")
SAY = "say `ckgen emulate OP`, one of gemm, grouped_gemm, moe, fmha, or --code-object"
GEMM = ("emulate", "gemm", "--target", "gfx942", "--tuning", "t", "--shape", "16x512x1024")
GROUPED = ("emulate", "grouped_gemm", "--target", "gfx942")
MIXTURE = ("emulate", "moe", "--target", "gfx950", "--shape", "4x768x1536", "--experts", "4", "--top-k", "2")
APPENDING = "fmha_bf16_append_blocktable_rope_half_hip_append_8"
ATTENTION = ("emulate", "fmha", "--target", "gfx942")


class Emulator:
    """Stands in for the driver: keeps what is asked and gives one answer to all of it."""

    def __init__(self) -> None:
        self.asked: list[tuple[Request, RunOptions]] = []
        self.gpu: Comparison | None = RIGHT
        self.findings: list[dict[str, Any]] = []
        self.trouble: tuple[str, ...] = ()

    def emulate(self, requests: list[Request], runtime: object, room: object, options: RunOptions) -> list[GemmResult]:
        (request,) = requests
        self.asked.append((request, options))
        counts = {"global_read": 4096, "global_written": 64, "lds_read": 8, "lds_written": 8, "lds_cycles": 40}
        launch = {
            "kernel": "symbol", "instructions": 1200, "occupancy": 2, "by_class": {"scalar": 1000, "matrix": 200},
            "counts": {**counts, "atomics": 0, "lds_conflict_cycles": 4}, "findings": self.findings,
        }  # fmt: skip
        answer = Answer(self.gpu, RIGHT, Sensitivity(0.0, 0.25), self.trouble, 0.5, (launch,))
        instance, (problem,) = request.kernel.instance, request.problems
        return [GemmResult(instance.name, instance.table_kernel, str(request.target), problem, answer, self.trouble)]


@pytest.fixture
def emulator(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> Emulator:
    """No compiler, no runtime and no emulator, but the command around them."""
    fake, compiler = Emulator(), FakeCompiler(tiny / "tools")
    monkeypatch.setenv("CKGEN_CACHE", str(tiny / "cache"))
    monkeypatch.setattr("ckgen.build.amd.toolchain.load", lambda prefix=None: compiler.toolchain())
    monkeypatch.setattr("ckgen_emulator.gemm.runtime.build_runtime", lambda say, step: None)
    monkeypatch.setattr("ckgen_emulator.gemm.drive.emulate", fake.emulate)
    return fake


def test_a_problem_is_what_the_options_say(emulator: Emulator) -> None:
    words = ("--k-batch", "2", "--seed", "5", "--threads", "3", "--unchecked")
    result = run(*GEMM, "--kernel", NAME, *words, "--json")
    assert result.exit_code == 0, result.output
    refused = run(*GEMM, "--kernel", NAME, *words, "--data", "random")
    assert refused.exit_code == 2 and "of which only one is" in refused.stderr
    ((request, options),) = emulator.asked
    assert request.kernel.instance.name == NAME and str(request.target) == "gfx942:304"
    assert request.problems == (GemmProblem(Shape(0, 16, 512, 1024), 2, 5),)
    assert (options.checked, options.threads, options.trace) == (False, 3, None)
    document = json.loads(result.stdout)
    keys = {
        "ok", "kernel", "table_name", "target", "shape", "k_batch", "data", "seed", "max_abs_err", "bound", "excess",
        "twin_excess", "sensitivity", "wrong", "instructions", "seconds", "findings", "trouble",
        "origin",
    }  # fmt: skip
    assert document.keys() == keys and document["ok"] and document["instructions"] == 1200
    assert document["shape"] == {"m": 16, "n": 512, "k": 1024, "batch": 1}


def test_groups_and_experts_are_problems_too(emulator: Emulator) -> None:
    grouped = "grouped_gemm_fp16_rcr_ck_tile_compv3_intrawave_cshuffle_pad111_64x64x64_2x2x1_32x32x16"
    result = run(*GROUPED, "--kernel", grouped, "--groups", "17x64x64,2*0x64x64", "--rows-on-device", "--seed", "3")
    assert result.exit_code == 0, result.output
    assert "17x64x64,0x64x64,0x64x64 k_batch 1, rows known to the device alone, small-integers, seed 3" in result.stdout
    part = "moe_fp8_ocp_bf16_rcr_mx_gate_up_gated_epi_silu_hip_mxfp8_moe_shallow_m16_n1x16_k8"
    result = run(*MIXTURE, "--kernel", part)
    assert result.exit_code == 0, result.output
    assert "M=4 N=768 K=1536, 4 experts, top 2, blocks of 16" in result.stdout
    (groups,), (experts,) = (request.problems for request, _ in emulator.asked)
    sizes = (GroupSize(17, 64, 64), GroupSize(0, 64, 64), GroupSize(0, 64, 64))
    assert groups == GemmProblem.grouped(sizes, seed=3, on_device=True)
    assert experts == GemmProblem(Shape(0, 4, 768, 1536), routing=Routing(4, 2), block_m=16)


def test_attention_is_what_its_words_say(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []

    def answer(instance: Any, arch: str, problem: FmhaProblem, options: Options, **how: Any) -> FmhaResult:
        assert not how["trace_wrong"]
        asked.append((instance.name, arch, problem, options))
        compared = Compared("o", 0.25, 0.5, 2.0 if problem.seed else 0.5, problem.seed)
        stats = {"launches": 1, "by_class": {"scalar": 7}, "occupancy": 3}
        outcome = Outcome("fmha", "symbol", arch, str(problem), problem.seed, (compared,), (), 1200, 0.5, stats)
        return FmhaResult(instance.name, arch, problem, outcome)

    monkeypatch.setenv("CKGEN_CACHE", str(tiny / "cache"))
    monkeypatch.setattr("ckgen_emulator.fmha.emulate.emulate_fmha", answer)
    words = ("--kernel", APPENDING, "--lengths", "5+2,0+2", "heads_q=4", "heads_k=2", "hdim_q=80", "page_size=16")
    right = run(*ATTENTION, *words, "rotary_dim=40", "--stats")
    assert right.exit_code == 0, right.output
    for line in (
        f"{APPENDING} on gfx942",
        "  problem    5+2,0+2 h4/2 d80/80 r40 p16, small-integers, seed 0",
        "  o          largest error 0.25, 0.50 of its bound",
        "  ran        1,200 instructions of waves in 0.50 s",
        "  classes    scalar 7",
        "ok",
    ):
        assert line in right.stdout.splitlines(), right.stdout
    wrong = run(*ATTENTION, *words, "rotary_dim=40", "--seed", "5", "--json")
    document = json.loads(wrong.stdout)
    assert wrong.exit_code == 1 and not document["ok"] and document["outputs"][0]["wrong"] == 5
    assert [(name, arch) for name, arch, *_ in asked] == [(APPENDING, "gfx942")] * 2
    assert asked[1][2] == AppendProblem((5, 0), (2, 2), 4, 2, 80, 80, 16, 40, seed=5) and asked[1][3].seed == 5


def test_a_table_name_means_its_kernel_and_is_remembered(emulator: Emulator, tiny: Path) -> None:
    full = run(*GEMM, "--kernel", NAME)
    assert full.exit_code == 0 and full.stdout.endswith("ok\n")
    assert "equal to the exact result" in full.stdout and "1,200 instructions" in full.stdout
    globbed = NAME.replace("_fp8_fnuz_bf16_", "_fp8_*_bf16_")
    assert run(*GEMM, "--kernel", globbed).exit_code == 0
    assert len({request.kernel.instance for request, _ in emulator.asked}) == 1
    with (tiny / "t" / "a8w8_blockscale.csv").open("a", encoding="utf-8") as file:
        file.write(row(m="x"))
    broken = run(*GEMM, "--kernel", NAME, "--json")
    assert broken.exit_code == 3 and "T005" in broken.stderr and json.loads(broken.stdout)["diagnostics"]


def test_findings_and_wrong_results_fail(emulator: Emulator) -> None:
    emulator.findings = [FINDING]
    found = run(*GEMM, "--kernel", NAME, "--stats")
    assert found.exit_code == 1
    for line in (
        "hazard at 0x1a0 of symbol",
        "    v_mov_b32_e32 v1, v2",
        "    two wait states are missing",
        "    first in workgroup [1, 0, 0], wave 2, 3 times",
        "  classes    scalar 1,000, matrix 200",
        "  banks      40 cycles, 4 of them for conflicts",
        "  occupancy  at most 2 workgroups per compute unit",
        "failed: 1 finding",
    ):
        assert line in found.stdout.splitlines(), found.stdout
    emulator.findings = []
    right = run(*GEMM, "--kernel", NAME, "--verbose")
    assert right.exit_code == 0 and "sees       bound/|C| 0 median, 0.25 worst" in right.stdout
    emulator.gpu = Comparison(np.inf, 0.0, np.inf, 7, Wrong(0, 3, 4, 1.0, float("nan")))
    wrong = run(*GEMM, "--kernel", NAME)
    assert wrong.exit_code == 1 and "WRONG: 7 elements, the first [0, 3, 4]: nan, expected 1" in wrong.stdout
    document = json.loads(run(*GEMM, "--kernel", NAME, "--json", "--stats").stdout)
    assert document["excess"] is None and document["wrong"]["elements"] == 7 and document["stats"]["occupancy"] == 2


def test_a_refusal_is_said(emulator: Emulator) -> None:
    emulator.gpu, emulator.trouble = None, ("GPU: K = 16 is too small",)
    result = run(*GEMM, "--kernel", NAME)
    assert result.exit_code == 1 and "trouble    GPU: K = 16 is too small" in result.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("emulate", "--kernel", "k"), SAY),
        (("emulate", "gemm", "--kernel", "k", "--code-object", "k.co"), SAY),
        (("emulate", "gemm", "--kernel", "k", "--args", "a.yaml"), "--args goes with --code-object"),
        (
            ("emulate", "--kernel", "k", "--code-object", "k.co", "--shape", "1x1x1"),
            "--shape goes with `ckgen emulate gemm`",
        ),
        (("emulate", "--kernel", "k", "--code-object", "k.co"), "--args is missing"),
        (("emulate", "gemm", "--kernel", "k", "--shape", "1x2x3"), "--target is missing"),
        (("emulate", "gemm", "--kernel", "k", "--target", "gfx942", "--shape", "1x2"), "--shape takes MxNxK"),
        ((*GEMM[:3], "gfx1100", *GEMM[4:], "--kernel", NAME), "--target takes one of gfx90a, gfx942, gfx950"),
        ((*GEMM, "--kernel", "absent"), "no kernel for gfx942 fits 'absent'"),
        ((*GEMM, "--kernel", NAME, "--batch", "2"), "gemm_fp8_fnuz_bf16_rcr_blockscale is not batched"),
        ((*GEMM, "--kernel", SMALL), "2 kernels fit"),
        ((*GEMM, "--kernel", LARGE, "--seed", "-1"), "--seed"),
    ],
)
def test_what_cannot_be_asked_is_a_usage_error(emulator: Emulator, words: tuple[str, ...], said: str) -> None:
    result = run(*words)
    assert result.exit_code == 2 and said in result.stderr and result.stdout == "", result.output
    assert emulator.asked == []
