from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ckgen.families.gemm.config import CkTileConfig, FmaConfig, TilePipeline
from ckgen.families.gemm.cutlass_config import CutlassConfig, CutlassSchedule
from ckgen.families.gemm.enums import Quant
from ckgen.families.gemm.predicted.chip import Chip, chip_of
from ckgen.families.gemm.predicted.constants import LEAST_ROWS, mean, shipped
from ckgen.families.gemm.predicted.gpu_time import GpuConstants, Own, Sizes, gpu_time
from ckgen.families.gemm.predicted.gpu_work import gpu_work, kernel_of
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.config import Tile
from ckgen.model.dtype import DType
from ckgen.model.target import Target
from ckgen.predict.fit import START
from ckgen.predict.level import LEAST
from ckgen.specs.archs import load_arch

BF16 = GemmSignature.of(DType.BF16, DType.BF16)
TILE = CkTileConfig(Tile(128, 128, 64), (2, 2, 1), Tile(32, 32, 16), TilePipeline.COMPV3)
IDEAL = GpuConstants(
    launch=0.0, matrix=1.0, cache=1e9, memory=1.0, latency=1e-9, tile=0.0, store=0.0, reload=0.0, apart=0.0, split=7.0
)


def chip(target: str = "gfx942", cu_num: int = 304) -> Chip:
    return chip_of(load_arch(target), Target(target, cu_num))


def us(m: int, n: int, k: int, constants: GpuConstants = START, k_batch: int = 1, on: Chip | None = None) -> float:
    where = on or chip()
    work = gpu_work(BF16, TILE, where)
    assert work is not None
    return float(gpu_time(work, Sizes(m, n, k, 1, k_batch), where, constants).us)


def test_a_large_product_at_ideal_constants_takes_its_operations_over_the_peak_but_for_waits_that_none_hides() -> None:
    """304 CUs, 128 x 128 tiles in whole waves: operations / (2048 per clock, CU) at 2100 MHz."""
    m, n, k = 128 * 304, 128 * 8, 8192
    where = chip()
    work = gpu_work(BF16, TILE, where)
    assert work is not None
    peak = 2 * m * n * k / (2048 * 304 * 2100)
    hidden = 1 + 0.35 / (work.resident * work.waves_per_simd)
    assert us(m, n, k, IDEAL) == pytest.approx(peak * hidden)


def test_one_tile_more_than_the_units_take_at_once_is_another_wave() -> None:
    """Two workgroups of a CU hide each other's waits, so that two waves take less than twice one's time."""
    alone = replace(IDEAL, memory=1e9)
    part, whole, more = (us(128 * tiles + 1, 128, 4096, alone) for tiles in (302, 303, 304))
    assert part == whole and 1.7 * whole < more < 2 * whole


def test_few_rows_take_as_long_as_the_weights_need_from_memory() -> None:
    n = k = 65536
    assert us(1, n, k, IDEAL) == pytest.approx((n * k + k + n) * 2 / 5300e3, rel=1e-3)


def test_splits_cost_what_is_said_and_share_the_loop() -> None:
    whole, parts = us(128, 128, 65536, IDEAL), us(128, 128, 65536, IDEAL, k_batch=8)
    assert parts - 7.0 == pytest.approx(whole / 8)


def test_times_grow_with_every_size() -> None:
    for m, n, k in ((1, 512, 512), (100, 4096, 7168), (4096, 4096, 512)):
        assert us(m, n, k) < us(2 * m + 256, n, k) and us(m, n, k) <= us(m, 2 * n, k) and us(m, n, k) < us(m, n, 2 * k)


def test_arrays_are_answered_as_numbers_are() -> None:
    where = chip()
    work = gpu_work(BF16, TILE, where)
    assert work is not None
    m = np.array([1, 17, 128, 5000])
    both = gpu_time(work, Sizes(m, 4096, 7168, 1, 2), where, START, np.maximum).us
    assert both.tolist() == [us(int(one), 4096, 7168, k_batch=2) for one in m]


def test_block_scales_and_kernels_without_matrix_instructions_take_longer() -> None:
    where, fp8 = chip(), GemmSignature.of(DType.FP8_FNUZ, DType.BF16)
    plain = gpu_work(fp8, TILE, where)
    scaled = gpu_work(replace(fp8, quant=Quant.BLOCKSCALE), TILE, where)
    fma = gpu_work(fp8, FmaConfig(Tile(128, 128, 64)), where)
    assert plain is not None and scaled is not None and fma is not None
    assert plain.scale == 0 < scaled.scale and fma.matrix == 16 * plain.matrix


