"""Dense ck_tile instances as device code: which kernels, their names, units and demands."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckgen.emit.device import render_device_unit
from ckgen.families.common.device.unit import Use
from ckgen.families.common.device.variant import Tail
from ckgen.families.gemm.config import CkTileConfig, Epilogue, Scheduler, TilePipeline
from ckgen.families.gemm.device import ck_tile
from ckgen.families.gemm.device.ck_tile import TileVariant
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.registry import make_instance
from ckgen.model.config import Tile
from ckgen.model.dtype import DType
from ckgen.model.tuned_row import Shape

FP16 = GemmSignature.of(DType.FP16, DType.FP16)
PLAIN = CkTileConfig(Tile(128, 128, 64), (2, 2, 1), Tile(32, 32, 16), TilePipeline.COMPV3, Scheduler.INTRAWAVE)


def instance(config: CkTileConfig, signature: GemmSignature = FP16) -> Instance:
    archs = ("gfx942", "gfx950")
    return make_instance(signature, config, archs=archs)


def names(found: tuple[TileVariant, ...]) -> list[str]:
    return [variant.name for variant in found]


@pytest.mark.parametrize(
    ("pipeline", "loops"),
    [
        (TilePipeline.COMPV3, ["cold_even", "cold_odd", "hot_full"]),
        (TilePipeline.COMPV4, ["cold_one", "cold_three", "cold_two", "hot_three", "hot_two"]),
        (TilePipeline.COMPV5, ["hot_empty"]),
        (TilePipeline.COMPV6, ["cold_even", "cold_odd", "hot_even", "hot_odd"]),
        (TilePipeline.COMP_ASYNC, ["cold_one", "cold_three", "cold_two", "hot_three", "hot_two"]),
        (TilePipeline.MEM, ["cold_full", "cold_one", "hot_full", "hot_one"]),
    ],
)
def test_variants_are_main_loops_times_set_and_add(pipeline: TilePipeline, loops: list[str]) -> None:
    found = ck_tile.all_variants(instance(replace(PLAIN, pipeline=pipeline)))
    assert names(found) == sorted(f"{loop}_{store}" for loop in loops for store in ("set", "add"))


def test_mem_keeps_as_many_tiles_in_flight_as_fill_the_memory() -> None:
    small = replace(PLAIN, tile=Tile(32, 32, 32), pipeline=TilePipeline.MEM, warp_tile=Tile(16, 16, 16))
    # 32 KiB over tiles of 4 KiB
    assert len(ck_tile.all_variants(instance(small))) == 2 * 2 * 8


def test_without_splits_nothing_is_added() -> None:
    direct = instance(replace(PLAIN, epilogue=Epilogue.DEFAULT))
    assert direct.constraints.max_k_batch == 1
    assert names(ck_tile.all_variants(direct)) == ["cold_even_set", "cold_odd_set", "hot_full_set"]


@pytest.mark.parametrize(
    ("k", "k_batch", "name"),
    [(64, 1, "cold_odd_set"), (65, 1, "cold_even_set"), (192, 1, "hot_full_set"), (192, 2, "cold_even_add")],
)
def test_a_problem_reaches_one_variant(k: int, k_batch: int, name: str) -> None:
    use = Use(Shape(0, 128, 128, k), k_batch)
    assert ck_tile.variant_of(instance(PLAIN), use).name == name
    assert names(ck_tile.reachable(instance(PLAIN), [use, use])) == [name]


@pytest.mark.parametrize(
    ("pipeline", "variant", "copies"),
    [
        (TilePipeline.COMPV3, TileVariant(True, Tail.FULL, False), 2),
        (TilePipeline.COMPV4, TileVariant(True, Tail.THREE, False), 5),
        (TilePipeline.COMPV6, TileVariant(False, Tail.EVEN, True), 2),
        (TilePipeline.MEM, TileVariant(True, Tail.ONE, False), 3),
        (TilePipeline.MEM, TileVariant(False, Tail.FULL, False), 2),
    ],
)
def test_the_text_holds_main_loop_and_tail(pipeline: TilePipeline, variant: TileVariant, copies: int) -> None:
    found = instance(replace(PLAIN, pipeline=pipeline))
    assert variant in ck_tile.all_variants(found)
    assert ck_tile.copies(found, variant) == copies


def test_each_arch_has_its_own_instruction() -> None:
    found, variant = instance(PLAIN), TileVariant(True, Tail.FULL, False)
    # a wave has 2 x 2 warp tiles of C and 4 along K; one is two instructions before gfx950
    assert ck_tile.expected(found, "gfx942", variant).steps == (("v_mfma_f32_32x32x8_f16", 32),)
    assert ck_tile.expected(found, "gfx950", variant).steps == (("v_mfma_f32_32x32x16_f16", 16),)
    expected = ck_tile.expected(found, "gfx942", variant)
    assert (expected.lds_bytes, expected.spills, expected.scratch_bytes) == (32768, 0, 0)
    double = instance(replace(PLAIN, pipeline=TilePipeline.COMPV4))
    assert ck_tile.expected(double, "gfx942", TileVariant(True, Tail.TWO, False)).lds_bytes == 65536


def test_units_name_their_kernels_once() -> None:
    found = instance(PLAIN)
    variants = ck_tile.all_variants(found)
    device = ck_tile.device_unit(found, variants)
    text = render_device_unit(device)
    assert len(device.symbols) == 6
    assert all(text.count(f"({symbol}, Config, ") == 1 for symbol in device.symbols)
    host = ck_tile.host_unit(found, {"gfx942": variants, "gfx950": variants[:1]})
    prepare = f"ckgen_prepare_{found.id:016x}"
    assert host.symbols == (prepare,)
    text = render_device_unit(host)
    assert text.count(prepare) == 1
    assert text.count("on(Arch::gfx942, Arch::gfx950)") == 1
    assert text.count("on(Arch::gfx942)") == 5


def test_what_the_tree_lacks_is_unavailable() -> None:
    found = instance(replace(PLAIN, pipeline=TilePipeline.COMP_ASYNC))
    assert "straight into LDS" in (ck_tile.unavailable(found, "gfx942") or "")
    assert ck_tile.unavailable(found, "gfx950") is None
