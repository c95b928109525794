"""Each rule of dense ck_tile GEMMs at its limit: what just keeps it, what just breaks it, and with which numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ckgen.families.gemm.config import CkTileConfig, Epilogue, Scheduler, TilePipeline
from ckgen.families.gemm.enums import Layout, Quant
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.rules import all_rules, judge
from ckgen.model.backend import Backend
from ckgen.model.config import Tile
from ckgen.model.dtype import DType
from ckgen.specs import load_arch

FP16 = GemmSignature.of(DType.FP16, DType.FP16)
FP16_CRR = replace(FP16, layout=Layout.CRR)
FP32 = GemmSignature.of(DType.FP16, DType.FP32)
FP8 = GemmSignature.of(DType.FP8_FNUZ, DType.BF16)
OCP = GemmSignature.of(DType.FP8_OCP, DType.BF16)
OCP_RRR = replace(OCP, layout=Layout.RRR)
MIXED = GemmSignature.of(DType.FP8_FNUZ, DType.BF16, b=DType.BF8_FNUZ)

DENSE = CkTileConfig(Tile(128, 128, 64), (2, 2, 1), Tile(32, 32, 16), TilePipeline.COMPV3, Scheduler.INTRAWAVE)
V5 = replace(DENSE, pipeline=TilePipeline.COMPV5, warps=(1, 1, 2), num_wave_groups=2)
WMMA = CkTileConfig(Tile(64, 64, 64), (2, 4, 1), Tile(16, 16, 16), TilePipeline.COMPV3, Scheduler.INTRAWAVE)

Case = tuple[str, str, GemmSignature, CkTileConfig, dict[str, Any], dict[str, Any], object, object]

CASES: list[Case] = [
    ("flags", "gfx942", FP16, DENSE, {}, {"permute_n": True}, "permute_n", "none"),
    ("flags", "gfx942", FP16, DENSE, {"transpose_c": True}, {"double_smem": True}, "double_smem", "none"),
    ("flags", "gfx942", FP16, DENSE, {}, {"a_row_major_scales": True}, "a_row_major_scales", "none"),
    ("flags", "gfx942", FP16, DENSE, {}, {"structured_sparsity": True}, "structured_sparsity", "none"),
    ("wave_groups", "gfx942", FP16, DENSE, {"warps": (4, 1, 1)}, {"warps": (2, 1, 2)}, "2x1x2", "2x1x1"),
    ("wave_groups", "gfx942", FP16, DENSE, {}, {"num_wave_groups": 2}, "2", "1"),
    ("wave_groups", "gfx942", FP16, V5, {}, {"num_wave_groups": 1}, "1", "2"),
    ("wave_groups", "gfx942", FP16, V5, {}, {"warps": (2, 2, 1)}, "2x2x1", "1x1x2"),
    # 128 elements of K one by one are twice a wave; 8 waves of 4 rows of 16 lanes are 32 rows
    ("loads", "gfx942", FP16, DENSE, {"vector": 2, "tile": Tile(128, 128, 128)},
     {"vector": 1, "tile": Tile(128, 128, 128)}, 128, 64),
    ("loads", "gfx942", FP16, DENSE, {"vector": 8, "tile": Tile(64, 64, 32)},
     {"vector": 8, "tile": Tile(64, 96, 32)}, 96, 64),
    ("direct_loads", "gfx950", FP16, replace(DENSE, pipeline=TilePipeline.COMP_ASYNC), {"vector": 2}, {"vector": 4},
     "8", "4 16"),
    # 64 x 64 of fp16 are 8 elements for each of 512 threads, 64 x 32 only 4
    ("vectors", "gfx1201", FP16, WMMA, {}, {"tile": Tile(64, 64, 32)}, "8 and 8", "4 and 4"),
    ("stores", "gfx942", FP16, DENSE, {"vector": 1}, {"vector": 1, "warps": (1, 4, 1)}, 128, 64),
    ("lds", "gfx942", FP32, replace(DENSE, pipeline=TilePipeline.COMPV4, tile=Tile(128, 128, 32)),
     {"warps": (2, 2, 1)}, {"warps": (4, 4, 1), "tile": Tile(128, 128, 64)}, 131072, 65536),
    ("registers", "gfx942", FP16, DENSE, {"tile": Tile(256, 256, 32)}, {"tile": Tile(256, 384, 32)}, 384, 256),
    ("registers", "gfx1201", FP16, WMMA, {"tile": Tile(128, 128, 32)}, {"tile": Tile(256, 128, 32)}, 128, 64),
    ("tree", "gfx950", FP16, replace(DENSE, pipeline=TilePipeline.COMP_ASYNC, tile=Tile(64, 64, 64)), {},
     {"layout": "-"}, None, None),
]  # fmt: skip


def findings(arch: str, signature: GemmSignature, config: CkTileConfig) -> dict[str, tuple[object, object, str]]:
    found = judge(signature, config, Backend.CK_TILE, load_arch(arch))
    return {finding.rule: (finding.measured, finding.limit, finding.reason) for finding in found}


@pytest.mark.parametrize("case", [case for case in CASES if case[0] != "tree"], ids=lambda case: f"{case[0]}-{case[5]}")
def test_rule_at_its_limit(case: Case) -> None:
    name, arch, signature, config, good, bad, measured, limit = case
    rule = f"ck_tile.dense.{name}"
    assert rule not in findings(arch, signature, replace(config, **good))
    assert findings(arch, signature, replace(config, **bad))[rule][:2] == (measured, limit)


def test_what_the_tree_lacks_is_told_in_its_words() -> None:
    rule = "ck_tile.dense.tree"
    direct = replace(DENSE, pipeline=TilePipeline.COMP_ASYNC)
    assert rule not in findings("gfx950", FP16, direct)
    assert "16 bytes per lane straight into LDS" in findings("gfx942", FP16, direct)[rule][2]
    assert "one ComputeDataType" in findings("gfx942", MIXED, DENSE)[rule][2]
    assert rule not in findings("gfx942", MIXED, replace(DENSE, pipeline=TilePipeline.COMPV4))


@pytest.mark.parametrize(
    ("arch", "signature", "warp_tile", "transpose_c", "form"),
    [
        ("gfx942", FP8, Tile(32, 32, 32), False, None),
        ("gfx942", FP8, Tile(32, 32, 32), True, "single_transposed"),
        ("gfx950", OCP, Tile(32, 32, 32), False, None),
        ("gfx950", OCP_RRR, Tile(32, 32, 32), False, "double"),
        ("gfx950", OCP_RRR, Tile(32, 32, 64), False, None),
        ("gfx950", OCP_RRR, Tile(16, 16, 128), True, "quad_transposed"),
        ("gfx950", FP16_CRR, Tile(32, 32, 16), True, None),
        ("gfx950", FP16_CRR, Tile(64, 4, 16), False, "of other accesses"),
    ],
)
def test_warp_tiles_exist_in_the_form_that_a_layout_takes(
    arch: str, signature: GemmSignature, warp_tile: Tile, transpose_c: bool, form: str | None
) -> None:
    found = findings(arch, signature, replace(DENSE, warp_tile=warp_tile, transpose_c=transpose_c))
    if form is None:
        assert "ck_tile.dense.tree" not in found
    else:
        assert f"in the form {form}:" in found["ck_tile.dense.tree"][2]


def test_only_plain_gemms_are_dense() -> None:
    scaled = replace(DENSE, double_smem=True, pipeline=TilePipeline.COMPV3)
    rowwise = GemmSignature.of(DType.FP8_FNUZ, DType.BF16, quant=Quant.ROWWISE)
    assert not any(rule.startswith("ck_tile.dense.") for rule in findings("gfx942", rowwise, scaled))
    assert "ck_tile.dense.flags" in findings("gfx942", FP16, scaled)


def test_direct_stores_have_no_part_to_cover() -> None:
    narrow = replace(DENSE, vector=1, warps=(1, 4, 1))
    assert "ck_tile.dense.stores" in findings("gfx942", FP16, narrow)
    assert "ck_tile.dense.stores" not in findings("gfx942", FP16, replace(narrow, epilogue=Epilogue.DEFAULT))


def test_every_rule_is_met_here() -> None:
    named = {f"ck_tile.dense.{case[0]}" for case in CASES}
    assert named == {rule.id for rule in all_rules() if rule.id.startswith("ck_tile.dense.")}


def test_compv5_stores_from_registers_and_reads_along_k() -> None:
    rule = "ck_tile.dense.tree"
    direct = replace(V5, epilogue=Epilogue.DEFAULT)
    assert rule not in findings("gfx942", FP16, direct)
    assert "C-shuffle" in findings("gfx942", FP16, V5)[rule][2]
    assert "transpose" in findings("gfx942", FP16_CRR, direct)[rule][2]
