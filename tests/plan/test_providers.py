"""Rows of providers' kernels: what they say, where they stand, and what answers without a device take for granted."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckgen import paths
from ckgen.families.common.providers import Provider, provided_kernel
from ckgen.model.fate import FateKind
from ckgen.model.selection import Tier
from ckgen.model.target import Target
from ckgen.plan.model import GenerationPlan
from ckgen.plan.options import PlanOptions
from ckgen.plan.planner import make_plan
from ckgen.plan.select import Selection, select
from ckgen.plan.trail import trail
from ckgen.specs.archs import load_archs
from plan_support import query

H100 = Target("sm_90a", 132)
OWN = "gemm_bf16_rcr_cutlass_128x128x64_2x1_pp"
ALGORITHM = "13.1.0_algo66_tile24_stages35_splits1_reduction0_swizzle1_custom5_inner4_cluster3"
HEAD = "gfx,cu_num,signature,B,M,N,K,kernelName,splitK,us"


def line(m: int, kernel: str, us: float, target: str = "sm_90a,132", signature: str = "gemm_bf16_rcr") -> str:
    return f"{target},{signature},0,{m},1024,2048,{kernel},1,{us}"


def plan_of(path: Path, *lines: str) -> GenerationPlan:
    path.write_text("\n".join((HEAD, *lines, "")), encoding="utf-8")
    return make_plan(PlanOptions(targets=(H100,), ops=frozenset({"gemm"}), tuning=(path,)), load_archs())


def answer(plan: GenerationPlan, m: int) -> Selection:
    return select(query(plan, H100, "gemm_bf16_rcr", m, 1024, 2048))


def test_names_are_a_library_a_version_and_settings() -> None:
    found = provided_kernel(f"cublaslt:{ALGORITHM}")
    assert found is not None and (found.provider, found.description) == (Provider.CUBLASLT, ALGORITHM)
    assert provided_kernel("hipblaslt:1.0.0_first") is not None
    for wrong in ("cublaslt", "cublas:1.0.0_first", "cublaslt:1.0_first", "cublaslt:1.0.0", "cublaslt:1.0.0_first_",
                  "cublaslt:1.0.0_algo", "cublaslt:1.0.0_7", 'cublaslt:1.0.0_first"'):  # fmt: skip
        assert provided_kernel(wrong) is None, wrong


def test_providers_are_those_of_the_library() -> None:
    sources = (paths.dispatcher_dir() / "src" / "providers").glob("*blaslt.cpp")
    assert {one.stem for one in sources} == {str(one) for one in Provider}


def test_a_providers_row_stands_beside_one_that_can_run_and_answers_at_its_m_alone(tmp_path: Path) -> None:
    plan = plan_of(tmp_path / "t.csv", line(64, OWN, 9.0), line(64, f"cublaslt:{ALGORITHM}", 8.0),
                   line(512, "cublaslt:13.1.0_first", 20.0), line(4096, OWN, 90.0))  # fmt: skip
    assert not plan.diagnostics and [one.kind for one in plan.fates] == [
        FateKind.SELECTED, FateKind.EXTERNAL, FateKind.EXTERNAL, FateKind.SELECTED,
    ]  # fmt: skip
    both, near, alone = answer(plan, 64), answer(plan, 60), answer(plan, 512)
    for one in (both, near):
        assert one.instance is not None and one.instance.name == OWN and one.external is not None
        assert (one.external.library, one.external.name, one.winner.us, one.row.us) == ("cublaslt", ALGORITHM, 8.0, 9.0)
    assert (both.tier, near.tier) == (Tier.EXACT, Tier.NEAR)
    assert alone.external is not None and alone.external.name == "13.1.0_first" and alone.tier is not Tier.EXACT
    assert answer(plan, 4096).external is None


def test_explain_says_which_row_is_lost_without_which_library_and_what_answers_instead(tmp_path: Path) -> None:
    plan = plan_of(tmp_path / "t.csv", line(64, OWN, 9.0), line(64, f"cublaslt:{ALGORITHM}", 8.0))
    text = trail(query(plan, H100, "gemm_bf16_rcr", 64, 1024, 2048), plan.place).text()
    assert f"external     exact M=64: cublaslt {ALGORITHM}  {tmp_path / 't.csv'}:3\n" in text
    has = "a program with cuBLASLt 13.1.0 that calls provide_libraries() runs it, in 8 us, in place of"
    assert f"assumed not to be there: {has} {OWN}\n" in f"{text}\n"


def test_a_later_layers_row_of_a_provider_overrides_an_earlier_one_and_no_other(tmp_path: Path) -> None:
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    first.write_text(f"{HEAD}\n{line(64, OWN, 9.0)}\n{line(64, 'cublaslt:13.0.0_first', 8.5)}\n", encoding="utf-8")
    second.write_text(f"{HEAD}\n{line(64, f'cublaslt:{ALGORITHM}', 8.0)}\n", encoding="utf-8")
    plan = make_plan(PlanOptions(targets=(H100,), ops=frozenset({"gemm"}), tuning=(first, second)), load_archs())
    assert [one.kind for one in plan.fates] == [FateKind.SELECTED, FateKind.OVERRIDDEN, FateKind.EXTERNAL]


@pytest.mark.parametrize(
    ("wrong", "code", "text"),
    [
        (line(64, "cublaslt:13.1.0", 8.0), "T012", "not a provider's kernel for a GEMM"),
        (line(64, "cublaslt:13.1.0_first", 8.0, signature="gemm_bf16"), "T012", "not a provider's kernel for a GEMM"),
        (line(64, "cublaslt:13.1.0_first", 8.0, signature="bf16"), "T015", "the kernel is of gemm_bf16_rcr"),
        (line(64, f"cublaslt:{ALGORITHM}", 8.0, "gfx942,304"), "P002", "cuBLASLt has no kernels for gfx942"),
    ],
)
def test_what_is_wrong_with_a_row_has_its_place(wrong: str, code: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"{HEAD}\n{wrong}\n", encoding="utf-8")
    plan = make_plan(PlanOptions(targets=None, tuning=(path,)), load_archs())
    assert [(one.code, one.location.line) for one in plan.diagnostics if one.location] == [(code, 2)]
    assert text in str(plan.diagnostics[0])
