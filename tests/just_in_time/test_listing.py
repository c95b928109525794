"""`ckgen.kernels` lists what `ckgen list instances` lists."""

from __future__ import annotations

from pathlib import Path

import pytest

import ckgen
from ckgen.just_in_time.build import _request
from ckgen.model.diagnostic import Severity
from ckgen.model.errors import InputError, UsageError
from ckgen.paths import shipped_tables
from ckgen.plan.options import PlanOptions
from ckgen.plan.planner import make_plan
from ckgen.specs.archs import load_archs
from commands import as_json

WORDS = {"ops": ["gemm"], "targets": "gfx942:304", "signatures": ["gemm_fp16_rcr"]}
BESIDE = "gemm_fp16_rcr_ck_tile_compv3_intrawave_cshuffle_pad111_64x64x32_1x4x1_16x16x16"


def test_the_same_instances_as_the_command_and_as_a_library_of_their_names() -> None:
    """One of the kernel sets beside the default one too, several of which have none such."""
    words = ("list", "instances", "--targets", "gfx942:304", "--ops", "gemm", "--signatures", "gemm_fp16_rcr")
    listed = [one["name"] for one in as_json(*words)["instances"]]
    assert [one.name for one in ckgen.kernels(**WORDS)] == listed
    assert len(listed) > 3 and BESIDE in listed
    asked = _request(**WORDS, kernels=[BESIDE], tuning=(), kernel_sets=(), device_code=False)
    held = PlanOptions(
        targets=asked.targets,
        ops=frozenset(asked.ops),
        tuning=shipped_tables(),
        kernel_sets=asked.kernel_sets,
        signatures=asked.signatures,
        kernels=asked.kernels,
    )
    plan = make_plan(held, load_archs())
    assert [one for one in plan.diagnostics if one.severity is Severity.ERROR] == []
    assert {one.name for one in plan.instances} == {BESIDE}


def test_sets_that_are_said_are_the_ones_that_are_searched() -> None:
    said = _request(**WORDS, kernels=["*"], tuning=(), kernel_sets=("ci",), device_code=False)
    assert [file.name for file in said.kernel_sets] == ["ci.yaml"]
    assert _request(**WORDS, kernels=(), tuning=(), kernel_sets=(), device_code=False).kernel_sets == ()


def test_words_that_nobody_knows() -> None:
    with pytest.raises(UsageError, match=r"unknown backend: nobody .known: asm, ck"):
        ckgen.kernels(["gemm"], "gfx942", backends=["nobody"])
    with pytest.raises(UsageError, match="unknown op: gem"):
        ckgen.kernels(["gem"], "gfx942")
    with pytest.raises(UsageError, match="no kernel of these operations and targets fits nobody"):
        ckgen.kernels(["gemm"], "gfx942:304", signatures=iter(["nobody"]))


def test_tables_that_are_wrong(tmp_path: Path) -> None:
    table = tmp_path / "a8w8_tuned_gemm.csv"
    table.write_text("cu_num,M,N,K,kernelId,splitK,us,kernelName\n304,many,64,128,1,0,1.0,name\n")
    with pytest.raises(InputError, match="many"):
        ckgen.kernels(["gemm"], "gfx942:304", tuning=[table])
