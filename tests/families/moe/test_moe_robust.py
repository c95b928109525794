"""Layers of experts that no row answers: pairs of classic CK's kernels for each block_m, and why others have none."""

from __future__ import annotations

from functools import cache

import pytest

from ckgen.families.gemm.enums import MoePart
from ckgen.families.gemm.signature import parse_canonical
from ckgen.families.moe.ck_config import CkMoeConfig
from ckgen.families.moe.config import MoePairConfig
from ckgen.families.moe.lds import lds_bytes
from ckgen.families.moe.parts import part_signatures
from ckgen.families.moe.query import MoeQuery
from ckgen.families.moe.robust import config_of_leaf
from ckgen.families.robust import robust
from ckgen.families.rules import judge
from ckgen.model.groups import Routing
from ckgen.model.selection import Tier
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape
from ckgen.plan.model import GenerationPlan
from ckgen.plan.select import select
from ckgen.specs.archs import load_arch
from plan_support import GFX942, plan_of

LAYER = "moe_fp8_fnuz_bf16_rcr_blockscale_preshuffle_layer_gated_epi_silu"


@cache
def plan() -> GenerationPlan:
    return plan_of(targets=(GFX942,), ops=frozenset({"moe"}))


@pytest.mark.parametrize(("tokens", "block_m"), [(1, 32), (512, 32), (4096, 64)])
def test_a_layer_without_a_row_is_answered_in_blocks_as_experts_have_rows(tokens: int, block_m: int) -> None:
    """257 experts, of which a token goes to 9: a few rows of each, or 143."""
    query = MoeQuery(plan(), GFX942, parse_canonical(LAYER), Shape(0, tokens, 256, 6144), routing=Routing(257, 9))
    selection = select(query)
    assert selection.tier is Tier.HEURISTIC and selection.instance is not None
    assert isinstance(selection.instance.config, MoePairConfig)
    assert selection.instance.config.macro_tile.m == block_m
    assert {part.signature.moe.part for part in selection.instance.parts} == {MoePart.GATE_UP, MoePart.DOWN}


def test_tokens_that_the_caller_sorted_are_taken_in_his_blocks() -> None:
    for block_m in (16, 32, 64):
        query = MoeQuery(
            plan(), GFX942, parse_canonical(LAYER), Shape(0, 64, 256, 6144), routing=Routing(257, 9), block_m=block_m
        )
        instance = select(query).instance
        assert instance is not None and instance.config.macro_tile.m == block_m


@pytest.mark.parametrize(
    ("gfx", "name", "why"),
    [
        ("gfx942", "moe_bf16_rcr_layer_gated_epi_silu", "weights must be preshuffled"),
        ("gfx942", "moe_bf16_rcr_preshuffle_layer_epi_silu", "gate_up must have gate and up rows"),
        ("gfx1201", LAYER.replace("fnuz", "ocp"), "gfx1201 runs no XDL kernels"),
        ("gfx90a", LAYER.replace("_fnuz", ""), "no such instruction for fp8"),
    ],
)
def test_why_there_is_no_kernel(gfx: str, name: str, why: str) -> None:
    found = robust(parse_canonical(name), gfx)
    assert found.configs == () and why in found.why


def test_cpus_sort_in_every_block_of_the_tables() -> None:
    found = robust(parse_canonical("moe_bf16_rcr_preshuffle_layer_gated_epi_gelu"), "x86_64_v4")
    assert {config.macro_tile.m for config in found.configs} == {16, 32, 64, 128}


@pytest.mark.parametrize(("inter", "tier", "block_m"), [(512, Tier.HEURISTIC, 16), (384, Tier.DEFAULT, 64)])
def test_costs_choose_where_the_kernel_of_the_rule_refuses(inter: int, tier: Tier, block_m: int) -> None:
    """On few compute units the rule names blocks of 16 rows, whose kernels take K in steps of 256."""
    few = Target("gfx942", 80)
    query = MoeQuery(plan(), few, parse_canonical(LAYER), Shape(0, 600, inter, 4096), routing=Routing(128, 8))
    found = select(query)
    assert found.instance is not None
    assert (found.tier, found.instance.config.macro_tile.m) == (tier, block_m)


@pytest.mark.parametrize(
    ("name", "block_m", "pipeline", "gate_up", "down"),
    [
        ("moe_bf16_rcr_preshuffle_layer_gated_epi_silu", 32, 1, 8192, 8192),
        ("moe_bf16_rcr_preshuffle_layer_gated_epi_silu", 128, 3, 32768, 32768),
        (LAYER, 16, 1, 8192, 8192),
        (LAYER, 32, 1, 16384, 16384),
        (LAYER, 64, 3, 65536, 65536),
        (LAYER, 128, 3, 131072, 131072),
    ],
)
def test_lds_holds_the_larger_of_a_and_what_is_stored_of_c(
    name: str, block_m: int, pipeline: int, gate_up: int, down: int
) -> None:
    """Under scales of blocks all rows of C's tile in fp32, in each of two buffers: 128 KiB for 128 rows.

    test_moe_lds.py holds the formula against compiled kernels.
    """
    config = config_of_leaf(f"block_m{block_m}", parse_canonical(name))
    assert isinstance(config, MoePairConfig)
    found = []
    for part, stage in zip(part_signatures(parse_canonical(name)), (config.gate_up, config.down), strict=True):
        assert isinstance(stage, CkMoeConfig) and stage.pipeline == pipeline
        found.append(lds_bytes(part, stage))
    assert found == [gate_up, down]


def test_blocks_of_128_rows_under_scales_of_blocks_do_not_fit_in_64_kib() -> None:
    signature, (fnuz, ocp) = parse_canonical(LAYER), (load_arch("gfx942"), load_arch("gfx950"))
    config = config_of_leaf("block_m128", signature)
    assert config is not None
    found = judge(signature, config, config.backend, fnuz)
    assert [(one.rule, one.measured, one.limit) for one in found] == [("ck.moe.lds", 131072, 65536)] * 2
    other = parse_canonical(LAYER.replace("fnuz", "ocp"))
    assert judge(other, config, config.backend, ocp) == ()
