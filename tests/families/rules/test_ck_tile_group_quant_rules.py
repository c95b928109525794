"""Each rule of ck_tile's GEMMs with scales for groups of one side: what breaks it, and that others are not asked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ckgen.families.gemm.config import CkTileConfig, Epilogue, Scheduler, TilePipeline
from ckgen.families.gemm.signature import GemmSignature, parse_canonical
from ckgen.families.rules import judge
from ckgen.model.backend import Backend
from ckgen.model.config import Tile
from ckgen.specs import load_arch

CONFIG = CkTileConfig(
    Tile(64, 128, 128), (2, 2, 1), Tile(32, 32, 16), TilePipeline.COMPV3, Scheduler.INTRAWAVE, pad_n=True
)
SCALED_A = "gemm_fp8_fnuz_bf16_rcr_blockscale_scales_a_128x64"
SCALED_B = "gemm_fp8_fnuz_bf16_rcr_blockscale_scales_b_16x32"
INT4 = "gemm_bf8_fnuz_int4_fp16_rcr_blockscale_scales_b_1x128"


def usual(signature: GemmSignature) -> CkTileConfig:
    return replace(CONFIG, transpose_c=signature.scale_block.of_a)


def findings(name: str, **changes: Any) -> dict[str, tuple[object, object]]:
    signature = parse_canonical(name)
    found = judge(signature, replace(usual(signature), **changes), Backend.CK_TILE, load_arch("gfx942"))
    return {f.rule.removeprefix("ck_tile.group_quant."): (f.measured, f.limit) for f in found}


@pytest.mark.parametrize("name", [SCALED_A, SCALED_B, INT4])
def test_the_usual_config_keeps_every_rule(name: str) -> None:
    assert findings(name) == {}


@pytest.mark.parametrize("name", [SCALED_A, SCALED_B, INT4])
@pytest.mark.parametrize(("rule", "changes", "measured", "limit"), [
    ("pipeline", {"pipeline": TilePipeline.MEM}, "mem", "compv3"),
    ("pad_k", {"pad_k": True}, "true", "false"),
    ("plain", {"epilogue": Epilogue.DEFAULT}, "epilogue", "none"),
    ("plain", {"persistent": True}, "persistent", "none"),
    ("plain", {"vector": 8}, "vector", "none"),
])  # fmt: skip
def test_what_breaks_a_rule(name: str, rule: str, changes: dict[str, Any], measured: str, limit: str) -> None:
    assert findings(name, **changes)[rule] == (measured, limit)


@pytest.mark.parametrize(("name", "changes", "measured", "limit"), [
    ("gemm_fp8_fnuz_bf16_rcr_blockscale_scales_b_128x16", {"warp_tile": Tile(16, 16, 32)}, 16, 32),
    (SCALED_A, {"tile": Tile(64, 128, 32)}, 32, 64),
    ("gemm_fp8_fnuz_bf16_rcr_blockscale_scales_b_128x128", {"tile": Tile(64, 64, 128)}, 64, 128),
])  # fmt: skip
def test_a_tile_holds_whole_groups_of_whole_warp_tiles(
    name: str, changes: dict[str, Any], measured: int, limit: int
) -> None:
    assert findings(name, **changes)["group"] == (measured, limit)


@pytest.mark.parametrize(("name", "measured", "limit"), [
    ("gemm_fp8_fnuz_bf8_fnuz_bf16_rcr_blockscale_scales_b_128x128", "bf8_fnuz", "fp8_fnuz int4"),
    ("gemm_bf16_int4_bf16_rcr_blockscale_scales_b_1x128", "bf16", "fp8 bf8"),
])  # fmt: skip
def test_the_product_is_of_one_8_bit_type(name: str, measured: str, limit: str) -> None:
    assert findings(name)["types"] == (measured, limit)


def test_a_lane_has_one_scale_of_a() -> None:
    assert findings(SCALED_A, transpose_c=False) == {"lane": ("false", "true")}
    assert findings(SCALED_B, transpose_c=True) == {"lane": ("true", "false")}


@pytest.mark.parametrize("word", ["batched", "bias"])
def test_nothing_is_done_beside_the_scales(word: str) -> None:
    assert findings(f"gemm_fp8_fnuz_bf16_rcr_blockscale_{word}_scales_a_128x64")["plain"] == (word, "none")


def test_other_kernels_are_not_asked() -> None:
    signature = parse_canonical("gemm_fp8_fnuz_bf16_rcr_rowwise")
    config = replace(CONFIG, pad_k=True, transpose_c=True)
    found = judge(signature, config, Backend.CK_TILE, load_arch("gfx942"))
    assert not [f for f in found if f.rule.startswith("ck_tile.group_quant.")]


def test_unscaled_int4_has_no_warp_tile() -> None:
    found = judge(parse_canonical("gemm_fp8_fnuz_int4_bf16_rcr"), CONFIG, Backend.CK_TILE, load_arch("gfx942"))
    assert "ck_tile.warp_tile.exists" in {f.rule for f in found}
