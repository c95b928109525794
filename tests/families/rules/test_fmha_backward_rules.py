from __future__ import annotations

from dataclasses import replace

import pytest

from ckgen.families.fmha.backward_config import CkTileBackwardConfig
from ckgen.families.fmha.signature import parse_signature
from ckgen.families.fmha.tree import backward_configs
from ckgen.families.rules import judge
from ckgen.specs.archs import load_archs

TILE = CkTileBackwardConfig(0, 32, 128, 32, 64, 1)
GROUPED = CkTileBackwardConfig(8, 16, 128, 32, 128, 1, grouped=True)
FP32 = CkTileBackwardConfig(1, 16, 64, 16, 64, 1)


def broken(text: str, config: CkTileBackwardConfig, arch: str = "gfx942") -> list[str]:
    spec = load_archs()[arch]
    return [one.rule for one in judge(parse_signature(text, None), config, config.backend, spec)]


@pytest.mark.parametrize(
    ("text", "config", "arch", "rules"),
    [
        ("bf16_bwd", TILE, "gfx942", []),
        ("fp16_bwd_varlen_masked", GROUPED, "gfx942", []),
        ("bf16_bwd_varlen_masked_alibi_dropout", GROUPED, "gfx942", []),
        ("fp32_bwd_masked", FP32, "gfx942", []),
        ("fp32_bwd", TILE, "gfx942", ["ck_tile.bwd.tile"]),
        ("bf16_bwd", FP32, "gfx942", ["ck_tile.bwd.tile"]),
        ("bf16_bwd", replace(TILE, m0=64), "gfx942", ["ck_tile.bwd.tile"]),
        ("bf16_bwd", replace(TILE, pad=4), "gfx942", ["ck_tile.bwd.tile"]),
        ("bf16_bwd", replace(TILE, grouped=True, ordered=True), "gfx942", []),
        ("bf16_bwd", replace(TILE, ordered=True), "gfx942", ["ck_tile.bwd.tile"]),
        ("bf16_bwd_masked_softcap", TILE, "gfx942", ["ck_tile.bwd.features"]),
        ("bf16_bwd_sink", TILE, "gfx942", ["ck_tile.bwd.features"]),
        ("bf16_bwd_randval", TILE, "gfx942", ["ck_tile.bwd.features"]),
        ("bf16_bwd_elementwise", TILE, "gfx942", []),
        ("bf16_masked", TILE, "gfx942", ["ck_tile.bwd.direction"]),
        ("bf16_bwd", TILE, "gfx950", []),
        ("bf16_bwd", TILE, "gfx90a", []),
        ("bf16_bwd", TILE, "gfx1100", ["ck_tile.bwd.arch", "ck_tile.bwd.tile"]),
    ],
)  # fmt: skip
def test_each_rule_names_what_the_kernels_do_not_have(
    text: str, config: CkTileBackwardConfig, arch: str, rules: list[str]
) -> None:
    assert broken(text, config, arch) == rules


def test_the_tree_has_what_its_factory_makes_and_the_rules_take_it() -> None:
    signature = parse_signature("bf16_bwd_masked", None)
    found = backward_configs(signature, "gfx942")
    assert len(found) == 5 * 3 * 3 and not any(broken("bf16_bwd_masked", one) for one in found)
    assert [one.hdim for one in found[::9]] == [32, 64, 96, 128, 256]
    assert len(backward_configs(parse_signature("fp32_bwd", None), "gfx942")) == 3 * 3 * 3
    assert backward_configs(signature, "gfx1201") == backward_configs(signature, "gfx1100") == ()