def test_more_staged_bytes_leave_room_for_fewer_workgroups() -> None:
    small, large = (gpu_work(BF16, replace(TILE, tile=Tile(128, 128, k)), chip()) for k in (32, 128))
    assert small is not None and large is not None
    assert small.resident > large.resident >= 1


def test_warpgroups_read_lds_once_and_one_workgroup_of_cutlass_takes_all_of_it() -> None:
    """128 x 256 of 64 halves twice: both warpgroups read B, and each its rows of A, at 128 bytes per clock."""
    hopper = chip("sm_90a", 132)
    both = CutlassConfig(Tile(128, 256, 64), (2, 1), CutlassSchedule.CO)
    own = CutlassConfig(Tile(64, 16, 128), (1, 1), CutlassSchedule.PP, swap=True)
    shared, alone = gpu_work(BF16, both, hopper), gpu_work(BF16, own, hopper)
    assert shared is not None and alone is not None
    assert (shared.lds, alone.lds) == ((128 + 2 * 256) * 2 * 64 / 128, (16 + 64) * 2 * 128 / 128)
    assert (shared.resident, alone.resident, shared.waves_per_simd, alone.waves_per_simd) == (1, 1, 2, 2)
    assert (shared.pipeline, alone.pipeline) == ("cutlass co", "cutlass pp swap")
    assert (alone.tile_m, alone.tile_n) == (16, 64)


def test_a_cluster_starts_as_a_whole_also_where_the_problem_fills_a_part_of_it() -> None:
    """80 clusters along N, whose second workgroup has no row: 160 workgroups are more than 132 SMs."""
    hopper = chip("sm_90a", 132)
    alone = CutlassConfig(Tile(128, 128, 64), (1, 1), CutlassSchedule.PP)
    one, two = gpu_work(BF16, alone, hopper), gpu_work(BF16, replace(alone, cluster=(2, 1)), hopper)
    swapped = gpu_work(BF16, replace(alone, cluster=(2, 1), swap=True), hopper)
    assert one is not None and two is not None and swapped is not None
    assert (two.tile_m, two.tile_n, two.cluster, two.stored) == (256, 128, 2, one.stored)
    assert (swapped.tile_m, swapped.tile_n) == (128, 256)
    rows = Sizes(72, 10240, 5120, 1, 1)
    assert (gpu_time(one, rows, hopper, IDEAL).waves, gpu_time(two, rows, hopper, IDEAL).waves) == (1, 2)


def test_a_product_holds_fewer_clusters_than_its_units_make() -> None:
    """An H200 has 30 clusters of four at once, 32 of which are two waves; of the H100 nothing is known."""
    h200 = chip_of(load_arch("sm_90a"), Target("sm_90a", 132, "h200"))
    assert [h200.slots(size) for size in (1, 2, 3, 4, 8, 16)] == [132, 66, 39, 30, 15, 8]
    assert [chip("sm_90a", count).slots(4) for count in (132, 114, 3)] == [33, 28, 1]
    four = CutlassConfig(Tile(64, 64, 128), (1, 1), CutlassSchedule.KC, parts=4)
    works = {where.clusters: (gpu_work(BF16, four, where), where) for where in (h200, chip("sm_90a", 132))}
    waves = [
        gpu_time(work, Sizes(64, 32 * 64, 4096, 1, 1), where, IDEAL).waves for work, where in works.values() if work
    ]
    assert waves == [2, 1]


def test_a_cluster_that_shares_k_has_a_part_of_k_and_of_what_is_stored_each() -> None:
    hopper = chip("sm_90a", 132)
    alone = CutlassConfig(Tile(64, 16, 128), (1, 1), CutlassSchedule.KC, swap=True)
    one, four = gpu_work(BF16, alone, hopper), gpu_work(BF16, replace(alone, parts=4), hopper)
    rows = gpu_work(BF16, replace(alone, swap=False, parts=4), hopper)
    assert one is not None and four is not None and rows is not None
    assert (one.resident, one.waves_per_simd, one.pipeline) == (2, 1, "cutlass kc swap")
    assert (one.tile_m, one.tile_n, one.tile_k) == (16, 64, 128)
    assert (four.tile_m, four.tile_n, four.tile_k, four.cluster) == (16, 64, 512, 4)
    assert (four.stored, rows.stored, rows.tile_m) == (one.stored / 4, one.stored / 4, 64)
    assert (four.matrix, four.loaded, four.lds) == (one.matrix, one.loaded, one.lds)
    sizes, constants = Sizes(16, 1536, 7168, 1, 1), GpuConstants(5, 1, 80, 0.9, 200, 400, 2, 0, 0.1, 3)
    whole, shared = (gpu_time(work, sizes, hopper, constants) for work in (one, four))
    assert (whole.fill * 132, shared.fill * 132) == (24, 96)
    assert whole.latency == 4 * shared.latency


