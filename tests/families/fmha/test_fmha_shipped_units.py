"""Units of attention that is shipped or appends: their values, and what their machine code must be."""

from __future__ import annotations

import pytest

from ckgen.families.common.device.shipped import ShippedVariant
from ckgen.families.common.device.unit import kernel_symbol, prepare_symbol
from ckgen.families.fmha.append_config import CkTileAppendConfig, HipAppendConfig
from ckgen.families.fmha.asm_kernels import asm_fmha_kernels
from ckgen.families.fmha.device import asm_fmha, ck_tile_append, hip_append, hip_decode
from ckgen.families.fmha.device.ck_tile_append import AppendVariant
from ckgen.families.fmha.device.recorded import allowed_overflow
from ckgen.families.fmha.hip_config import HipFmhaConfig
from ckgen.families.fmha.host_config import HostFmhaConfig
from ckgen.families.fmha.instance import FmhaInstance
from ckgen.families.fmha.signature import parse_signature
from ckgen.families.registry import make_instance
from ckgen.model.config import Tile
from ckgen.specs import load_arch

APPEND = CkTileAppendConfig(64, 32, 128, True, False, True)


def shipped(name: str, signature: int = 0) -> FmhaInstance:
    kernel = asm_fmha_kernels()[name]
    return make_instance(kernel.signatures[signature], kernel.config, kernel.archs)


def appending(signature: str, config: CkTileAppendConfig = APPEND) -> FmhaInstance:
    return make_instance(parse_signature(signature, None), config, ("gfx942",))


@pytest.mark.parametrize(
    ("name", "signature", "kernel", "members"),
    [
        ("fwd_hd128_bf16_rtna", 1, "FmhaForwardKernel", "256, 512, false, false, true"),
        ("fwd_hd128_bf16_causal_rtna_group", 0, "FmhaForwardKernel", "256, 512, true, true, false"),
        ("pa_fp16_noquant_gqa16_1tg_4w", 0, "PagedKernel", "256, ckgen::DType::fp16"),
    ],
)
def test_the_host_unit_of_a_shipped_kernel_names_it_and_how_it_is_called(
    name: str, signature: int, kernel: str, members: str
) -> None:
    instance, known = shipped(name, signature), asm_fmha_kernels()[name]
    unit = asm_fmha.host_unit(instance, {"gfx942": (ShippedVariant(),)})
    assert unit.template == "device/asm_fmha_host.cpp.j2" and unit.symbols == (prepare_symbol(instance.id),)
    assert unit.values == {
        "instance": instance.name, "prepare": prepare_symbol(instance.id), "kind": known.config.kind,
        "symbol": known.symbol, "kernel": kernel, "members": members,
    }  # fmt: skip
    taken = asm_fmha.KIND.device_unit(instance, (ShippedVariant(),))
    assert taken.symbols == (known.symbol,) == (asm_fmha.KIND.symbol(instance, ShippedVariant()),)
    assert [one["arch"] for one in taken.values["objects"]] == list(known.archs)


def test_a_shipped_kernel_has_one_variant_that_no_problem_splits() -> None:
    instance = shipped("fwd_hd128_bf16_rtna")
    assert (
        asm_fmha.KIND.all_variants(instance) == asm_fmha.KIND.of(instance).reachable(()) == (ShippedVariant("shipped"),)
    )
    assert asm_fmha.splits_unavailable(instance, "gfx942") == (
        "the shipped kernel takes all keys of a row in one workgroup"
    )


def test_a_shipped_kernel_multiplies_in_the_type_of_q() -> None:
    demand = asm_fmha.expected(shipped("fwd_hd128_bf16_rtna"), "gfx942", ShippedVariant())
    names = [name for name, _ in demand.steps]
    assert {"v_mfma_f32_32x32x8_bf16", "v_mfma_f32_16x16x16_bf16"} <= set(names)
    assert all(name.endswith(("bf16", "bf16_1k")) and "x4_" not in name for name in names)
    assert {count for _, count in demand.steps} == {1}
    assert (demand.copies, demand.scratch_bytes, demand.spills, demand.waves_per_simd) == (0, 0, 0, 1)
    assert demand.lds_bytes == load_arch("gfx942").lds_bytes
    halves = asm_fmha.expected(shipped("pa_fp16_noquant_gqa16_1tg_4w"), "gfx942", ShippedVariant())
    assert all(name.endswith("_f16") for name, _ in halves.steps) and halves.steps


