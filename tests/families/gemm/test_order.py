"""The order of additions: what of a Config is part of it, and which one answers all M of a ladder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ckgen.families.common.order import NO_ORDER, OrderIn
from ckgen.families.gemm.config import (
    CkTileConfig,
    CutlassConfig,
    CutlassSchedule,
    HostConfig,
    Scheduler,
    TilePipeline,
)
from ckgen.families.gemm.one_order import choice_of_ladder, order_in, takes_every_batch
from ckgen.families.gemm.order import order_of
from ckgen.families.gemm.problem_rules import Constraints, RoutedConstraints
from ckgen.families.gemm.signature import parse_canonical
from ckgen.model.config import Tile
from ckgen.model.selection import Tier, Wishes
from ckgen.model.strategy import Strategy
from ckgen.plan.select import select, walk
from plan_support import GFX942, LARGE, SMALL_M, plan_of, query, row, write_table

BF16 = parse_canonical("gemm_bf16_rcr")
PLAIN = CkTileConfig(
    Tile(128, 128, 64), (2, 2, 1), Tile(32, 32, 16), TilePipeline.COMPV3, Scheduler.INTRAWAVE, pad_m=True
)
HOST = HostConfig(8, 32, 64, 512, 256)


@pytest.mark.parametrize(
    ("changes", "is_alike"),
    [
        ({"tile": Tile(64, 256, 64)}, True),
        ({"warps": (1, 4, 1)}, True),
        ({"pipeline": TilePipeline.MEM}, True),
        ({"pad_m": False, "pad_n": True}, True),
        ({"persistent": True}, True),
        ({"warp_tile": Tile(16, 16, 32)}, False),
        ({"warps": (2, 2, 2)}, False),
        ({"pipeline": TilePipeline.FLATMM}, False),
    ],
)
def test_only_what_says_something_of_k_is_part_of_an_order(changes: dict[str, Any], is_alike: bool) -> None:
    own, other = order_of(BF16, PLAIN, ("gfx942",)), order_of(BF16, replace(PLAIN, **changes), ("gfx942",))
    assert (own.whole == other.whole) is is_alike and own.whole and own.split != own.whole


def test_where_k_is_cut_is_part_of_the_order_of_splits_alone() -> None:
    own, other = (order_of(BF16, replace(PLAIN, tile=Tile(128, 128, k)), ("gfx942",)) for k in (64, 128))
    assert own.whole == other.whole and own.split != other.split
    assert own.of(1) != own.of(2) != own.of(4) and own.of(0) == OrderIn()


def test_stream_k_has_no_order() -> None:
    for config, arch in ((PLAIN, "gfx942"), (HOST, "x86_64_v4")):
        assert order_of(BF16, replace(config, strategy=Strategy.TREE), (arch,)) == NO_ORDER


def test_kernels_of_cutlass_add_up_alike_but_where_workgroups_share_k() -> None:
    plain = CutlassConfig(Tile(128, 256, 64), (2, 1), CutlassSchedule.CO)
    swapped = CutlassConfig(Tile(64, 16, 128), (1, 1), CutlassSchedule.PP, swap=True)
    blocks, rows = (parse_canonical(f"gemm_fp8_ocp_bf16_rcr_{quant}") for quant in ("blockscale", "rowwise"))
    for signature in (BF16, rows):
        assert order_of(signature, plain, ("sm_90a",)).whole == order_of(signature, swapped, ("sm_90a",)).whole != ""
    assert order_of(blocks, swapped, ("sm_90a",)).whole not in ("", order_of(rows, swapped, ("sm_90a",)).whole)
    assert order_of(BF16, replace(plain, stream_k=True), ("sm_90a",)) == NO_ORDER


def test_a_cluster_adds_up_parts_of_k_in_an_order_of_its_own() -> None:
    whole = CutlassConfig(Tile(64, 16, 128), (1, 1), CutlassSchedule.PP, swap=True)
    shared = replace(whole, schedule=CutlassSchedule.KC, parts=4)
    others = (replace(shared, parts=2), replace(shared, tile=Tile(64, 16, 64)), whole)
    words = [order_of(BF16, config, ("sm_90a",)).whole for config in (shared, *others)]
    assert len({*words}) == len(words) and "" not in words
    assert order_of(BF16, replace(shared, tile=Tile(64, 64, 128)), ("sm_90a",)).whole == words[0]
    assert order_of(BF16, replace(shared, parts=1), ("sm_90a",)).whole == words[-1]
    blocks = parse_canonical("gemm_fp8_ocp_bf16_rcr_blockscale")
    assert order_of(blocks, replace(shared, parts=1), ("sm_90a",)) != order_of(blocks, whole, ("sm_90a",))


def test_a_cpu_adds_up_bf16_by_pairs_where_it_can() -> None:
    fp32, int8 = parse_canonical("gemm_fp32_rcr"), parse_canonical("gemm_int8_bf16_rcr_rowwise")
    levels = ("x86_64_v3", "x86_64_v4", "x86_64_v4_bf16", "x86_64_amx")
    assert [order_of(BF16, HOST, (level,)).whole for level in levels] == ["host one by one"] * 2 + ["host pairs"] * 2
    assert {order_of(fp32, HOST, (level,)).whole for level in levels} == {"host one by one"}
    assert {order_of(int8, HOST, (level,)).whole for level in levels} == {"exact"}
    assert order_of(BF16, HOST, ("x86_64_v3", "x86_64_v4_bf16")).whole == "host one by one"


def test_tile_instructions_add_up_pairs_in_their_own_way() -> None:
    tiles = {order_of(BF16, replace(HOST, mr=rows), ("x86_64_amx",)).whole for rows in (16, 32)}
    assert tiles == {"host tiles"}
    assert order_of(parse_canonical("gemm_fp32_rcr"), replace(HOST, mr=32), ("x86_64_amx",)).whole == "host one by one"


@pytest.mark.parametrize(
    ("constraints", "takes"),
    [
        (Constraints(n_multiple=8, k_multiple=8), True),
        (Constraints(m_multiple=8), False),
        (Constraints(max_m=16), False),
        (Constraints(min_m=2), False),
        (Constraints(measured_only=True), False),
        (Constraints(routed=RoutedConstraints(max_routed=64)), False),
    ],
)
def test_who_takes_every_m(constraints: Constraints, takes: bool) -> None:
    assert takes_every_batch(constraints) is takes


def test_a_ladder_is_answered_in_the_order_that_loses_least(tmp_path: Path) -> None:
    """Four atomic parts have no order: all M get the whole sums that won five sizes, far beyond them too."""
    rows = [row(16, SMALL_M, splitK=2), *(row(m, LARGE) for m in (32, 64, 128, 256, 512))]
    plan = plan_of(write_table(tmp_path / "a8w8_blockscale.csv", rows))
    (unit,) = (one for one in plan.units if one.tables and one.signature.c.value == "bf16")
    table = unit.tables[0]
    (key,) = table.groups
    choice = choice_of_ladder(unit, table, key)
    assert choice is not None and choice.k_batch == 1
    orders = set()
    for m in (1, 2, 16, 17, 33, 128, 257, 1024, 40_000):
        found = select(query(plan, GFX942, "a8w8_blockscale", m, 512, 1024, wishes=Wishes(batch_invariant=True)))
        assert found.instance is not None
        orders.add(found.instance.order_in(found.k_batch))
    assert orders == {order_in(unit.instances, choice)}
    free = select(query(plan, GFX942, "a8w8_blockscale", 16, 512, 1024))
    assert (free.tier, free.k_batch) == (Tier.EXACT, 4)


def test_what_has_another_order_says_so(tmp_path: Path) -> None:
    rows = [row(16, SMALL_M, splitK=2), *(row(m, LARGE) for m in (32, 64, 128, 256, 512))]
    plan = plan_of(write_table(tmp_path / "a8w8_blockscale.csv", rows))
    asked = query(plan, GFX942, "a8w8_blockscale", 16, 512, 1024, wishes=Wishes(batch_invariant=True))
    first = next(iter(walk(asked)))
    assert first.finding is not None and first.tier is Tier.EXACT
    assert first.finding.rule == "gemm.instance.atomic-split"  # one order for every M is deterministic too
    alone = write_table(tmp_path / "a8w8_blockscale.csv", [row(16, SMALL_M, splitK=1), row(4096, LARGE)])
    asked = query(plan_of(alone), GFX942, "a8w8_blockscale", 16, 512, 1024, wishes=Wishes(batch_invariant=True))
    splits = asked.one_order().k_batch
    other = replace(asked, shape=replace(asked.shape, m=4096 if splits == 2 else 16))
    first = next(iter(walk(other)))
    assert first.finding is not None and first.finding.rule == "gemm.instance.order-splits"
    assert first.finding.text.startswith(f"k_batch = {3 - splits}, and {splits} for all M of this N and K")