def test_a_partition_has_its_share_of_memory_and_a_given_clock_stands_in_place_of_the_spec() -> None:
    assert chip(cu_num=38).gb_per_s == pytest.approx(5300 / 8)
    assert chip_of(load_arch("gfx942"), Target("gfx942", 304), ghz=1.0, gb_per_s=10.0).mhz == 1000
    assert chip("gfx1201", 32).cu_scale == 2


def test_shipped_constants_are_physical() -> None:
    for one in shipped():
        constants = one.constants
        assert 0.5 < constants.launch < 10 and 0.5 < constants.memory < 1.3 and 0 < constants.apart <= 1, one.kind
        assert min(constants.latency, constants.tile, constants.cache, *constants.pipelines.values()) > 0, one.kind
        assert one.files and one.rows >= (LEAST_ROWS if constants.kernels or constants.own or one.chooses else LEAST)


def test_the_mean_of_one_is_itself() -> None:
    one = shipped()[0].constants
    found = mean([one, one])
    assert found.launch == pytest.approx(one.launch) and set(found.pipelines) == set(one.pipelines)


def test_main_loops_and_kernels_have_factors_of_their_own() -> None:
    hopper = chip("sm_90a", 132)
    config = CutlassConfig(Tile(64, 16, 128), (1, 1), CutlassSchedule.KC, swap=True)
    usual = GpuConstants(5, 1, 80, 0.9, 200, 400, 2, 0, 0.1, 3)
    loop = replace(usual, launches={"cutlass kc swap": 0.6}, tiles={"cutlass kc swap": 10.0})
    own = replace(loop, own={kernel_of(config): Own(launch=2.0, matrix=1.5, store=3.0)})
    found, parts, stays = (
        gpu_work(BF16, one, hopper)
        for one in (config, replace(config, parts=2), replace(config, schedule=CutlassSchedule.PP))
    )
    assert found is not None and parts is not None and stays is not None
    many = Sizes(512, 16384, 128, 1, 1)  # 8,192 tiles: 63 of each SM, in rounds of two
    assert gpu_time(stays, many, hopper, own) == gpu_time(stays, many, hopper, usual)
    assert gpu_time(parts, many, hopper, own) == gpu_time(parts, many, hopper, loop)
    plain, slow, slower = (gpu_time(found, many, hopper, one) for one in (usual, loop, own))
    assert (slow.launch, slower.launch) == pytest.approx((0.6 * plain.launch, 1.2 * plain.launch))
    assert slow.tiles - plain.tiles == pytest.approx(32 * 9 * 400 / hopper.mhz)
    assert slower.tiles - slow.tiles == pytest.approx(63 * 2 * 2 * 64 * 16 / 64 / hopper.mhz)
    assert (slow.compute, slower.compute) == pytest.approx((plain.compute, 1.5 * plain.compute))


def test_what_tiles_have_beyond_the_ends_of_a_and_b_takes_time_of_memory() -> None:
    """Three rows of 128 in each of ten tiles, and of the last one 64 of its 128 columns."""
    hopper = chip("sm_90a", 132)
    work = gpu_work(BF16, CutlassConfig(Tile(128, 128, 64), (1, 1), CutlassSchedule.CO), hopper)
    assert work is not None
    part, whole = Sizes(3, 1216, 4096, 1, 1), Sizes(128, 1280, 4096, 1, 1)
    free, paid = IDEAL, replace(IDEAL, outside=1.5)
    more = gpu_time(work, part, hopper, paid).memory - gpu_time(work, part, hopper, free).memory
    assert more == pytest.approx(1.5 * 4096 * (125 * 10 + 64) * 2 / (hopper.gb_per_s * 1e3))
    assert gpu_time(work, whole, hopper, paid) == gpu_time(work, whole, hopper, free)
