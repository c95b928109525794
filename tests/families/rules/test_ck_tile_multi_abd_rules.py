"""Each rule of ck_tile's multi-D, multi-ABD and batched GEMMs: what breaks it, and that plain kernels are not asked."""

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
    Tile(64, 64, 64), (2, 2, 1), Tile(32, 32, 16), TilePipeline.COMPV3, Scheduler.INTRAWAVE,
    pad_m=True, pad_n=True, pad_k=True,
)  # fmt: skip
FUSED = (
    "gemm_fp16_rcr_batched",
    "gemm_fp16_rcr_epi_add",
    "gemm_fp16_rcr_a_add",
    "gemm_bf16_rcr_b_mul",
    "gemm_fp16_rcr_bias",
)
BROKEN: list[tuple[str, dict[str, Any], object, object]] = [
    ("pipeline", {"pipeline": TilePipeline.COMPV6}, "compv6", "mem compv3 compv4"),
    ("epilogue", {"epilogue": Epilogue.DEFAULT}, "default", "cshuffle"),
    ("grid", {"persistent": True}, "true", "false"),
]


def findings(signature: GemmSignature, config: CkTileConfig) -> dict[str, tuple[object, object]]:
    found = judge(signature, config, Backend.CK_TILE, load_arch("gfx942"))
    return {f.rule: (f.measured, f.limit) for f in found if f.rule.startswith("ck_tile.multi_abd.")}


@pytest.mark.parametrize("name", FUSED)
def test_the_usual_config_keeps_every_rule(name: str) -> None:
    for pipeline in (TilePipeline.MEM, TilePipeline.COMPV3, TilePipeline.COMPV4):
        config = replace(CONFIG, pipeline=pipeline)
        assert judge(parse_canonical(name), config, Backend.CK_TILE, load_arch("gfx942")) == ()


@pytest.mark.parametrize("name", FUSED)
@pytest.mark.parametrize(("rule", "changes", "measured", "limit"), BROKEN)
def test_what_breaks_a_rule(name: str, rule: str, changes: dict[str, Any], measured: object, limit: object) -> None:
    config = replace(CONFIG, **changes)
    assert findings(parse_canonical(name), config)[f"ck_tile.multi_abd.{rule}"] == (measured, limit)
    assert not findings(parse_canonical("gemm_fp16_rcr"), config)


def test_a_bias_is_added_to_floats_of_one_gemm() -> None:
    wanted = {"gemm_int8_int32_rcr_bias": ("int32", "bf16 fp16 fp32"), "grouped_gemm_fp16_rcr_bias": ("True", "none")}
    for name, numbers in wanted.items():
        found = findings(parse_canonical(name), CONFIG)["ck_tile.multi_abd.bias"]
        assert (str(found[0]), found[1]) == numbers


def test_scaled_gemms_fuse_nothing() -> None:
    scaled = parse_canonical("gemm_fp8_ocp_bf16_rcr_rowwise_epi_relu")
    assert findings(scaled, CONFIG) == {"ck_tile.multi_abd.scales": ("rowwise", "none")}
    assert not findings(parse_canonical("gemm_fp8_ocp_bf16_rcr_rowwise"), CONFIG)
