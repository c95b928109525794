"""What ck_tile's attention instances become as device code: units, symbols, and what their machine code must be."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckgen.build.device_code import device_code
from ckgen.build.flags import Trait, flags_of
from ckgen.build.planned import plan_host, plan_kernel
from ckgen.families.common.device.unit import fmha_symbol, prepare_symbol
from ckgen.families.fmha.config import CkTileFmhaConfig, FmhaPipeline
from ckgen.families.fmha.constraints import constraints_of
from ckgen.families.fmha.instance import FmhaInstance
from ckgen.families.fmha.signature import parse_canonical
from ckgen.families.fmha.tree import tree_configs
from ckgen.families.registry import make_instance
from ckgen.families.rules import judge
from ckgen.model.config import Tile
from ckgen.specs.archs import load_arch

D64 = CkTileFmhaConfig(FmhaPipeline.QR_ASYNC, 128, 64, 32, 64, 32, 64, (4, 1, 1), Tile(32, 32, 16))
D128 = replace(D64, n0=128, n1=128, k0_max=128)
FP32 = CkTileFmhaConfig(FmhaPipeline.QR, 128, 64, 32, 128, 32, 128, (4, 1, 1), Tile(16, 16, 16))
FP8 = CkTileFmhaConfig(
    FmhaPipeline.QR, 128, 128, 32, 128, 32, 128, (4, 1, 1), Tile(32, 32, 32), pad_hdim_q=False, pad_hdim_v=False
)
PAGED = replace(D128, pipeline=FmhaPipeline.QR_PAGEDKV, pad_hdim_q=False, pad_hdim_v=False)
GATHER = replace(D128, pipeline=FmhaPipeline.QR_ASYNC_GATHER)
WMMA = CkTileFmhaConfig(FmhaPipeline.QR, 64, 64, 32, 128, 32, 128, (4, 1, 1), Tile(16, 16, 16))


def built(signature: str, config: CkTileFmhaConfig, arch: str = "gfx942") -> FmhaInstance:
    return make_instance(parse_canonical(signature), config, (arch,))


@pytest.mark.parametrize(
    ("signature", "config", "arch", "step"),
    [
        ("fmha_bf16", D64, "gfx942", ("v_mfma_f32_32x32x8_bf16", 32)),
        ("fmha_fp16", D128, "gfx942", ("v_mfma_f32_32x32x8_f16", 128)),
        ("fmha_fp16", D128, "gfx950", ("v_mfma_f32_32x32x16_f16", 64)),
        ("fmha_fp16_blocktable", PAGED, "gfx950", ("v_mfma_f32_32x32x16_f16", 64)),
        ("fmha_fp32", FP32, "gfx942", ("v_mfma_f32_16x16x4_f32", 512)),
        ("fmha_fp8_fnuz_bf16_pertensor", FP8, "gfx942", ("v_mfma_f32_32x32x16_fp8_fp8", 64)),
        ("fmha_fp8_fnuz_pertensor", FP8, "gfx942", ("v_mfma_f32_32x32x16_fp8_fp8", 64)),
        ("fmha_bf16", WMMA, "gfx1201", ("v_wmma_f32_16x16x16_bf16", 64)),
    ],
)
def test_matrix_instructions_are_those_of_both_products_of_one_step(
    signature: str, config: CkTileFmhaConfig, arch: str, step: tuple[str, int]
) -> None:
    instance = built(signature, config, arch)
    ((_, expected),) = plan_kernel(instance, arch, []).expected
    assert (expected.steps, expected.copies) == ((step,), 1)
    assert 0 < expected.lds_bytes <= load_arch(arch).lds_bytes


def test_both_units_say_the_config_and_meet_at_the_symbol() -> None:
    instance = built("fmha_bf16_varlen_masked_alibi_lse", D64)
    device, host = plan_kernel(instance, "gfx942", []), plan_host(instance, {"gfx942": []})
    ((symbol, _),) = device.expected
    assert symbol == f"ckgen_{instance.id:016x}_forward"
    assert f"CKGEN_TILE_FMHA_KERNEL({symbol}, Entry)" in device.text
    assert f'"{symbol}"' in host.text and "archs_of(Arch::gfx942)" in host.text
    assert host.symbols == (prepare_symbol(instance.id),) and host.symbols[0] in host.text
    for text in (device.text, host.text):
        assert ".traits = {.varlen = true, .masked = true, .bias = ckgen::FmhaBias::alibi, .lse = true}," in text
        assert ".pipeline = ckgen::tile::FmhaPipeline::qr_async,\n    .m0 = 128,\n    .n0 = 64," in text
        assert ".warps = {4, 1, 1},\n    .warp_tile = {32, 32, 16},\n    .pad_q = true," in text
        assert ".block_per_cu = -1," in text


@pytest.mark.parametrize(
    ("signature", "config", "header", "entry"),
    [
        ("fmha_bf16", D64, "fmha", "FmhaForward"),
        ("fmha_bf16_varlen_blocktable", PAGED, "fmha_paged", "FmhaPaged"),
        ("fmha_bf16_pagelist", GATHER, "fmha_gather", "FmhaGather"),
    ],
)
def test_a_pipeline_has_its_own_kernel(signature: str, config: CkTileFmhaConfig, header: str, entry: str) -> None:
    device, host = (
        plan.text
        for plan in (plan_kernel(built(signature, config), "gfx942", []), plan_host(built(signature, config), {}))
    )
    assert f'"backends/ck_tile/{header}.hpp"' in device and f"ckgen::tile::{entry}<kConfig>;" in device
    assert f'"backends/ck_tile/{header}_host.hpp"' in host and f"<ckgen::tile::{entry}Launch<kConfig>>" in host


@pytest.mark.parametrize(
    ("signature", "config", "traits"),
    [
        ("fmha_bf16", D64, "{}"),
        ("fmha_fp8_fnuz_bf16_masked_pertensor", FP8, "{.masked = true, .quant = ckgen::FmhaQuant::per_tensor}"),
        ("fmha_bf16_lse_dropout", D64, "{.lse = true, .dropout = ckgen::FmhaDropout::philox}"),
        ("fmha_bf16_masked_blocktable", PAGED, "{.masked = true, .kv = ckgen::FmhaKv::block_table}"),
        ("fmha_bf16_elementwise_softcap", D64, "{.bias = ckgen::FmhaBias::elementwise, .softcap = true}"),
    ],
)
def test_traits_at_their_default_are_not_said(signature: str, config: CkTileFmhaConfig, traits: str) -> None:
    assert f".traits = {traits},\n" in plan_kernel(built(signature, config), "gfx942", []).text


def test_an_occupancy_of_its_own_is_said_to_the_kernel_and_the_gate() -> None:
    planned = plan_kernel(built("fmha_bf16", replace(D128, block_per_cu=3)), "gfx942", [])
    assert ".block_per_cu = 3," in planned.text and planned.expected[0][1].waves_per_simd == 3


SPLIT = CkTileFmhaConfig(FmhaPipeline.QR_SPLITKV, 64, 128, 32, 128, 32, 128, (4, 1, 1), Tile(16, 16, 16))


def test_split_keys_bring_along_what_combines_them() -> None:
    instance = built("fmha_bf16_lse", SPLIT)
    device, host = plan_kernel(instance, "gfx942", []), plan_host(instance, {"gfx942": []})
    (_, forward), (combine, combined) = device.expected
    assert forward.steps == (("v_mfma_f32_16x16x16_bf16", 128),) and forward.lds_bytes == 9216
    assert (combined.steps, combined.lds_bytes, combined.spills) == ((), 0, 0)
    assert f"CKGEN_FMHA_COMBINE_KERNEL({combine}, __bf16)" in device.text
    assert '#include "backends/ck_tile/fmha_split_kv.hpp"' in device.text
    assert host.symbols == (prepare_symbol(instance.id), fmha_symbol(instance.id))
    assert f"FmhaStages {fmha_symbol(instance.id)}{{partials, combine}};" in host.text
    assert f'prepare_combine("{combine}", true, launch, out);' in host.text
    assert device_code(instance).splits_unavailable("gfx942") is None
    merged = constraints_of(instance.signature, replace(SPLIT, pipeline=FmhaPipeline.QR_SPLITKV_MERGED))
    assert merged.merge_heads and merged.always_combines and merged.max_splits == 128


@pytest.mark.parametrize(("flavour", "largest"), [("fnuz", 240), ("ocp", 448)])
def test_what_8_bit_splits_were_multiplied_by_is_taken_out(flavour: str, largest: int) -> None:
    instance = built(f"fmha_fp8_{flavour}_bf16_pertensor", replace(SPLIT, m0=128, warp_tile=Tile(32, 32, 32)))
    text = plan_host(instance, {"gfx942": []}).text
    assert f"true, launch, out, 1.0F / {largest}.0F, launch.fmha->v_descale);" in text


def test_denormals_are_flushed_in_device_code_alone() -> None:
    instance = built("fmha_bf16", D64)
    flush = "-fgpu-flush-denormals-to-zero"
    unit = plan_kernel(instance, "gfx942", []).unit
    assert flush in flags_of("amd", "pinned", unit.backend, unit.module, Trait.DEVICE).words
    host = plan_host(instance, {"gfx942": []}).unit
    assert flush not in flags_of("amd", "pinned", host.backend, host.module, Trait.HOST).words
    assert flush not in flags_of("amd", "pinned", "ck_tile", "gemm", Trait.DEVICE).words


def test_an_arch_without_tiles_has_a_reason() -> None:
    reason = device_code(built("fmha_bf16", D64)).unavailable("gfx1100")
    assert reason and "gfx11" in reason
    assert device_code(built("fmha_bf16", D64)).splits_unavailable("gfx942")


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950", "gfx1201"])
def test_every_tile_of_the_tree_has_matrix_instructions(arch: str) -> None:
    spec = load_arch(arch)
    words = ["bf16_varlen_masked_lse", "fp16", "fp16_elementwise"] + (["fp32"] if spec.wave_size == 64 else [])
    for word in words:
        signature = parse_canonical(f"fmha_{word}")
        for config in (*tree_configs(signature, arch), *tree_configs(signature, arch, splits=True)):
            if judge(signature, config, config.backend, spec):
                continue
            planned = plan_kernel(make_instance(signature, config, (arch,)), arch, [])
            assert not planned.unavailable and planned.expected[0][1].steps[0][1] > 0
