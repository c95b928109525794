from __future__ import annotations

import pytest

from ckgen.families.fmha.append_config import CkTileAppendConfig, HipAppendConfig
from ckgen.families.fmha.signature import parse_signature
from ckgen.families.fmha.tree import append_configs
from ckgen.families.rules import judge
from ckgen.specs.archs import load_archs

TILE = CkTileAppendConfig(64, 64, 128)
WHOLE = CkTileAppendConfig(64, 64, 64, False, False, False)
OURS = HipAppendConfig(8)


def broken(text: str, config: CkTileAppendConfig | HipAppendConfig, arch: str = "gfx942") -> list[str]:
    spec = load_archs()[arch]
    signature = parse_signature(text, spec.fp8_flavour)
    return [one.rule for one in judge(signature, config, config.backend, spec)]


@pytest.mark.parametrize(
    ("text", "config", "arch", "rules"),
    [
        ("bf16_append_blocktable_rope_half", TILE, "gfx950", []),
        ("fp16_append", TILE, "gfx942", []),
        ("bf16_append", TILE, "gfx90a", ["ck_tile.append.arch"]),
        ("bf16_append", TILE, "gfx1100", ["ck_tile.append.arch"]),
        ("fp32_append", TILE, "gfx942", ["ck_tile.append.types"]),
        ("bf16_fp8_bf16_append_pertensor", TILE, "gfx942", ["ck_tile.append.types"]),
        ("bf16_append_varlen", TILE, "gfx942", ["ck_tile.append.features"]),
        ("bf16_append_vcolumn", TILE, "gfx942", ["ck_tile.append.features"]),
        ("bf16_append_pagelist", TILE, "gfx942", ["ck_tile.append.features"]),
        ("bf16_append_blocktable_vectorized", TILE, "gfx942", ["ck_tile.append.features"]),
        ("bf16", TILE, "gfx942", ["ck_tile.append.features"]),
        ("bf16_append", CkTileAppendConfig(64, 64, 96), "gfx942", ["ck_tile.append.tile"]),
        ("bf16_append", WHOLE, "gfx942", []),
        ("bf16_append_rope_half", WHOLE, "gfx942", ["ck_tile.append.tile"]),
        ("fp32_append_varlen_vcolumn_rope_half", OURS, "gfx942", []),
        ("fp16_fp8_fp16_append_kvblockscale_pagelist_vectorized", OURS, "gfx950", []),
        ("bf16_append", OURS, "gfx1201", []),
        ("bf16_append_varlen_pagelist_rope_half", OURS, "gfx90a", []),
        ("bf16_fp8_bf16_append_pertensor", OURS, "gfx90a", ["hip.append.types"]),
        ("bf16_fp8_bf16_append_pertensor", OURS, "gfx1100", ["hip.append.types"]),
        ("bf16_append", OURS, "x86_64_v4", ["hip.append.arch"]),
        ("bf16_fp8_bf16_append_blockscale", OURS, "gfx942", ["hip.append.types"]),
        ("fp8_append_pertensor", OURS, "gfx942", ["hip.append.types"]),
        ("bf16_append", HipAppendConfig(4), "gfx942", ["hip.append.tile"]),
        ("bf16", OURS, "gfx942", ["hip.append.tile"]),
    ],
)  # fmt: skip
def test_each_rule(text: str, config: CkTileAppendConfig | HipAppendConfig, arch: str, rules: list[str]) -> None:
    assert broken(text, config, arch) == rules


@pytest.mark.parametrize("text", ["bf16_append", "fp16_append_blocktable_rope_interleaved"])
def test_what_the_factories_make_is_legal(text: str) -> None:
    signature = parse_signature(text, None)
    configs = append_configs(signature, "gfx950")
    assert len(configs) == 8 and all(broken(text, config) == [] for config in configs)
    assert append_configs(signature, "gfx1100") == ()
