"""What classic CK's MoE kernels ask of a Config: each rule met by one change of a kernel that was measured."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ckgen.families.gemm.enums import MoePart, MoeTraits, Op, Quant
from ckgen.families.gemm.signature import GemmSignature, parse_canonical
from ckgen.families.moe.ck_config import CkMoeConfig, CkMoeOp
from ckgen.families.moe.config import MoePairConfig
from ckgen.families.rules import all_rules, judge
from ckgen.model.backend import Backend
from ckgen.model.config import Tile
from ckgen.specs.archs import load_archs

LAYER = parse_canonical("moe_fp8_fnuz_bf16_rcr_rowwise_preshuffle_layer_gated_epi_silu")
GATE_UP = replace(LAYER, moe=MoeTraits(MoePart.GATE_UP, gated=True))
DOWN = replace(LAYER, moe=MoeTraits(MoePart.DOWN), epilogue=())
CONFIG = CkMoeConfig(256, Tile(32, 64, 128), (1, 4), CkMoeOp.SCALE, 1)

CASES: tuple[tuple[str, GemmSignature, dict[str, Any], str], ...] = (
    ("ck.moe.part", LAYER, {}, "gfx942"),
    ("ck.moe.part", replace(GATE_UP, preshuffle_b=False), {}, "gfx942"),
    ("ck.moe.part", replace(GATE_UP, moe=MoeTraits(MoePart.GATE_UP)), {}, "gfx942"),
    ("ck.moe.part", replace(DOWN, op=Op.GEMM, moe=MoeTraits()), {}, "gfx942"),
    ("ck.moe.op", GATE_UP, {"op": CkMoeOp.BLOCK_SCALE}, "gfx942"),
    ("ck.moe.waves", GATE_UP, {"block": 128}, "gfx942"),
    ("ck.moe.waves", GATE_UP, {"tile": Tile(24, 64, 128)}, "gfx942"),
    ("ck.moe.waves", GATE_UP, {"tile": Tile(32, 48, 128)}, "gfx942"),
    ("ck.moe.waves", GATE_UP, {}, "gfx1100"),
    ("ck.moe.xdl", GATE_UP, {}, "gfx950"),
    ("ck.moe.xdl", GATE_UP, {"tile": Tile(32, 64, 48)}, "gfx942"),
    ("ck.moe.pipeline", GATE_UP, {"pipeline": 2}, "gfx942"),
    ("ck.moe.lds", GATE_UP, {"tile": Tile(256, 64, 512)}, "gfx942"),
)


def rules_broken(signature: GemmSignature, config: CkMoeConfig, arch: str) -> set[str]:
    return {finding.rule for finding in judge(signature, config, Backend.CK, load_archs()[arch])}


@pytest.mark.parametrize("signature", [GATE_UP, DOWN])
def test_a_measured_kernel_keeps_all_rules(signature: GemmSignature) -> None:
    assert rules_broken(signature, CONFIG, "gfx942") == set()


@pytest.mark.parametrize("quant", [Quant.PER_TENSOR, Quant.ROWWISE])
@pytest.mark.parametrize("op", [CkMoeOp.CAST, CkMoeOp.CAST_WEIGHT])
def test_a_cast_is_an_op_of_scales_per_tensor_and_row(quant: Quant, op: CkMoeOp) -> None:
    assert rules_broken(replace(GATE_UP, quant=quant), replace(CONFIG, op=op), "gfx942") == set()


@pytest.mark.parametrize(("rule", "signature", "change", "arch"), CASES)
def test_a_broken_rule_is_named(rule: str, signature: GemmSignature, change: dict[str, Any], arch: str) -> None:
    assert rule in rules_broken(signature, replace(CONFIG, **change), arch)


def test_no_kernel_splits_k() -> None:
    blocks = parse_canonical("moe_fp8_fnuz_bf16_rcr_blockscale_preshuffle_gate_up_gated_epi_silu")
    assert rules_broken(blocks, replace(CONFIG, op=CkMoeOp.BLOCK_SCALE_SPLITK), "gfx942") == {"ck.moe.pipeline"}


def test_two_tiles_of_a_pipeline_ahead_share_lds() -> None:
    tile = Tile(128, 64, 512)
    assert rules_broken(GATE_UP, replace(CONFIG, tile=tile), "gfx942") == set()
    assert rules_broken(GATE_UP, replace(CONFIG, tile=tile, pipeline=3), "gfx942") == {"ck.moe.lds"}


def test_a_pair_is_judged_by_its_parts() -> None:
    arch = load_archs()["gfx942"]
    assert judge(LAYER, MoePairConfig(CONFIG, CONFIG), Backend.CK, arch) == ()
    broken = judge(LAYER, MoePairConfig(CONFIG, replace(CONFIG, pipeline=2)), Backend.CK, arch)
    assert [finding.rule for finding in broken] == ["ck.moe.pipeline"]


def test_every_rule_is_met() -> None:
    assert {case[0] for case in CASES} == {rule.id for rule in all_rules() if rule.id.startswith("ck.moe.")}