def test_units_that_append_hold_types_traits_and_numbers() -> None:
    instance, variant = appending("fmha_bf16_append_rope_half"), AppendVariant()
    symbol = ck_tile_append.symbol(instance, variant)
    assert symbol == kernel_symbol(instance.id, variant) and symbol.endswith("_append")
    device = ck_tile_append.device_unit(instance, (variant,))
    common = {
        "instance": instance.name, "dtype": "bf16",
        "traits": [("entry", "ckgen::FmhaEntry::append"), ("rope", "ckgen::FmhaRope::half")],
        "numbers": [("m0", 64), ("n0", 32), ("hdim", 128), ("pad_q", "true"), ("pad_hdim_q", "false"),
                    ("pad_hdim_v", "true")],
        "symbol": symbol,
    }  # fmt: skip
    assert (device.template, device.symbols) == ("device/ck_tile_fmha_append_device.hip.j2", (symbol,))
    assert device.values == common
    host = ck_tile_append.host_unit(instance, {"gfx950": (variant,), "gfx942": (variant,), "gfx90a": ()})
    assert (host.template, host.symbols) == ("device/ck_tile_fmha_append_host.cpp.j2", (prepare_symbol(instance.id),))
    assert host.values == {**common, "archs": ["gfx942", "gfx950"], "prepare": prepare_symbol(instance.id)}


def test_a_kernel_that_appends_is_one_without_products_or_lds() -> None:
    instance = appending("fmha_bf16_append")
    assert (
        ck_tile_append.all_variants(instance)
        == ck_tile_append.KIND.of(instance).reachable(())
        == (AppendVariant("append"),)
    )
    assert ck_tile_append.unavailable(instance, "gfx942") is None
    assert ck_tile_append.unavailable(instance, "gfx906") is not None
    assert ck_tile_append.splits_unavailable(instance, "gfx942") == "a kernel that appends sums nothing up"
    demand, known = ck_tile_append.expected(instance, "gfx942", AppendVariant()), allowed_overflow("", "gfx942")
    assert (demand.steps, demand.copies, demand.lds_bytes, demand.waves_per_simd) == ((), 0, 0, 1)
    assert (demand.spills, demand.scratch_bytes) == (known.spills, known.scratch_bytes)


def test_our_own_kernels_reach_all_their_variants() -> None:
    decode = make_instance(
        parse_signature("fmha_bf16_varlen_blocktable", None), HipFmhaConfig(16, 128, 128, 128), ("gfx942",)
    )
    assert hip_decode.unavailable(decode, "gfx942") is None
    assert [one.name for one in hip_decode.KIND.of(decode).reachable(())] == ["decode", "combine"]
    alone = hip_decode.device_unit(decode, hip_decode.all_variants(decode)[:1])
    assert alone.values["stages"] == {} and len(alone.symbols) == 1
    append = make_instance(parse_signature("fmha_bf16_append", None), HipAppendConfig(8), ("gfx942",))
    assert [one.name for one in hip_append.KIND.of(append).reachable(())] == ["append"]


@pytest.mark.parametrize(
    ("config", "waves", "tile", "grain", "text"),
    [
        (APPEND, (4, 1, 1), Tile(32, 128, 1), 1, "append_pad1101_64x32x128"),
        (HipAppendConfig(8), (1, 4, 1), Tile(8, 1, 1), 1, "append_8"),
        (HipFmhaConfig(16, 64, 192, 128), (1, 1, 4), Tile(16, 128, 64), 1, "decode_16x64_192x128"),
        (HostFmhaConfig(32, 64), None, Tile(32, 1, 64), 1, "32x64_t0"),
    ],
)
def test_what_a_workgroup_takes(config: object, waves: object, tile: Tile, grain: int, text: str) -> None:
    assert config.waves == waves and config.macro_tile == tile  # type: ignore[attr-defined]
    assert config.k_grain == grain and config.text() == text  # type: ignore[attr-defined]
