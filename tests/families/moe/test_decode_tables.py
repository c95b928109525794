"""A table of the MX-FP8 kernels for few rows in a plan: who answers where it says yes, no, or nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckgen.families.common.query import ExternalKernel
from ckgen.families.gemm.signature import parse_canonical
from ckgen.families.moe.query import MoeQuery
from ckgen.model.fate import FateKind
from ckgen.model.groups import Routing
from ckgen.model.selection import NO_WISHES, Tier
from ckgen.model.tuned_row import Shape
from ckgen.plan.model import GenerationPlan
from ckgen.plan.select import select, walk
from plan_support import GFX950, plan_of, query, write_table

HEADER = "K,N,M,n_sub,k_splits,use_hip"
LINES = ("4096,512,32,2,4,1", "4096,512,8,1,4,0", "4096,512,64,2,4,0", "4096,512,4,4,2,1", "4128,512,8,1,4,1")
OWN = ExternalKernel("caller", "own")


@pytest.mark.parametrize(
    ("m", "n", "tier", "config", "external"),
    [
        (32, 512, Tier.EXACT, "mxfp8_mfma_m32_n2x16_k4", None),
        (4, 512, Tier.EXACT, "mxfp8_gemv_m4_n4x1_k2", None),
        (2, 512, Tier.DEFAULT, "mxfp8_gemv_m2_n4x1_k4", None),
        (8, 512, Tier.UNSUPPORTED, "", OWN),
        (8, 4096, Tier.HEURISTIC, "mxfp8_mfma_m8_n1x16_k8", None),
        (16, 512, Tier.HEURISTIC, "mxfp8_mfma_m16_n1x16_k8", None),
        (64, 512, Tier.UNSUPPORTED, "", OWN),
        (64, 4096, Tier.UNSUPPORTED, "", None),
        (32, 4096, Tier.UNSUPPORTED, "", None),
        (5, 512, Tier.DEFAULT, "mxfp8_gemv_m8_n4x1_k4", None),
        (3, 512, Tier.NEAR, "mxfp8_gemv_m4_n4x1_k2", None),
    ],
)
def test_who_answers(tmp_path: Path, m: int, n: int, tier: Tier, config: str, external: ExternalKernel | None) -> None:
    plan = plan_of(write_table(tmp_path / "t.csv", LINES, HEADER), targets=(GFX950,))
    found = select(query(plan, GFX950, "mxfp8", m, n, 4096))
    assert (found.tier, found.instance.config.text() if found.instance else "") == (tier, config)
    assert m == 5 or found.external == external
    if m == 8 and external:
        assert found.reason != ""


def test_every_row_has_a_fate(tmp_path: Path) -> None:
    plan = plan_of(write_table(tmp_path / "t.csv", LINES, HEADER), targets=(GFX950,))
    kinds = [fate.kind for fate in plan.fates]
    assert [kinds.count(kind) for kind in (FateKind.SELECTED, FateKind.EXTERNAL, FateKind.UNAVAILABLE)] == [2, 2, 1]


EXPERTS = "N,K,a_div,has_weight,use_hip"
PREFIX = "moe_fp8_ocp_bf16_rcr_mx_"
LAYER, GATE_UP, DOWN, RAW = "layer_gated_epi_silu", "gate_up_gated_epi_silu", "down", "gate_up"


def experts(folder: Path, *lines: str) -> GenerationPlan:
    """A plan of one layer and its parts."""
    tables = (write_table(folder / "t.csv", lines, EXPERTS),) if lines else ()
    names = tuple(f"{PREFIX}{part}" for part in (LAYER, GATE_UP, DOWN, RAW, f"{RAW}_weightfirst"))
    return plan_of(*tables, targets=(GFX950,), ops=frozenset({"moe"}), signatures=names)


def asked(
    plan: GenerationPlan,
    part: str,
    n: int,
    k: int,
    tokens: int = 1,
    experts: int = 64,
    block_m: int = 0,
    top_k: int = 8,
) -> MoeQuery:
    signature, shape = parse_canonical(PREFIX + part), Shape(0, tokens, n, k)
    return MoeQuery(plan, GFX950, signature, shape, NO_WISHES, Routing(experts, top_k), block_m)


def answer(one: MoeQuery) -> str:
    """The Config that is chosen; empty where none is."""
    found = select(one)
    return found.instance.config.text() if found.instance is not None else ""


def rules(one: MoeQuery) -> set[str]:
    """What rejects those that are not."""
    return {candidate.finding.rule for candidate in walk(one) if candidate.finding is not None}


def test_which_kernel_of_experts_does_not_depend_on_their_number(tmp_path: Path) -> None:
    plan = experts(tmp_path)
    wanted = {
        (GATE_UP, 768, 6144): "mxfp8_moe_deep_m16_n1x8_k8", (DOWN, 6144, 768): "mxfp8_moe_shallow_m16_n1x16_k8",
        (GATE_UP, 1024, 2048): "mxfp8_moe_deep_m16_n1x16_k8", (DOWN, 2048, 1024): "mxfp8_moe_deep_m16_n1x16_k8",
        (LAYER, 768, 6144): "gateup_hip_mxfp8_moe_deep_m16_n1x8_k8_down_hip_mxfp8_moe_shallow_m16_n1x16_k8",
    }  # fmt: skip
    for (part, n, k), config in wanted.items():
        assert {answer(asked(plan, part, n, k, 1, count)) for count in (8, 9, 64, 127, 128, 200, 227)} == {config}
    for count in (128, 200, 227):
        for block_m, own in ((0, 16), (16, 16), (32, 32)):
            found = answer(asked(plan, GATE_UP, 768, 6144, 8, count, block_m))
            assert found == f"mxfp8_moe_deep_m{own}_n1x8_k8"
    for part in (GATE_UP, LAYER):
        one = asked(plan, part, 768, 6144, 1, 256)
        assert not answer(one) and "(rule moe.weights)" in select(one).reason
    assert answer(asked(plan, DOWN, 6144, 768, 1, 256)) == "mxfp8_moe_shallow_m16_n1x16_k8"


def test_a_raw_product_goes_by_its_rows_of_b_and_its_routed_rows(tmp_path: Path) -> None:
    """gate_up's 1536 rows of B, of tokens; down's 6144, of slots, which are tokens of one expert each."""
    plan = experts(tmp_path)
    for part in (RAW, f"{RAW}_weightfirst"):
        for count in (8, 32, 227):
            first = asked(plan, part, 1536, 6144, 4, count, 16, top_k=4)
            assert answer(first) == "mxfp8_moe_deep_m16_n1x8_k8"
            assert answer(asked(plan, part, 6144, 768, 8, count, 16, top_k=1)) == "mxfp8_moe_shallow_m16_n1x16_k8"
            assert "(rule moe.routed-max)" in select(asked(plan, part, 6144, 768, 9, count, 16, top_k=1)).reason
        for count, most in ((127, 4), (128, 16)):
            assert answer(asked(plan, part, 1536, 6144, most, count, 16, top_k=4))
            assert not answer(asked(plan, part, 1536, 6144, most + 1, count, 16, top_k=4))


def test_a_row_of_gate_up_declines_the_raw_product_of_as_many_rows_of_b(tmp_path: Path) -> None:
    plan = experts(tmp_path, "1536,6144,4,0,0")
    assert "(rule moe.declined)" in select(asked(plan, RAW, 1536, 6144, 1, top_k=4)).reason
    assert "(rule moe.declined)" in select(asked(plan, GATE_UP, 768, 6144)).reason
    assert answer(asked(plan, f"{RAW}_weightfirst", 1536, 6144, 1, top_k=4)) and answer(asked(plan, RAW, 768, 6144))


def test_a_row_of_experts_is_for_any_routing_and_for_layers_too(tmp_path: Path) -> None:
    plan = experts(tmp_path, "1536,6144,8,0,0", "2048,1024,1,0,0", "4096,1024,1,1,1", "4096,1000,1,1,1")
    assert [str(fate) for fate in plan.fates] == [
        "external(caller)",
        "external(caller)",
        "default",
        "unavailable(no kernel of experts takes K = 1000)",
    ]
    names = {kernel for unit in plan.units for table in unit.tables for kernel in table.externals}
    assert names == {OWN}, "a row that takes nothing away is no row of the generated table"
    for part in (GATE_UP, LAYER):
        for count in (8, 227):
            one = asked(plan, part, 768, 6144, 1, count)
            assert not answer(one) and "moe.declined" in rules(one)
    assert answer(asked(plan, GATE_UP, 768, 2048)) and answer(asked(plan, DOWN, 6144, 768))
    assert answer(asked(plan, DOWN, 2048, 1024)), "the row is of a down without weights"
    assert answer(asked(plan, DOWN, 4096, 1024)), "the row says what holds without one"
