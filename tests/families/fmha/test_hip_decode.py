"""What our attention kernel over a KV cache becomes as device code: units, symbols, and what its code must be."""

from __future__ import annotations

import pytest

from ckgen.build.flags import Trait, flags_of
from ckgen.build.planned import plan_host, plan_kernel
from ckgen.families.common.device.unit import fmha_symbol, prepare_symbol
from ckgen.families.fmha.constraints import constraints_of
from ckgen.families.fmha.hip_config import HipFmhaConfig, step_of
from ckgen.families.fmha.instance import FmhaInstance
from ckgen.families.fmha.signature import parse_canonical
from ckgen.families.registry import make_instance


def built(signature: str, hdim_q: int = 128, hdim_v: int = 128, arch: str = "gfx942") -> FmhaInstance:
    found = parse_canonical(signature)
    return make_instance(found, HipFmhaConfig(16, step_of(found.b.bits), hdim_q, hdim_v), (arch,))


@pytest.mark.parametrize(
    ("signature", "hdims", "arch", "step"),
    [
        ("fmha_bf16", (128, 128), "gfx942", ("v_mfma_f32_16x16x16_bf16", 32)),
        ("fmha_bf16", (128, 128), "gfx950", ("v_mfma_f32_16x16x32_bf16", 16)),
        ("fmha_fp16_lse", (192, 64), "gfx950", ("v_mfma_f32_16x16x32_f16", 16)),
        ("fmha_bf16_fp8_fnuz_bf16_pertensor", (128, 64), "gfx942", ("v_mfma_f32_16x16x16_bf16", 48)),
    ],
)
def test_matrix_instructions_are_those_of_both_products_of_a_block(
    signature: str, hdims: tuple[int, int], arch: str, step: tuple[str, int]
) -> None:
    (_, expected), (_, combine) = plan_kernel(built(signature, *hdims, arch), arch, []).expected
    assert (expected.steps, expected.copies, expected.spills, expected.scratch_bytes) == ((step,), 1, 0, 0)
    assert (combine.steps, combine.spills, combine.scratch_bytes, combine.lds_bytes) == ((), 0, 0, 0)


def test_both_units_say_the_kernel_and_meet_at_the_symbol() -> None:
    instance = built("fmha_bf16_fp8_fnuz_bf16_varlen_masked_sink_lse_kvblockscale_pagelist_vectorized", 128, 64)
    device, host = plan_kernel(instance, "gfx942", []), plan_host(instance, {"gfx942": []})
    (symbol, _), (combine, _) = device.expected
    assert symbol == f"ckgen_{instance.id:016x}_decode"
    assert f"CKGEN_FMHA_DECODE_KERNEL({symbol}, true, true, 128, 64,\n" in device.text
    assert f'"{symbol}"' in host.text and ",\n    1};" in host.text
    assert combine == f"ckgen_{instance.id:016x}_combine"
    assert f"CKGEN_FMHA_COMBINE_KERNEL({combine}, __bf16)" in device.text and f'"{combine}"' in host.text
    assert host.symbols == (prepare_symbol(instance.id), fmha_symbol(instance.id))
    assert all(symbol in host.text for symbol in host.symbols)
    members = (
        ".varlen = true, .masked = true, .sink = true, .lse = true, .quant = ckgen::FmhaQuant::kv_blockscale, "
        ".kv = ckgen::FmhaKv::page_list, .kv_layout = ckgen::FmhaKvLayout::vectorized"
    )
    for text in (device.text, host.text):
        assert f"ckgen::FmhaTraits{{{members}}}" in text


def test_flags_are_those_of_our_kernels() -> None:
    assert "-fgpu-flush-denormals-to-zero" not in flags_of("amd", "pinned", "hip", "fmha", Trait.DEVICE).words


@pytest.mark.parametrize(
    "signature", ["fmha_bf16_blocktable", "fmha_bf16_fp8_ocp_bf16_kvblockscale_pagelist_vectorized"]
)
def test_pages_are_of_any_size(signature: str) -> None:
    instance = built(signature, 128, 64)
    asked = constraints_of(instance.signature, instance.config)
    assert asked.page_multiple == 1 and asked.pad_q and asked.pad_k
    assert (asked.hdim_q, asked.d_multiple, asked.hdim_v, asked.dv_multiple) == (128, 0, 64, 0)
    assert asked.max_splits > 1 and asked.takes_items and asked.merge_heads
