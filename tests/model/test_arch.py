"""What an arch answers: counts, tiles, pipelines, and peak rates, which are those of the products' data sheets."""

from __future__ import annotations

import pytest

from ckgen.model.arch import (
    CPU_LEVELS,
    ArchKind,
    ArchSpec,
    BOperand,
    LdsBasis,
    MatrixInstruction,
    Partition,
    PipelineSpec,
    Sku,
    WarpTile,
)  # fmt: skip
from ckgen.model.backend import Backend
from ckgen.model.config import Tile
from ckgen.model.dtype import DType, Fp8Flavour
from ckgen.specs import load_arch


@pytest.mark.parametrize(
    ("name", "cu_num", "dtype", "tera"),
    [
        ("gfx908", 120, DType.FP16, 184.6),
        ("gfx908", 120, DType.BF16, 92.3),
        ("gfx90a", 104, DType.BF16, 181.0),
        ("gfx90a", 110, DType.FP16, 191.5),
        ("gfx942", 304, DType.FP16, 1307.4),
        ("gfx942", 304, DType.FP8_FNUZ, 2614.9),
        ("gfx942", 304, DType.INT8, 2614.9),
        ("gfx942", 228, DType.BF16, 980.6),
        ("gfx950", 256, DType.FP8_OCP, 5033.2),
        ("gfx950", 256, DType.FP4, 10066.3),
        ("gfx1100", 48, DType.FP16, 122.9),
        ("gfx1201", 32, DType.FP8_OCP, 389.3),
    ],
)
def test_data_sheet_peaks(name: str, cu_num: int, dtype: DType, tera: float) -> None:
    assert load_arch(name).peak_ops(dtype, dtype, cu_num) == pytest.approx(tera * 1e12, rel=1e-3)


def test_an_unknown_count_is_scaled() -> None:
    arch = load_arch("gfx942")
    full, half = arch.peak_ops(DType.FP16, DType.FP16, 304), arch.peak_ops(DType.FP16, DType.FP16, 152)
    assert full is not None and half is not None
    assert half == pytest.approx(full / 2)


def test_two_types_run_at_the_slower_one_s_rate() -> None:
    arch = load_arch("gfx950")
    assert arch.peak_ops(DType.BF16, DType.FP4, 256) == arch.peak_ops(DType.BF16, DType.BF16, 256)


def test_types_without_a_rate_have_no_peak() -> None:
    assert load_arch("gfx90a").peak_ops(DType.FP8, DType.FP8, 104) is None
    assert load_arch("gfx942").peak_ops(DType.FP16, DType.FP4, 304) is None


def test_flavours_share_a_rate() -> None:
    arch = load_arch("gfx942")
    assert arch.peak_ops(DType.FP8, DType.BF8_FNUZ, 304) == arch.peak_ops(DType.FP8_OCP, DType.FP8_FNUZ, 304)


def test_cores_of_a_cpu_add_up() -> None:
    arch = load_arch("x86_64_amx")
    one, many = arch.peak_ops(DType.BF16, DType.BF16, 1), arch.peak_ops(DType.BF16, DType.BF16, 56)
    assert one is not None and many == pytest.approx(56 * one)


def tiny(**changes: object) -> ArchSpec:
    """An arch of two products, one of them in two partitions."""
    whole = Sku("whole", 8, True, 8, 1000, None, 1, ())
    halved = Sku("halved", 6, False, 12, 2000, None, 2, (Partition("half", 3), Partition("whole", 8)))
    pipelines = tuple(
        PipelineSpec(name, Backend.CK, basis, budget, 1, (), BOperand.STAGED, waves)
        for name, basis, budget, waves in (
            ("a", LdsBasis.FRACTION, 0.5, 1), ("b", LdsBasis.BYTES, 4096.0, 2), ("a", LdsBasis.BYTES, 1.0, 3),
        )
    )  # fmt: skip
    tiles = tuple(
        WarpTile(DType.FP8_OCP, DType.FP8_OCP, DType.FP32, Tile(16, 16, k), "v_mfma", 1, preshuffle)
        for k, preshuffle in ((32, False), (64, True))
    )
    instructions = tuple(
        MatrixInstruction("v_mfma", dtype, dtype, DType.FP32, Tile(16, 8, 4), blocks=2)
        for dtype in (DType.FP8_OCP, DType.BF8_OCP)
    )
    fields = {
        "name": "tiny", "aliases": (), "kind": ArchKind.GPU, "vendor": None, "family": "cdna", "processor": "tiny",
        "elf_machine": 1,
        "compute_capability": 0, "max_cluster": 1, "lds_bytes_per_cu": 65537,
        "cache_scopes": False, "transposing_lds_reads": False, "wave_size": 64,
        "max_threads_per_block": 1024, "waves_per_block": (), "vgprs_per_simd_lane": 512,
        "vgprs_per_wave": 512, "agprs_per_wave": 0, "vgpr_granule": 8, "waves_per_simd": 8,
        "lds_banks": 32, "lds_copy_bytes": 4,
        "lds_bytes": 65537, "lds_granule": 512, "xcds": 1, "l2_bytes_per_xcd": 0, "last_level_cache_bytes": 0,
        "fp8_flavour": Fp8Flavour.OCP, "fp8_sum_bits": 24, "ops_per_clock": {DType.FP16: 100, DType.FP8: 200},
        "skus": (whole, halved),
        "matrix_instructions": instructions, "warp_tiles": {Backend.CK: tiles}, "pipelines": pipelines, "cpu": None,
        "provenance": {"lds": "sheet"}, "sources": {"sheet": "the data sheet"},
    }  # fmt: skip
    return ArchSpec(**{**fields, **changes})  # type: ignore[arg-type]


