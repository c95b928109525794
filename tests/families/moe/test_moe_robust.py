"""Layers of experts that no row answers: pairs of classic CK's kernels for each block_m, and why others have none."""

from __future__ import annotations

from functools import cache

import pytest

from ckgen.families.gemm.enums import MoePart
from ckgen.families.gemm.signature import parse_canonical
from ckgen.families.moe.config import MoePairConfig
from ckgen.families.moe.query import MoeQuery
from ckgen.families.robust import robust
from ckgen.model.groups import Routing
from ckgen.model.selection import Tier
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape
from ckgen.plan.model import GenerationPlan
from ckgen.plan.select import select
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
    assert selection.tier is Tier.DEFAULT and selection.instance is not None
    assert isinstance(selection.instance.config, MoePairConfig)
    assert selection.instance.config.macro_tile.m == block_m
    assert {part.signature.moe.part for part in selection.instance.parts} == {MoePart.GATE_UP, MoePart.DOWN}


def test_tokens_that_the_caller_sorted_are_taken_in_his_blocks() -> None:
    for block_m in (32, 64):
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


def test_the_target_counts_nothing_but_compute_units() -> None:
    """On another product of the arch the same kernels answer."""
    query = MoeQuery(
        plan(), Target("gfx942", 80), parse_canonical(LAYER), Shape(0, 7, 384, 4096), routing=Routing(128, 8)
    )
    assert select(query).tier is Tier.DEFAULT
