"""Stream-K instances of ck_tile as device code: one kernel each, its demands and its units."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ckgen.build.device_code import device_code, variants_of
from ckgen.build.planned import plan_host, plan_kernel
from ckgen.families.common.device.unit import Use
from ckgen.families.gemm.config import CkTileConfig, Scheduler, TilePipeline
from ckgen.families.gemm.device import ck_tile as dense
from ckgen.families.gemm.device import ck_tile_stream_k as stream_k
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.signature import parse_canonical
from ckgen.families.registry import make_instance
from ckgen.model.config import Tile
from ckgen.model.strategy import Strategy
from ckgen.model.tuned_row import Shape

PLAIN = CkTileConfig(
    Tile(128, 128, 64), (2, 2, 1), Tile(32, 32, 16), TilePipeline.COMPV3, Scheduler.INTRAWAVE,
    pad_m=True, pad_n=True, pad_k=True, strategy=Strategy.LINEAR,
)  # fmt: skip


def instance(signature: str = "gemm_fp16_rcr", **changed: Any) -> Instance:
    """An instance of PLAIN, changed."""
    return make_instance(
        parse_canonical(signature), replace(PLAIN, **changed),
        archs=("gfx942", "gfx950"),
    )  # fmt: skip


@pytest.mark.parametrize("strategy", [Strategy.ATOMIC, Strategy.LINEAR, Strategy.TREE])
def test_one_kernel_takes_every_problem(strategy: Strategy) -> None:
    made = instance(strategy=strategy)
    uses = [Use(Shape(0, 64, 64, k), 1) for k in (64, 640, 6400)]
    assert [variant.name for variant in variants_of(made, uses)] == [strategy.value]
    assert variants_of(made, ()) == variants_of(made, uses)
    planned = plan_kernel(made, "gfx942", uses)
    assert planned.unavailable == "" and f"ckgen::Strategy::{strategy}" in planned.text
    assert [symbol for symbol, _ in planned.expected] == [f"ckgen_{made.id:016x}_{strategy}"]


def test_the_host_unit_knows_which_archs_have_the_kernel() -> None:
    made = instance()
    text = plan_host(made, {"gfx950": (), "gfx942": ()}).text
    assert "on(Arch::gfx942, Arch::gfx950)" in text and f"ckgen_prepare_{made.id:016x}" in text
    assert "on(Arch::gfx950)" in plan_host(made, {"gfx950": ()}).text


@pytest.mark.parametrize(
    ("changed", "copies"),
    [
        ({}, 2 + 2 + 1),  # hot; even and odd without main loop
        ({"pipeline": TilePipeline.COMPV4}, 1 + 2 + 3 + (2 + 2) + (2 + 3)),
        ({"pipeline": TilePipeline.MEM}, (2 + 1) + (2 + 2) + (2 + 1)),
    ],
)
def test_every_form_of_the_main_loop_is_in_the_kernel_once(changed: dict[str, Any], copies: int) -> None:
    made = instance(**changed)
    (variant,) = stream_k.all_variants(made)
    demanded = stream_k.expected(made, "gfx942", variant)
    assert (demanded.copies, demanded.steps) == (copies, (("v_mfma_f32_32x32x8_f16", 2 * 2 * 4 * 2),))
    assert (demanded.spills, demanded.scratch_bytes, demanded.resident) == (0, 0, True)


@pytest.mark.parametrize(
    ("warps", "blocks", "waves"), [((2, 2, 1), 1, 1), ((2, 2, 1), 2, 2), ((2, 4, 1), 2, 4), ((1, 1, 1), 3, 1)]
)
def test_registers_leave_room_for_all_that_are_resident(warps: tuple[int, int, int], blocks: int, waves: int) -> None:
    assert stream_k.waves_per_simd(instance(warps=warps, block_per_cu=blocks)) == waves


def test_what_a_dense_kernel_lacks_a_stream_k_kernel_lacks_too() -> None:
    odd = instance("gemm_fp16_rcr", warp_tile=Tile(16, 16, 16), tile=Tile(96, 64, 64))
    assert "CShuffleEpilogue" in str(device_code(odd).unavailable("gfx942"))
    assert device_code(odd).unavailable("gfx942") == dense.unavailable(odd, "gfx942")
    assert stream_k.unavailable(instance(), "gfx942") is None
    assert stream_k.unavailable(instance("gemm_int8_int32_rcr"), "gfx942") is None