def test_products_and_their_partitions_report_counts() -> None:
    arch = tiny()
    assert arch.cu_nums == (3, 6, 8)
    assert (arch.default_sku.name, arch.default_cu_num) == ("whole", 8)
    assert [sku.name for sku in arch.skus_with(6)] == ["halved"]
    assert arch.skus_with(3) == ()
    assert [arch.knows_cu_num(count) for count in (3, 6, 8, 4)] == [True, True, True, False]
    assert arch.skus[1].hip_reported == 6


def test_a_cpu_has_any_number_of_cores() -> None:
    assert tiny(kind=ArchKind.CPU).knows_cu_num(4)
    assert CPU_LEVELS == ("x86_64_v3", "x86_64_v4", "x86_64_v4_bf16", "x86_64_amx")


def test_the_peak_is_of_the_fastest_product_with_that_count() -> None:
    arch = tiny()
    assert arch.peak_ops(DType.FP16, DType.FP8, 8) == 100 * 8 * 1000 * 1e6
    assert arch.peak_ops(DType.FP8, DType.BF8_OCP, 6) == 200 * 12 * 2000 * 1e6
    assert arch.peak_ops(DType.FP16, DType.FP16, 3) == 100 * 3 * 4000 * 1e6
    twice = tiny(skus=(*arch.skus, Sku("slow", 8, False, 8, 500, None, 1, ())))
    assert twice.peak_ops(DType.FP16, DType.FP16, 8) == arch.peak_ops(DType.FP16, DType.FP16, 8)
    assert arch.peak_ops(DType.FP16, DType.INT4, 8) is None


def test_a_pipeline_is_the_first_of_its_backend_and_name() -> None:
    arch = tiny()
    first, second = arch.pipeline(Backend.CK, "a"), arch.pipeline(Backend.CK, "b")
    assert first is arch.pipelines[0] and second is arch.pipelines[1]
    assert arch.pipeline(Backend.CK_TILE, "a") is None
    assert first.lds_budget(arch.lds_bytes) == 32768
    assert second.lds_budget(arch.lds_bytes) == 4096


def test_warp_tiles_are_found_in_the_flavour_of_the_arch() -> None:
    arch = tiny()
    dtypes = (DType.FP8, DType.FP8_OCP, DType.FP32)
    assert [row.tile.k for row in arch.warp_tiles_for(Backend.CK, *dtypes)] == [32, 64]
    assert [row.tile.k for row in arch.warp_tiles_for(Backend.CK, *dtypes, preshuffle=True)] == [64]
    assert arch.warp_tiles_for(Backend.CK_TILE, *dtypes) == ()
    assert arch.warp_tiles_for(Backend.CK, DType.FP8_FNUZ, *dtypes[1:]) == ()


def test_an_instruction_is_the_first_of_its_mnemonic() -> None:
    arch = tiny()
    found = arch.instruction("v_mfma")
    assert found is arch.matrix_instructions[0]
    assert found.macs == 16 * 8 * 4 * 2
    assert arch.instruction("v_wmma") is None


def test_what_is_only_looked_up_neither_counts_nor_shows() -> None:
    other = tiny(provenance={"lds": "x"}, sources={"x": "elsewhere"})
    assert other == tiny() and repr(other) == repr(tiny())
    assert not any(word in repr(tiny()) for word in ("the data sheet", " _pipelines=", " _tiles="))
    assert other != tiny(lds_bytes=1)
    assert tiny().source_of("lds") == "the data sheet" and other.source_of("lds") == "elsewhere"


@pytest.mark.parametrize("separate", [0, 256])
def test_waves_share_the_registers_of_a_simd_in_whole_granules(separate: int) -> None:
    for total, granule, most in ((512, 8, 8), (96, 5, 10), (1536, 24, 16), (64, 16, 3)):
        arch = tiny(vgprs_per_simd_lane=total, vgpr_granule=granule, waves_per_simd=most, agprs_per_wave=separate)
        for vgprs in range(total + 1):
            given = next(number for number in range(granule, total + 2 * granule, granule) if number >= vgprs)
            held = [waves for waves in range(most + 1) if waves * given <= total]
            assert arch.waves_with(vgprs) == max(held), (total, granule, most, vgprs)


def test_a_wave_has_accumulators_beside_its_registers_where_they_are_a_file_of_their_own() -> None:
    assert tiny(vgprs_per_wave=256, agprs_per_wave=192).registers_per_wave == 448
    assert load_arch("gfx942").registers_per_wave == 512


def test_a_budget_of_lds_is_whole_bytes() -> None:
    half = tiny().pipelines[0]
    assert [half.lds_budget(size) for size in (0, 1, 2, 3, 65536)] == [0, 0, 1, 1, 32768]
