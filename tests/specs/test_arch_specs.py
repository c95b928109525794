"""The shipped specs say what is known of the chips."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from ckgen import paths
from ckgen.model.arch import ArchKind, BOperand
from ckgen.model.backend import Backend
from ckgen.model.dtype import DType, Fp8Flavour
from ckgen.model.errors import UsageError
from ckgen.specs import arch_of_cu_num, archs, load_arch, load_archs

GPUS = {"gfx908", "gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1200", "gfx1201", "gfx1250"}
CPUS = {"x86_64_v3", "x86_64_v4", "x86_64_v4_bf16", "x86_64_amx"}


def test_every_promised_arch_is_there() -> None:
    assert set(load_archs()) == GPUS | {"sm_90a"} | CPUS
    assert list(load_archs()) == sorted(load_archs())


@pytest.mark.parametrize(
    ("name", "default", "known"),
    [
        ("gfx908", 120, {120}),
        ("gfx90a", 104, {104, 110}),
        ("gfx942", 304, {304, 228, 80, 38}),
        ("gfx950", 256, {256, 128, 32}),
        ("gfx1250", 256, {256, 96}),
        ("gfx1100", 48, {48}),
        ("gfx1201", 32, {32, 28}),
        ("x86_64_v4", 1, {1}),
    ],
)
def test_cu_counts(name: str, default: int, known: set[int]) -> None:
    arch = load_arch(name)
    assert arch.default_cu_num == default
    assert known <= set(arch.cu_nums)
    assert all(arch.knows_cu_num(count) for count in known)


def test_a_gpu_does_not_know_any_count_but_a_cpu_does() -> None:
    assert not load_arch("gfx942").knows_cu_num(303)
    assert load_arch("x86_64_amx").knows_cu_num(303)


def test_radeon_targets_count_what_hip_reports() -> None:
    sku = load_arch("gfx1100").default_sku
    assert (sku.physical_cus, sku.hip_reported) == (96, 48)


def test_a_cu_count_of_one_arch_only_tells_the_arch() -> None:
    found = load_archs()
    assert arch_of_cu_num(found, 304) == "gfx942"
    assert arch_of_cu_num(found, 80) == "gfx942"
    assert arch_of_cu_num(found, 256) is None
    assert arch_of_cu_num(found, 1) is None


@pytest.mark.parametrize(
    ("name", "lds", "wave", "flavour"),
    [
        ("gfx90a", 65536, 64, None),
        ("gfx942", 65536, 64, Fp8Flavour.FNUZ),
        ("gfx950", 163840, 64, Fp8Flavour.OCP),
        ("gfx1201", 65536, 32, Fp8Flavour.OCP),
        ("gfx1250", 327680, 32, Fp8Flavour.OCP),
        ("x86_64_v3", 0, 0, Fp8Flavour.OCP),
    ],
)
def test_basic_facts(name: str, lds: int, wave: int, flavour: Fp8Flavour | None) -> None:
    arch = load_arch(name)
    assert (arch.lds_bytes, arch.wave_size, arch.fp8_flavour) == (lds, wave, flavour)


@pytest.mark.parametrize("name", ["gfx908", "gfx90a", "gfx1100"])
def test_arches_without_fp8_instructions_offer_no_fp8_at_all(name: str) -> None:
    arch = load_arch(name)
    eight_bit = {DType.FP8, DType.BF8, DType.FP8_FNUZ, DType.FP8_OCP, DType.BF8_FNUZ, DType.BF8_OCP}
    assert not [row for row in arch.matrix_instructions if {row.a, row.b} & eight_bit]
    assert not [row for rows in arch.warp_tiles.values() for row in rows if {row.a, row.b} & eight_bit]


def test_one_warp_tile_is_other_instructions_on_another_arch() -> None:
    issued = {}
    for name in ("gfx90a", "gfx942", "gfx950"):
        tiles = load_arch(name).warp_tiles_for(Backend.CK_TILE, DType.FP16, DType.FP16, DType.FP32)
        issued[name] = next((row.instruction, row.issues) for row in tiles if str(row.tile) == "32x32x16")
    assert issued == {
        "gfx90a": ("v_mfma_f32_32x32x8f16", 2),
        "gfx942": ("v_mfma_f32_32x32x8_f16", 2),
        "gfx950": ("v_mfma_f32_32x32x16_f16", 1),
    }


def test_plain_fp8_means_the_arch_s_own_flavour() -> None:
    arch = load_arch("gfx942")
    plain = arch.warp_tiles_for(Backend.CK_TILE, DType.FP8, DType.FP8, DType.FP32)
    assert plain == arch.warp_tiles_for(Backend.CK_TILE, DType.FP8_FNUZ, DType.FP8_FNUZ, DType.FP32)
    assert not arch.warp_tiles_for(Backend.CK_TILE, DType.FP8_OCP, DType.FP8_OCP, DType.FP32)


def test_pipeline_budgets_follow_the_arch_s_lds() -> None:
    for name, expected in (("gfx942", 32768), ("gfx950", 81920)):
        arch = load_arch(name)
        double = arch.pipeline(Backend.CK_TILE, "compv4")
        assert double is not None
        assert (double.lds_budget(arch.lds_bytes), double.b_operand) == (expected, BOperand.STAGED)


def test_every_value_has_a_source() -> None:
    for arch in load_archs().values():
        assert set(arch.provenance.values()) == set(arch.sources)
        assert arch.source_of("identity") and arch.source_of("skus.0") and arch.source_of("matrix_instructions")
        assert (arch.kind is ArchKind.GPU) == ("lds" in arch.provenance)


def test_an_unknown_arch_gets_a_hint() -> None:
    with pytest.raises(UsageError, match=r"unknown arch 'gfx94', did you mean 'gfx942'\? \(known: gfx1100"):
        load_arch("gfx94")


def test_loading_all_specs_costs_little_more_than_reading_their_json() -> None:
    files = sorted(paths.arch_specs_dir().glob("*.json"))

    def least(work: Callable[[], object]) -> float:
        def once() -> float:
            start = time.process_time()
            work()
            return time.process_time() - start

        return min(once() for _ in range(7))

    plain = least(lambda: [json.loads(file.read_text(encoding="utf-8")) for file in files])
    assert least(lambda: archs._load((paths.arch_specs_dir(),))) < 60 * plain


@pytest.mark.parametrize("name", sorted(load_archs()))
def test_a_spec_is_a_key_by_what_it_holds(name: str) -> None:
    first, again = load_archs()[name], load_archs(paths.arch_specs_dir())[name]
    assert again is not first and {again: name}[first] == name
    assert replace(first, lds_bytes=first.lds_bytes + 1) not in {again: name}
    assert replace(first, ops_per_clock={}) not in {again: name} or not first.ops_per_clock
