"""The decision rules of layers of experts: block_m by the rows of a busy expert, held against every measured pair."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest

from ckgen.families.common.decision_rule import DecisionRule
from ckgen.families.gemm.candidates import default_cost
from ckgen.families.gemm.heuristic import heuristic_for
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.signature import GemmSignature, parse_canonical
from ckgen.families.moe.problem_rules import alike_experts, supports_routing
from ckgen.families.moe.robust import config_of_leaf, ruled_module
from ckgen.families.moe.tables import moe_signature_of, why_no_signature
from ckgen.families.registry import make_instance
from ckgen.families.robust import robust
from ckgen.model.groups import Routing
from ckgen.model.moe_row import MoeRow
from ckgen.model.tuned_row import Shape
from ckgen.specs.archs import load_archs
from plan_support import REAL_TABLES, REAL_TARGETS, plan_of

ARCHS = ("gfx908", "gfx90a", "gfx942", "gfx950")
LAYERS = (
    "moe_bf16_rcr_preshuffle_layer_gated_epi_silu", "moe_fp16_rcr_preshuffle_layer_gated_epi_silu",
    "moe_fp8_bf16_rcr_rowwise_preshuffle_layer_gated_epi_silu",
    "moe_fp8_bf16_rcr_blockscale_preshuffle_layer_gated_epi_silu",
)  # fmt: skip
FEW = 80
"""Compute units of the smaller product, whose tables choose the least block whatever the rows."""


def rule_of(signature: GemmSignature, gfx: str) -> DecisionRule:
    found = heuristic_for(ruled_module(signature), gfx)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("quant", "rows", "cu_num", "block_m"),
    [
        ("", 16, 304, 32), ("", 17, 304, 64), ("", 63, 304, 64), ("", 64, 304, 128), ("", 64, 81, 128),
        ("", 1 << 20, FEW, 32), ("_blockscale", 127, 304, 32), ("_blockscale", 128, 304, 64),
        ("_blockscale", 1 << 20, FEW, 16),
    ],
)  # fmt: skip
def test_both_sides_of_every_threshold(quant: str, rows: int, cu_num: int, block_m: int) -> None:
    types = "fp8_fnuz_bf16" if quant else "bf16"
    signature = parse_canonical(f"moe_{types}_rcr{quant}_preshuffle_layer_gated_epi_silu")
    rule = rule_of(signature, "gfx942")
    found = rule.evaluate(1, 1, 1, rows=rows, cu_num=cu_num)
    assert found is not None and rule.leaves[found].kernel == f"block_m{block_m}"


@pytest.mark.parametrize("gfx", ARCHS)
@pytest.mark.parametrize("name", LAYERS)
def test_every_arm_names_a_default_of_the_arch(name: str, gfx: str) -> None:
    signature = parse_canonical(name).resolved(load_archs()[gfx].fp8_flavour)
    defaults = robust(signature, gfx).configs
    named = {config_of_leaf(one.kernel, signature) for one in rule_of(signature, gfx).leaves}
    assert not defaults or named <= {*defaults}


def test_a_name_of_another_form_is_no_kernel() -> None:
    assert config_of_leaf("block_m32x64", parse_canonical(LAYERS[0])) is None


@cache
def measured() -> tuple[MoeRow, ...]:
    """The rows whose two kernels are classic CK's, on archs that the tables tell or imply."""
    plan = plan_of(*sorted(REAL_TABLES.rglob("*moe*.csv")), targets=REAL_TARGETS, ops=frozenset({"moe"}))
    rows = (row for file in plan.files for row in file.rows)
    pairs = [row for row in rows if isinstance(row, MoeRow) and len(row.stages) == 2 and row.target is not None]
    return tuple(row for row in pairs if row.library == "ck" and row.block_m and why_no_signature(row) is None)


def by_cost(row: MoeRow, signature: GemmSignature, routing: Routing, cu_num: int) -> int:
    """block_m of the default that costs least."""
    assert row.target is not None
    instances: list[Instance] = [
        make_instance(signature, config, archs=(row.target.gfx,))
        for config in robust(signature, row.target.gfx).configs
    ]
    shape = Shape(0, row.shape.m, row.shape.n, row.shape.k)
    legal = [one for one in instances if supports_routing(one, shape, routing, 0, 1) is None]
    alike = alike_experts(signature, shape, routing)
    return min(legal, key=lambda one: default_cost(one, alike, cu_num)).config.macro_tile.m if legal else 0


def test_the_rule_names_the_measured_block_more_often_than_costs_do() -> None:
    """By scales, compute units and rows of a busy expert: rows of tables, those that the rule hits, those of costs."""
    found: dict[tuple[str, str, str], Counter[str]] = {}
    for row in measured():
        assert row.target is not None and row.top_k is not None and row.experts is not None
        signature = moe_signature_of(row, load_archs()[row.target.gfx].fp8_flavour)
        if not ruled_module(signature):
            continue
        routing, cu_num = Routing(row.experts, row.top_k), row.target.cu_num
        rows = alike_experts(signature, row.shape, routing).m
        rule = rule_of(signature, row.target.gfx)
        taken = rule.evaluate(row.shape.m, row.shape.n, row.shape.k, rows=rows, cu_num=cu_num)
        assert taken is not None
        band = "up to 16" if rows <= 16 else "below 128" if rows < 128 else "more"
        counts = found.setdefault((rule.module, "few CUs" if cu_num <= FEW else "many CUs", band), Counter())
        counts.update(
            all=1, rule=rule.leaves[taken].kernel == f"block_m{row.block_m}",
            cost=by_cost(row, signature, routing, cu_num) == row.block_m,
        )  # fmt: skip
    told = {key: (counts["all"], counts["rule"], counts["cost"]) for key, counts in sorted(found.items())}
    assert told == {
        ("moe", "few CUs", "up to 16"): (327, 305, 305), ("moe", "few CUs", "below 128"): (54, 54, 26),
        ("moe", "few CUs", "more"): (131, 130, 0), ("moe", "many CUs", "up to 16"): (27, 27, 27),
        ("moe", "many CUs", "below 128"): (6, 4, 2), ("moe", "many CUs", "more"): (15, 14, 14),
        ("moe_blockscale", "few CUs", "up to 16"): (108, 81, 81),
        ("moe_blockscale", "few CUs", "below 128"): (22, 16, 3), ("moe_blockscale", "few CUs", "more"): (47, 32, 15),
        ("moe_blockscale", "many CUs", "up to 16"): (25, 10, 9),
        ("moe_blockscale", "many CUs", "below 128"): (11, 9, 8), ("moe_blockscale", "many CUs", "more"): (14, 10, 10),
    }  # fmt: skip
