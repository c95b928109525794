from __future__ import annotations

from dataclasses import replace

import pytest

from ckgen.families.fmha.absent import refusal_of_all
from ckgen.families.fmha.forward_config import HipForwardConfig
from ckgen.families.fmha.signature import parse_signature
from ckgen.families.rules import judge
from ckgen.specs.archs import load_archs

TILE = HipForwardConfig(64, 64, 128)
WIDE = replace(TILE, hdim=256)


@pytest.mark.parametrize(
    ("text", "config", "arch", "rules"),
    [
        ("bf16", TILE, "gfx942", []),
        ("fp32_varlen_masked_elementwise_sink_lse_randval", WIDE, "gfx90a", []),
        ("fp16_varlen_masked_softcap_sink_dropout_pagelist_vectorized", WIDE, "gfx1100", []),
        ("bf16_vcolumn_alibi", TILE, "gfx1201", []),
        ("fp8_ocp_fp32_masked_blockscale", TILE, "gfx1201", []),
        ("bf16_fp8_fnuz_bf16_kvblockscale_blocktable", TILE, "gfx942", []),
        ("bf16_fp8_fnuz_bf16_kvblockscale_blocktable", TILE, "gfx950", ["hip.fwd.types"]),
        ("fp8_ocp_pertensor", TILE, "gfx90a", ["hip.fwd.types"]),
        ("fp8_bf16_pertensor", TILE, "gfx1100", ["hip.fwd.types"]),
        ("bf16_bwd_masked", TILE, "gfx942", ["hip.fwd.direction"]),
        ("bf16_append", TILE, "gfx942", ["hip.fwd.direction"]),
        ("bf16", replace(TILE, n0=32), "gfx942", ["hip.fwd.tile"]),
        ("bf16", replace(TILE, hdim=96), "gfx942", ["hip.fwd.tile"]),
        ("bf16", TILE, "x86_64_v4", ["hip.fwd.arch"]),
        ("bf16", TILE, "sm_90a", ["hip.vendor"]),
    ],
)
def test_each_rule_names_what_the_kernel_is_not_for(
    text: str, config: HipForwardConfig, arch: str, rules: list[str]
) -> None:
    found = judge(parse_signature(text, None), config, config.backend, load_archs()[arch])
    assert [one.rule for one in found] == rules


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"])
@pytest.mark.parametrize("options", ["vcolumn", "sink", "randval_pagelist", "elementwise_blocktable_vectorized"])
def test_no_option_of_wide_types_is_absent_on_a_gpu(arch: str, options: str) -> None:
    assert refusal_of_all(parse_signature(f"bf16_{options}", None), load_archs()[arch]) is None


@pytest.mark.parametrize("arch", ["gfx90a", "gfx1100"])
def test_what_an_arch_has_no_numbers_for_is_refused_with_its_reason(arch: str) -> None:
    refused = refusal_of_all(parse_signature("bf16_fp8_bf16_pertensor", None), load_archs()[arch])
    assert refused == f"hip.fwd.types: {arch} has no 8-bit floats (fp8, limit none)"
