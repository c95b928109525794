"""Each ck_tile rule at its limit: what just keeps it, what just breaks it, and with which numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ckgen.families.gemm.config import CkTileConfig, Epilogue, Scheduler, TilePipeline
from ckgen.families.gemm.enums import Quant
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.rules import all_rules, judge
from ckgen.model.backend import Backend
from ckgen.model.config import Tile
from ckgen.model.dtype import DType
from ckgen.specs import load_arch

FP16 = GemmSignature.of(DType.FP16, DType.FP16)
FP32 = GemmSignature.of(DType.FP32, DType.FP32)
FP8 = GemmSignature.of(DType.FP8_FNUZ, DType.BF16)
FP8_OCP = GemmSignature.of(DType.FP8_OCP, DType.BF16)
SHUFFLED = GemmSignature.of(DType.FP8_FNUZ, DType.BF16, quant=Quant.ROWWISE, preshuffle_b=True)
SCALED = GemmSignature.of(DType.FP8_OCP, DType.BF16, quant=Quant.BLOCKSCALE)

DENSE = CkTileConfig(Tile(128, 128, 64), (2, 2, 1), Tile(32, 32, 16), TilePipeline.COMPV3, Scheduler.INTRAWAVE)
FLAT = CkTileConfig(Tile(64, 256, 128), (1, 4, 1), Tile(16, 16, 64), TilePipeline.FLATMM)
QUANT = CkTileConfig(Tile(128, 128, 128), (1, 4, 1), Tile(16, 16, 128), TilePipeline.ABQUANT, Scheduler.INTRAWAVE)
WMMA = CkTileConfig(Tile(64, 64, 32), (2, 2, 1), Tile(16, 16, 32), TilePipeline.COMPV3, Scheduler.INTRAWAVE)

Case = tuple[str, str, GemmSignature, CkTileConfig, dict[str, Any], dict[str, Any], object, object]

CASES: list[Case] = [
    ("ck_tile.tile.minimum", "gfx942", FP16, DENSE, {"tile": Tile(64, 64, 16)}, {"tile": Tile(64, 64, 12)}, 12, 8),
    ("ck_tile.tile.waves", "gfx942", FP16, DENSE, {"tile": Tile(192, 64, 64)}, {"tile": Tile(96, 64, 64)}, 96, 64),
    ("ck_tile.tile.waves", "gfx942", FP16, DENSE, {}, {"tile": Tile(128, 128, 24)}, 24, 16),
    ("ck_tile.waves.supported", "gfx950", FP16, DENSE, {"tile": Tile(256, 128, 64), "warps": (4, 2, 1)},
     {"tile": Tile(128, 256, 64), "warps": (2, 4, 1)}, "2x4x1", None),
    ("ck_tile.waves.supported", "gfx942", FP16, DENSE, {"warps": (4, 1, 1)}, {"warps": (4, 2, 1)}, "4x2x1", None),
    ("ck_tile.waves.threads", "gfx950", FP16, DENSE, {"warps": (4, 4, 1)}, {"warps": (4, 5, 1)}, 1280, 1024),
    ("ck_tile.waves.pipeline", "gfx1250", FP16, WMMA, {"warps": (4, 1, 1)}, {"warps": (4, 2, 1)}, 8, 4),
    ("ck_tile.warp_tile.exists", "gfx950", FP8_OCP, DENSE, {"warp_tile": Tile(16, 16, 128)},
     {"warp_tile": Tile(16, 16, 256)}, "16x16x256", None),
    ("ck_tile.warp_tile.exists", "gfx942", FP8, DENSE, {"warp_tile": Tile(16, 16, 64)},
     {"warp_tile": Tile(16, 16, 128)}, "16x16x128", None),
    ("ck_tile.pipeline.scheduler", "gfx942", FP16, DENSE,
     {"pipeline": TilePipeline.MEM, "scheduler": Scheduler.INTERWAVE}, {"scheduler": Scheduler.INTERWAVE},
     "interwave", "intrawave"),
    ("ck_tile.pipeline.b", "gfx942", SHUFFLED, FLAT, {}, {"pipeline": TilePipeline.COMPV3}, "preshuffled", "staged"),
    ("ck_tile.pipeline.b", "gfx942", FP8, DENSE, {}, {"pipeline": TilePipeline.FLATMM}, "staged", "preshuffled"),
    ("ck_tile.pipeline.scale_k", "gfx950", SCALED, QUANT, {}, {"tile": Tile(128, 128, 192)}, 192, 128),
    ("ck_tile.lds.staging", "gfx942", FP16, DENSE, {"tile": Tile(256, 256, 64)}, {"tile": Tile(256, 320, 64)},
     73728, 65536),
    ("ck_tile.lds.staging", "gfx942", FP16, replace(DENSE, pipeline=TilePipeline.COMPV4),
     {"tile": Tile(128, 128, 64)}, {"tile": Tile(128, 192, 64)}, 40960, 32768),
    ("ck_tile.lds.staging", "gfx950", FP16, replace(DENSE, pipeline=TilePipeline.COMPV4),
     {"tile": Tile(256, 384, 64)}, {"tile": Tile(256, 448, 64)}, 90112, 81920),
    ("ck_tile.lds.staging", "gfx942", FP16, replace(DENSE, double_smem=True), {}, {"tile": Tile(128, 192, 64)},
     40960, 32768),
    ("ck_tile.lds.staging", "gfx942", SHUFFLED, FLAT, {"tile": Tile(256, 1024, 128)}, {"tile": Tile(288, 64, 128)},
     36864, 32768),
    ("ck_tile.lds.epilogue", "gfx942", FP32, DENSE, {"warps": (4, 4, 1)}, {"warps": (4, 5, 1)}, 81920, 65536),
    ("ck_tile.epilogue.repeat", "gfx942", FP16, DENSE, {"tile": Tile(128, 384, 32)}, {"tile": Tile(128, 192, 32)},
     3, "1 or even"),
    ("ck_tile.preshuffle.loads", "gfx942", SHUFFLED, FLAT, {"tile": Tile(32, 256, 128)},
     {"tile": Tile(48, 256, 128)}, 48, 32),
]  # fmt: skip


def findings(arch: str, signature: GemmSignature, config: CkTileConfig) -> dict[str, tuple[object, object]]:
    found = judge(signature, config, Backend.CK_TILE, load_arch(arch))
    return {finding.rule: (finding.measured, finding.limit) for finding in found}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def test_rule_at_its_limit(case: Case) -> None:
    rule, arch, signature, config, good, bad, measured, limit = case
    assert rule not in findings(arch, signature, replace(config, **good))
    found = findings(arch, signature, replace(config, **bad))
    assert rule in found
    assert found[rule][0] == measured
    assert limit is None or found[rule][1] == limit


@pytest.mark.parametrize("config", [DENSE, replace(DENSE, warps=(1, 4, 1))])
def test_a_plain_config_is_valid(config: CkTileConfig) -> None:
    for arch in ("gfx90a", "gfx942", "gfx950"):
        assert findings(arch, FP16, config) == {}
    assert findings("gfx942", SHUFFLED, FLAT) == {}
    assert findings("gfx950", SCALED, QUANT) == {}


def test_a_cpu_runs_no_ck_tile_kernel() -> None:
    assert findings("x86_64_v4", FP16, DENSE)["ck_tile.arch.gpu"] == ("cpu", "gpu")
    assert "ck_tile.pipeline.exists" in findings("x86_64_v4", FP16, DENSE)


def test_pipelines_exist_per_arch() -> None:
    assert "ck_tile.pipeline.exists" not in findings("gfx942", FP16, DENSE)


def test_sparsity_needs_fp16() -> None:
    sparse = replace(DENSE, structured_sparsity=True)
    assert "ck_tile.warp_tile.sparse" not in findings("gfx942", FP16, sparse)
    bf16 = GemmSignature.of(DType.BF16, DType.BF16)
    assert findings("gfx942", bf16, sparse)["ck_tile.warp_tile.sparse"] == ("bf16", "fp16")


def test_past_lds_loads_tile_m() -> None:
    # 512 bytes of K are 32 loads of 16 bytes: one wave covers 2 rows, four waves 8.
    wide = replace(FLAT, tile=Tile(16, 64, 512))
    assert findings("gfx942", SHUFFLED, wide) == {}
    # 128 bytes of K: one wave covers 8 rows, four waves 32.
    assert "ck_tile.preshuffle.loads" not in findings("gfx942", SHUFFLED, replace(FLAT, tile=Tile(32, 256, 128)))
    narrow = replace(FLAT, tile=Tile(48, 256, 128))
    assert findings("gfx942", SHUFFLED, narrow)["ck_tile.preshuffle.loads"] == (48, 32)


def test_fp8_has_no_tile_without_fp8_instructions() -> None:
    plain = GemmSignature.of(DType.FP8, DType.BF16)
    found = findings("gfx90a", plain, replace(DENSE, warp_tile=Tile(32, 32, 16)))
    assert found["ck_tile.warp_tile.exists"] == ("32x32x16", "none")


def test_a_default_epilogue_has_no_shuffle_rules() -> None:
    direct = replace(DENSE, tile=Tile(128, 192, 32), epilogue=Epilogue.DEFAULT)
    assert findings("gfx942", FP16, direct) == {}


def test_each_config_is_judged_by_its_own_pipeline() -> None:
    wide = replace(DENSE, tile=Tile(256, 256, 64))
    assert findings("gfx942", FP16, wide) == {}
    assert "ck_tile.lds.staging" in findings("gfx942", FP16, replace(wide, pipeline=TilePipeline.COMPV4))


def test_every_rule_is_met_here() -> None:
    named = {case[0] for case in CASES} | {
        "ck_tile.arch.gpu",
        "ck_tile.pipeline.exists",
        "ck_tile.vendor",
        "ck_tile.warp_tile.sparse",
    }
    ids = {rule.id for rule in all_rules() if rule.backend is Backend.CK_TILE}
    elsewhere = tuple(
        f"ck_tile.{kind}." for kind in ("append", "bwd", "dense", "fmha", "group_quant", "multi_abd", "stream_k")
    )
    assert named == {rule_id for rule_id in ids if not rule_id.startswith(elsewhere)}
