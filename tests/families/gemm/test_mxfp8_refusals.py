"""What the MX-FP8 kernels for few rows refuse, and that the reason which is told is the true one."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from ckgen import paths
from ckgen.families.gemm.signature import parse_canonical
from ckgen.families.moe.query import MoeQuery
from ckgen.model.groups import Routing
from ckgen.model.selection import NO_WISHES
from ckgen.model.tuned_row import Shape
from ckgen.plan.model import GenerationPlan
from ckgen.plan.select import select
from cpp_build import attempt
from plan_support import GFX950, OWN_TABLES, plan_of, query, write_table

PREFIX = "moe_fp8_ocp_bf16_rcr_mx_"
GATE_UP, DOWN = "gate_up_gated_epi_silu", "down"


@cache
def dense() -> GenerationPlan:
    return plan_of(OWN_TABLES, targets=(GFX950,), signatures=("gemm_fp8_ocp_bf16_rcr_mx",))


@cache
def experts() -> GenerationPlan:
    names = tuple(PREFIX + part for part in (GATE_UP, DOWN))
    return plan_of(targets=(GFX950,), ops=frozenset({"moe"}), signatures=names)


def reason(m: int, n: int, k: int) -> str:
    """Why a GEMM has no kernel; empty where it has one."""
    return select(query(dense(), GFX950, "mxfp8", m, n, k)).reason


def reason_of_experts(part: str, n: int, k: int, *, tokens: int, experts_: int, top_k: int) -> str:
    signature, shape = parse_canonical(PREFIX + part), Shape(0, tokens, n, k)
    asked = MoeQuery(experts(), GFX950, signature, shape, NO_WISHES, Routing(experts_, top_k), 16)
    return select(asked).reason


@pytest.mark.parametrize("m", [1, 3, 8, 16, 32])
@pytest.mark.parametrize("k", [16, 48, 6144 + 16, 6144 - 1])
def test_k_that_is_no_multiple_of_32(m: int, k: int) -> None:
    assert reason(m, 1536, k) == f"K = {k} is not a multiple of 32 (rule gemm.mx.k-group)"


def test_more_than_16_rows_in_a_gemv(tmp_path: Path) -> None:
    table = write_table(tmp_path / "t.csv", ("6144,1536,17,gemv,0,0,1",), "K,N,M,kernel,n_sub,k_splits,use_hip")
    plan = plan_of(table, targets=(GFX950,))
    (error,) = (one for one in plan.diagnostics if one.code == "T012")
    assert error.message == "kernel name does not parse: 'gemv_m17_n0_k0'" and "gemv: M up to 16," in error.detail[0]
    for m, nearest in ((17, 16), (31, 16), (48, 32), (63, 32), (65, 64), (128, 64)):
        assert reason(m, 1536, 6144) == f"M = {m} is above {nearest} (rule gemm.instance.max-m)"


@pytest.mark.parametrize(("m", "n", "k"), [(32, 1536, 4096), (64, 512, 6144), (32, 2304, 2048)])
def test_32_and_64_rows_that_nobody_measured(m: int, n: int, k: int) -> None:
    assert reason(m, n, k) == f"M = {m} is left to rows of tables, and none measured it (rule gemm.instance.untuned)"
    assert reason(m, 1536, 6144) == ""


@pytest.mark.parametrize("m", [1, 2, 3, 5, 8, 9, 16])
def test_two_gib_of_a_matrix(m: int) -> None:
    """One row of B more than a raw buffer reaches."""
    assert reason(m, 2**31 // 4096, 4096) == ""
    says = f"a matrix of {2**31 + 4096} elements is above {2**31} (rule gemm.instance.matrix-size)"
    assert reason(m, 2**31 // 4096 + 1, 4096) == says


@pytest.mark.parametrize(
    ("part", "n", "k", "routing", "most"),
    [
        (GATE_UP, 768, 6144, (32, 4), 16), (GATE_UP, 768, 6144, (127, 4), 16), (GATE_UP, 768, 6144, (128, 4), 64),
        (GATE_UP, 384, 6144, (64, 8), 16), (GATE_UP, 384, 6144, (128, 8), 64), (DOWN, 6144, 768, (32, 1), 8),
        (DOWN, 6144, 768, (256, 4), 8), (DOWN, 6144, 768, (128, 8), 8),
    ],
)  # fmt: skip
def test_routed_rows_outside_of_the_envelope(part: str, n: int, k: int, routing: tuple[int, int], most: int) -> None:
    """What is bounded is tokens * top_k."""
    count, top_k = routing
    fits = most // top_k
    assert not reason_of_experts(part, n, k, tokens=fits, experts_=count, top_k=top_k)
    says = reason_of_experts(part, n, k, tokens=fits + 1, experts_=count, top_k=top_k)
    assert says.startswith(f"routed rows (tokens times top_k) = {most + top_k} are above {most}"), says


def test_sixteen_tokens_of_four_experts_each_are_64_rows() -> None:
    says = reason_of_experts(GATE_UP, 768, 6144, tokens=16, experts_=32, top_k=4)
    assert says == (
        "routed rows (tokens times top_k) = 64 are above 16, the most with so few experts (rule moe.few-experts)"
    )


@pytest.mark.cpp
@pytest.mark.parametrize(("weights", "compiles"), [("float", True), ("double", False), ("std::uint16_t", False)])
def test_routing_weights_that_are_not_fp32(tmp_path: Path, weights: str, compiles: bool) -> None:
    """No signature says their type, for it is always the same: the compiler refuses another, bf16 too."""
    source = tmp_path / "weights.cpp"
    source.write_text(
        f"#include <ckgen/moe.hpp>\nvoid give(ckgen::MoeArgs& to, const {weights}* from) {{\n"
        "  to.topk_weights = from;\n}\n",
        encoding="utf-8",
    )
    done = attempt("g++", "-std=c++17", "-fsyntax-only", f"-I{paths.dispatcher_dir() / 'include'}", source)
    assert (done.returncode == 0) is compiles, done.stdout
    assert compiles or "cannot convert" in done.stdout


def test_two_gib_of_all_experts_weights() -> None:
    """256 experts unsharded: gate_up's weights are 2.4 GB and decline, down's 1.2 GB run."""
    says = reason_of_experts(GATE_UP, 768, 6144, tokens=1, experts_=256, top_k=4)
    assert says == f"weights of all experts of {256 * 1536 * 6144} elements are above {2**31} (rule moe.weights)"
    assert not reason_of_experts(DOWN, 6144, 768, tokens=1, experts_=256, top_k=4)
