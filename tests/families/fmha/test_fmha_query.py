"""Which kernel answers attention, and the trail of it."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from ckgen.families.fmha.config import CkTileFmhaConfig
from ckgen.families.fmha.query import FmhaQuery
from ckgen.families.fmha.signature import parse_signature
from ckgen.model.fmha_shape import FmhaShape
from ckgen.model.selection import NO_WISHES, Tier, Wishes
from ckgen.model.strategy import Strategy
from ckgen.model.target import Target
from ckgen.plan.model import GenerationPlan
from ckgen.plan.select import select, walk
from ckgen.plan.trail import Status, trail
from plan_support import plan_of

GFX942, GFX950, AMX = Target("gfx942", 304), Target("gfx950", 256), Target("x86_64_amx", 4)
USUAL = FmhaShape(batch=4, heads_q=32, heads_k=8, seqlen_q=4096, seqlen_k=4096, hdim_q=128, hdim_v=128)


@cache
def plan() -> GenerationPlan:
    targets = (GFX942, GFX950, AMX, Target("x86_64_v4", 4))
    names = ("fmha_bf16", "fmha_bf16_varlen", "fmha_bf16_masked")
    return plan_of(targets=targets, ops=frozenset({"fmha"}), signatures=names)


def asked(target: Target, signature: str = "bf16", wishes: Wishes = NO_WISHES, **sizes: int) -> FmhaQuery:
    shape = replace(USUAL, **sizes)  # type: ignore[arg-type]
    return FmhaQuery(plan(), target, parse_signature(signature, None), shape, wishes)


def chosen(query: FmhaQuery) -> CkTileFmhaConfig:
    found = select(query).instance
    assert found is not None and isinstance(found.config, CkTileFmhaConfig)
    return found.config


@pytest.mark.parametrize("hdim", [32, 64, 128, 192, 256])
def test_a_kernel_of_the_exact_head_dim_is_preferred(hdim: int) -> None:
    config = chosen(asked(GFX942, hdim_q=hdim, hdim_v=hdim))
    assert (config.k0_max, config.n1) == (hdim, hdim)


def test_whole_lengths_take_fewer_pads_and_odd_ones_more() -> None:
    assert not chosen(asked(GFX942)).pad_k
    assert chosen(asked(GFX942, seqlen_k=4000)).pad_k
    assert chosen(asked(GFX942, "bf16_varlen")).pad_k
    assert chosen(asked(GFX942, hdim_q=96, hdim_v=128)).k0_max == 96


def test_few_rows_take_a_small_tile_where_there_is_one() -> None:
    for target in (GFX942, GFX950):
        found = select(asked(target, seqlen_q=4))
        assert found.instance is not None and found.instance.name == "fmha_bf16_hip_decode_16x128_128x128"
        assert found.k_batch > 1
    assert chosen(asked(GFX950, seqlen_q=16, hdim_q=120)).m0 == 16
    assert chosen(asked(GFX942, seqlen_q=16, hdim_q=120)).m0 == 128


def test_some_rows_of_many_keys_are_shared() -> None:
    """As many splits as fill the device; none of many rows."""
    query = asked(GFX942, "bf16_masked", batch=1, seqlen_q=256, seqlen_k=65536)
    found = select(query)
    assert found.instance is not None and "_qr_splitkv_pad" in found.instance.name and found.k_batch > 1
    assert select(asked(GFX942)).k_batch == 1
    text = trail(query, str).text()
    assert f"k_batch {found.k_batch}\n" in text and f", {found.k_batch} costs " in text and "splits: 1 costs " in text


def test_a_cpu_takes_what_the_highest_level_below_it_has() -> None:
    found = select(asked(AMX, hdim_q=100, seqlen_q=7)).instance
    assert found is not None and found.name == "fmha_bf16_host_32x64_t0" and "x86_64_v4" in found.archs


def test_nothing_is_walked_of_an_illegal_problem_and_its_reason_is_the_rule() -> None:
    query = asked(GFX942, heads_k=5)
    found, said = select(query), trail(query, str)
    assert found.tier is Tier.UNSUPPORTED and found.reason.endswith("(rule fmha.shape.head-groups)")
    assert said.reason == found.reason and {step.status for step in said.steps} == {Status.NOT_TRIED}


def test_another_strategy_is_only_a_reason_where_there_is_no_other() -> None:
    found = select(asked(GFX942, wishes=Wishes(strategy=Strategy.TREE)))
    assert found.instance is None and found.reason.endswith("(rule gemm.stream_k.strategy)")
    assert select(asked(GFX942, wishes=Wishes(strategy=Strategy.DATA_PARALLEL))).instance is not None


def test_a_trail_names_every_kernel_once_and_ends_with_what_is_taken() -> None:
    query = asked(GFX942, "bf16_masked", hdim_v=100)
    tried, said = list(walk(query)), trail(query, str)
    of_default = [step for step in said.steps if step.tier is Tier.DEFAULT]
    assert [step.instance for step in of_default] == [candidate.instance for candidate in tried]
    assert [step.status for step in of_default].count(Status.TAKEN) == 1
    taken = of_default[-1].instance
    assert of_default[-1].status is Status.TAKEN and taken is select(query).instance
    assert "mask=b:-1,0  on gfx942:304" in said.title
