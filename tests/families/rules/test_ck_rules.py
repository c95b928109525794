"""Each rule of classic CK at its limit: what just keeps it, what just breaks it, and with which numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ckgen.families.gemm.config import CkBlockScaleConfig, CkConfig, CkPreshuffledConfig, CkRowwiseConfig, Scheduler
from ckgen.families.gemm.enums import Quant
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.rules import all_rules, judge
from ckgen.model.backend import Backend
from ckgen.model.config import Tile
from ckgen.model.dtype import DType
from ckgen.specs import load_arch

INT8 = GemmSignature.of(DType.INT8, DType.BF16, quant=Quant.ROWWISE)
BF16 = GemmSignature.of(DType.BF16, DType.BF16, batched=True)
FP8 = GemmSignature.of(DType.FP8_FNUZ, DType.BF16, quant=Quant.BLOCKSCALE)
SHUFFLED = GemmSignature.of(DType.FP8_FNUZ, DType.BF16, quant=Quant.ROWWISE, preshuffle_b=True)
FP4 = GemmSignature.of(DType.FP4, DType.BF16, quant=Quant.MX, preshuffle_b=True)

ROW = CkRowwiseConfig(
    block=256, tile=Tile(128, 128, 128), xdl=(32, 32), xdl_per_wave=(2, 2), a_cluster=(8, 32, 1),
    b_cluster=(8, 32, 1), c_cluster=(1, 32, 1, 8), c_vector=(8, 8, 1), cshuffle=(1, 1),
    scheduler=Scheduler.INTRAWAVE, pipeline=3,
)  # fmt: skip
SCALE = CkBlockScaleConfig(
    scale_block=(1, 128, 128), block=256, tile=Tile(128, 128, 128), ak1=16, bk1=16, xdl=(32, 32), xdl_per_wave=(2, 2),
    a_cluster=(8, 32, 1), b_cluster=(8, 32, 1), c_cluster=(1, 32, 1, 8), c_vector=(8,), cshuffle=(1, 1),
    scheduler=Scheduler.INTRAWAVE, pipeline=3,
)  # fmt: skip
PRE = CkPreshuffledConfig(
    scale_block=None, block=256, tile=Tile(64, 128, 128), ak1=16, bk1=16, xdl=(16, 16), a_cluster=(8, 32, 1),
    b_cluster=(8, 32, 1), c_cluster=(1, 32, 1, 8), c_vector=(8, 8, 1), cshuffle=(2, 2),
    scheduler=Scheduler.INTRAWAVE, pipeline=3,
)  # fmt: skip

Case = tuple[str, str, GemmSignature, CkConfig, dict[str, Any], dict[str, Any], object, object]

CASES: list[Case] = [
    ("ck.arch.xdl", "gfx942", INT8, ROW, {}, {"arch": "gfx1201"}, 32, 64),
    ("ck.vendor", "gfx942", INT8, ROW, {}, {"arch": "sm_90a"}, "nvidia", "amd"),
    ("ck.block.waves", "gfx942", INT8, ROW, {"block": 1024}, {"block": 1088}, 1088, 1024),
    ("ck.block.waves", "gfx942", INT8, ROW, {"block": 192}, {"block": 160}, 160, 64),
    ("ck.tile.waves", "gfx942", INT8, ROW, {}, {"tile": Tile(96, 128, 128)}, 96, 64),
    ("ck.tile.waves", "gfx942", INT8, ROW, {}, {"xdl_per_wave": (2, 1)}, 512, 256),
    ("ck.tile.waves", "gfx942", SHUFFLED, PRE, {}, {"cshuffle": (3, 3)}, "64x128x128", 256),
    ("ck.xdl.exists", "gfx942", INT8, ROW, {"xdl": (16, 16)}, {"xdl": (64, 64)}, "64x64", None),
    ("ck.xdl.exists", "gfx942", INT8, ROW, {"tile": Tile(128, 128, 16)}, {"tile": Tile(128, 128, 8)}, 8, 16),
    ("ck.xdl.exists", "gfx950", FP4, replace(PRE, k_pack=2, tile=Tile(64, 128, 64)), {},
     {"tile": Tile(64, 128, 32)}, 64, 128),
    ("ck.cluster.k", "gfx942", INT8, ROW, {"a_cluster": (16, 16, 1)}, {"a_cluster": (12, 16, 1)}, 128, 12),
    ("ck.cluster.k", "gfx942", FP8, SCALE, {}, {"bk1": 8}, 16, 8),
    ("ck.cluster.block", "gfx942", INT8, ROW, {"a_cluster": (8, 16, 1)}, {"a_cluster": (8, 24, 1)}, 256, 192),
    ("ck.cluster.block", "gfx942", INT8, ROW, {"b_cluster": (8, 32, 1)}, {"b_cluster": (8, 64, 1)}, 256, 512),
    ("ck.cluster.rows", "gfx942", INT8, ROW, {"tile": Tile(32, 128, 128)}, {"tile": Tile(48, 128, 128)}, 48, 32),
    ("ck.cluster.c", "gfx942", INT8, ROW, {"c_cluster": (1, 16, 1, 16)}, {"c_cluster": (1, 16, 1, 8)}, 128, 256),
    ("ck.cshuffle.repeats", "gfx942", INT8, ROW, {"cshuffle": (2, 2)}, {"cshuffle": (1, 4)}, 2, 4),
    ("ck.cshuffle.stores", "gfx942", INT8, ROW, {"c_vector": (8,)}, {"c_vector": (16,)}, 64, 128),
    ("ck.cshuffle.stores", "gfx942", INT8, ROW, {"c_cluster": (1, 64, 1, 4)}, {"c_cluster": (1, 128, 1, 2)}, 64, 128),
    ("ck.lds.staging", "gfx942", INT8, ROW, {"tile": Tile(256, 256, 128)}, {"tile": Tile(256, 320, 128)},
     73728, 65536),
    ("ck.lds.staging", "gfx942", BF16, replace(ROW, tile=Tile(256, 256, 32)), {"pipeline": 4},
     {"pipeline": 4, "tile": Tile(256, 256, 64)}, 131072, 65536),
    ("ck.lds.staging", "gfx942", SHUFFLED, PRE, {"tile": Tile(256, 1024, 128)}, {"tile": Tile(288, 128, 128)},
     73728, 65536),
    ("ck.lds.staging", "gfx942", SHUFFLED, PRE, {"tile": Tile(512, 128, 128), "pipeline": 1},
     {"tile": Tile(512, 128, 128), "pipeline": 2}, 131072, 65536),
    ("ck.lds.staging", "gfx942", SHUFFLED, PRE, {"tile": Tile(512, 128, 128), "pipeline": 1},
     {"tile": Tile(1024, 128, 128), "pipeline": 1}, 131072, 65536),
    ("ck.lds.cshuffle", "gfx942", BF16, replace(ROW, tile=Tile(512, 256, 32), xdl_per_wave=(8, 4)),
     {"cshuffle": (4, 2)}, {"cshuffle": (8, 4)}, 262144, 65536),
    ("ck.pipeline.exists", "gfx942", INT8, ROW, {"pipeline": 5}, {"pipeline": 6}, "v6", None),
    ("ck.pipeline.scheduler", "gfx942", INT8, replace(ROW, scheduler=Scheduler.INTERWAVE), {"pipeline": 2},
     {"pipeline": 3}, "interwave", "intrawave"),
    ("ck.scale.k", "gfx942", FP8, SCALE, {"tile": Tile(128, 128, 256)}, {"tile": Tile(128, 128, 192)}, 192, 128),
]  # fmt: skip


def findings(arch: str, signature: GemmSignature, config: CkConfig) -> dict[str, tuple[object, object]]:
    found = judge(signature, config, Backend.CK, load_arch(arch))
    return {finding.rule: (finding.measured, finding.limit) for finding in found}


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}-{case[1]}")
def test_rule_at_its_limit(case: Case) -> None:
    rule, arch, signature, config, good, bad, measured, limit = case
    assert rule not in findings(arch, signature, replace(config, **good))
    changes = dict(bad)
    found = findings(changes.pop("arch", arch), signature, replace(config, **changes))
    assert rule in found
    assert found[rule][0] == measured
    assert limit is None or found[rule][1] == limit


def test_plain_configs_are_valid() -> None:
    assert findings("gfx942", INT8, ROW) == {}
    assert findings("gfx942", FP8, SCALE) == {}
    assert findings("gfx942", SHUFFLED, PRE) == {}


def test_fp4_is_only_where_its_instructions_are() -> None:
    packed = replace(PRE, k_pack=2)
    assert "ck.xdl.exists" not in findings("gfx950", FP4, packed)
    assert findings("gfx942", FP4, packed)["ck.xdl.exists"] == ("16x16", "none")


def test_rules_that_need_an_omitted_field_work_from_the_fewest_waves() -> None:
    narrow = replace(PRE, tile=Tile(64, 64, 128), cshuffle=(1, 2))
    assert narrow.waves == (2, 2, 1)
    assert findings("gfx942", SHUFFLED, narrow) == {}


def test_ck_tile_s_rules_do_not_judge_classic_ck() -> None:
    # 8x1 waves are in no list of ck_tile's for gfx942; classic CK has no such list.
    tall = replace(ROW, block=512, tile=Tile(512, 64, 64), a_cluster=(4, 128, 1), b_cluster=(4, 64, 1),
                   c_cluster=(1, 128, 1, 4))  # fmt: skip
    assert tall.waves == (8, 1, 1)
    assert findings("gfx942", INT8, tall) == {}


def test_every_rule_is_met_here() -> None:
    rules = {rule.id for rule in all_rules() if rule.backend is Backend.CK and not rule.id.startswith("ck.moe.")}
    assert {case[0] for case in CASES} == rules
