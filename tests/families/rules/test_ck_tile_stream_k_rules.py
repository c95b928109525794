"""Each rule of ck_tile's stream-K: what just keeps it, what just breaks it, and that plain kernels are not asked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ckgen.families.gemm.config import CkTileConfig, Scheduler, TilePipeline
from ckgen.families.gemm.enums import Quant
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.rules import judge
from ckgen.model.backend import Backend
from ckgen.model.config import Tile
from ckgen.model.dtype import DType
from ckgen.model.strategy import Strategy
from ckgen.specs import load_arch

FP16 = GemmSignature.of(DType.FP16, DType.FP16)
INT8 = GemmSignature.of(DType.INT8, DType.INT32)
STREAM_K = CkTileConfig(
    Tile(128, 128, 64), (2, 2, 1), Tile(32, 32, 16), TilePipeline.COMPV3, Scheduler.INTRAWAVE,
    pad_m=True, pad_n=True, pad_k=True, strategy=Strategy.LINEAR,
)  # fmt: skip

BROKEN: list[tuple[str, str, GemmSignature, dict[str, Any], object, object]] = [
    ("arch", "gfx90a", FP16, {}, "gfx90a", "an arch that has them"),
    ("plain", "gfx942", replace(FP16, batched=True), {}, "gemm_fp16_rcr_batched", "plain"),
    ("plain", "gfx942", replace(FP16, bias=True), {}, "gemm_fp16_rcr_bias", "plain"),
    ("plain", "gfx942", replace(FP16, quant=Quant.PER_TENSOR, scale=DType.FP32), {}, None, "plain"),
    ("pipeline", "gfx942", FP16, {"pipeline": TilePipeline.COMPV6}, "compv6", "mem compv3 compv4"),
    ("grid", "gfx942", FP16, {"persistent": True}, "persistent", "not persistent"),
    ("undivided_k", "gfx942", FP16, {"warps": (2, 1, 2)}, 2, 1),
    ("atomic_c", "gfx942", FP16, {"strategy": Strategy.ATOMIC, "vector": 1}, 1, 2),
    ("resident", "gfx942", FP16, {"block_per_cu": 3}, 3 * 32768, 65536),
]


def stream_k_findings(signature: GemmSignature, config: CkTileConfig, arch: str) -> dict[str, tuple[object, object]]:
    found = judge(signature, config, Backend.CK_TILE, load_arch(arch))
    return {f.rule: (f.measured, f.limit) for f in found if f.rule.startswith("ck_tile.stream_k.")}


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_all_strategies_keep_every_rule(arch: str) -> None:
    for strategy in Strategy:
        if strategy.is_stream_k:
            config = replace(STREAM_K, strategy=strategy, block_per_cu=2)
            for signature in (FP16, INT8):
                assert judge(signature, config, Backend.CK_TILE, load_arch(arch)) == ()


@pytest.mark.parametrize(("rule", "arch", "signature", "changes", "measured", "limit"), BROKEN)
def test_what_breaks_a_rule(
    rule: str, arch: str, signature: GemmSignature, changes: dict[str, Any], measured: object, limit: object
) -> None:
    config = replace(STREAM_K, **changes)
    got = stream_k_findings(signature, config, arch)
    assert f"ck_tile.stream_k.{rule}" in got
    numbers = got[f"ck_tile.stream_k.{rule}"]
    assert numbers[1] == limit and measured in (None, numbers[0])
    plain = replace(config, strategy=Strategy.DATA_PARALLEL)
    assert stream_k_findings(signature, plain, arch) == {}
