from __future__ import annotations

from dataclasses import replace

import pytest

from ckgen.families.fmha.absent import refusal_of_all
from ckgen.families.fmha.backward_config import HipBackwardConfig
from ckgen.families.fmha.signature import parse_signature
from ckgen.families.rules import judge
from ckgen.specs.archs import load_archs

TILE = HipBackwardConfig(64, 64, 128)
WIDE = replace(TILE, hdim=256)


@pytest.mark.parametrize(
    ("text", "config", "arch", "rules"),
    [
        ("bf16_bwd", TILE, "gfx942", []),
        ("fp32_bwd_varlen_masked_elementwise_sink_randval", WIDE, "gfx90a", []),
        ("fp16_bwd_varlen_masked_softcap_sink_dropout", TILE, "gfx1100", []),
        ("bf16_bwd_alibi", TILE, "gfx1201", []),
        ("bf16_bwd", WIDE, "gfx1201", ["hip.bwd.registers"]),
        ("bf16_masked", TILE, "gfx942", ["hip.bwd.direction"]),
        ("bf16_append", TILE, "gfx942", ["hip.bwd.direction"]),
        ("bf16_bwd", replace(TILE, m0=32), "gfx942", ["hip.bwd.tile"]),
        ("bf16_bwd", replace(TILE, hdim=96), "gfx942", ["hip.bwd.tile"]),
        ("bf16_bwd", TILE, "x86_64_v4", ["hip.bwd.arch"]),
    ],
)
def test_each_rule_names_what_the_kernels_are_not_for(
    text: str, config: HipBackwardConfig, arch: str, rules: list[str]
) -> None:
    found = judge(parse_signature(text, None), config, config.backend, load_archs()[arch])
    assert [one.rule for one in found] == rules


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"])
@pytest.mark.parametrize("options", ["softcap", "sink", "randval", "elementwise", "varlen_masked_alibi_dropout"])
def test_no_gradient_is_absent_on_a_gpu(arch: str, options: str) -> None:
    assert refusal_of_all(parse_signature(f"fp32_bwd_{options}", None), load_archs()[arch]) is None
