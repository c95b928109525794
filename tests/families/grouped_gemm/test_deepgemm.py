"""AITER's module deepgemm: its names, what they mean for a type, and which of them a problem takes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ckgen.families.gemm.config import TilePipeline
from ckgen.families.gemm.enums import EpilogueOp, Layout, Op, Quant
from ckgen.families.gemm.heuristic import heuristic_for
from ckgen.families.gemm.signature import parse_canonical
from ckgen.families.grouped_gemm.deepgemm import MODULE, config_of, is_deepgemm, names
from ckgen.model.config import Tile
from ckgen.model.dtype import DType
from ckgen.model.target import Target
from ckgen.plan.options import PlanOptions
from ckgen.plan.planner import make_plan
from ckgen.specs.archs import load_archs

SMALL, LARGE = "deepgemm_256x32x64x256_16x16x64_1x4", "deepgemm_256x128x128x128_16x16x64_1x4"


def test_there_are_four_candidates_of_two_kernels() -> None:
    """The wheel's code leaves the warp tile's K of a name unread."""
    assert len(names()) == 4 and {SMALL, LARGE} < set(names())
    for operand in (DType.FP8_FNUZ, DType.BF16):
        assert len({config_of(name, operand) for name in names()}) == 2


@pytest.mark.parametrize(("operand", "size"), [(DType.FP8_OCP, 1), (DType.BF16, 2), (DType.FP16, 2)])
def test_k_of_tile_and_warp_tile_counts_bytes(operand: DType, size: int) -> None:
    config = config_of(SMALL, operand)
    assert config is not None and config.pipeline is TilePipeline.FLATMM and config.persistent
    assert (config.tile, config.warps) == (Tile(32, 64, 256 // size), (1, 4, 1))
    assert config.warp_tile == Tile(16, 16, 64 // size)


@pytest.mark.parametrize("name", ["deepgemm_256x32x64x256_16x16x64", "deepgemm_128x32x64x256_16x16x64_1x4", "gemm"])
def test_other_names_mean_nothing(name: str) -> None:
    assert config_of(name, DType.BF16) is None


@pytest.mark.parametrize(
    ("signature", "expected"),
    [
        ("grouped_gemm_fp8_fnuz_bf16_rcr_rowwise_preshuffle", True),
        ("grouped_gemm_fp8_ocp_fp16_rcr_preshuffle", True),
        ("grouped_gemm_bf16_rcr_preshuffle", True),
        ("grouped_gemm_bf16_rcr", False),
        ("grouped_gemm_fp8_ocp_bf16_rcr_rowwise", False),
        ("grouped_gemm_int8_bf16_rcr_rowwise_preshuffle", False),
        ("gemm_fp8_ocp_bf16_rcr_rowwise_preshuffle", False),
    ],
)
def test_what_the_module_computes(signature: str, expected: bool) -> None:
    assert is_deepgemm(parse_canonical(signature)) is expected


@pytest.mark.parametrize(
    "change",
    [{"op": Op.GEMM}, {"layout": Layout.RRR}, {"preshuffle_b": False}, {"b": DType.FP8_FNUZ}, {"c": DType.FP32},
     {"quant": Quant.PER_TENSOR}, {"quant": Quant.ROWWISE}, {"bias": True}, {"epilogue": (EpilogueOp.RELU,)}],
)  # fmt: skip
def test_one_field_more_is_another_product(change: dict[str, Any]) -> None:
    plain = parse_canonical("grouped_gemm_bf16_rcr_preshuffle")
    assert is_deepgemm(plain) and not is_deepgemm(replace(plain, **change))


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_fewer_than_128_rows_take_the_small_tile(arch: str) -> None:
    rule = heuristic_for(MODULE, arch)
    assert rule is not None
    assert [rule.kernel(m, 4096, 4096) for m in (1, 127, 128, 8192)] == [SMALL, SMALL, LARGE, LARGE]


def test_a_plan_has_the_rules_kernels() -> None:
    name = "grouped_gemm_fp8_ocp_bf16_rcr_rowwise_preshuffle"
    plan = make_plan(
        PlanOptions(targets=(Target("gfx950", 256),), ops=frozenset({"grouped_gemm"}), signatures=(name,)), load_archs()
    )
    (unit,) = plan.units
    (heuristic,) = unit.heuristics
    leaves = [unit.instances[leaf].table_kernel for leaf in heuristic.leaves]
    assert (heuristic.rule.module, leaves) == (MODULE, [SMALL, LARGE])
