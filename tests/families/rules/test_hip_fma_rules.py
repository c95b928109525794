"""What kernels of fused multiply-adds compute: all but sums of other types, and what an arch has no type for."""

from __future__ import annotations

import pytest

from ckgen.families.gemm.config import FmaConfig
from ckgen.families.gemm.signature import parse_canonical
from ckgen.families.rules import judge
from ckgen.model.backend import Backend
from ckgen.model.config import Tile
from ckgen.specs.archs import load_arch

USUAL = Tile(64, 64, 16)


def broken(name: str, gfx: str = "gfx942", tile: Tile = USUAL) -> list[tuple[str, object, object]]:
    found = judge(parse_canonical(name), FmaConfig(tile), Backend.HIP, load_arch(gfx))
    return [(one.rule, one.measured, one.limit) for one in found]


@pytest.mark.parametrize("gfx", ["gfx908", "gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1200", "gfx1201", "gfx1250"])
def test_every_gpu_has_them(gfx: str) -> None:
    assert broken("grouped_gemm_fp32_ccr_bias", gfx) == []
    assert broken("gemm_fp16_int4_fp16_rcr_bias", gfx) == broken("gemm_int8_ccr_batched_epi_silu_mul", gfx) == []


@pytest.mark.parametrize(
    ("name", "rule", "measured", "limit"),
    [
        ("gemm_fp64_rcr", "hip.fma.sums", "fp64", "fp32 int32"),
        ("gemm_fp16_rcr_acc_fp16", "hip.fma.sums", "fp16", "fp32 int32"),
        ("gemm_int8_int32_rcr_bias", "hip.fma.sums", "bias", "none"),
        ("gemm_fp8_fnuz_bf16_rcr_rowwise_scale_bf16", "hip.fma.sums", "bf16", "fp32 e8m0"),
        ("moe_fp16_rcr_down", "hip.fma.op", "moe", "gemm grouped_gemm"),
        ("gemm_fp8_bf16_rcr", "hip.fma.types", "fp8", "fnuz ocp"),
    ],
)
def test_what_they_do_not_compute(name: str, rule: str, measured: str, limit: str) -> None:
    assert broken(name) == [(rule, measured, limit)]


def test_cpus_have_none() -> None:
    assert broken("gemm_fp16_rcr", "x86_64_v3") == [("hip.fma.arch", "x86_64_v3", "a GPU")]


@pytest.mark.parametrize(
    ("tile", "rule", "measured", "limit"),
    [
        (Tile(60, 64, 16), "hip.fma.tile", 60, 16),
        (Tile(64, 40, 16), "hip.fma.tile", 40, 16),
        (Tile(64, 64, 32), "hip.fma.tile", 32, 16),
        (Tile(16, 64, 8), "hip.fma.tile", 128, 256),
        (Tile(64, 16, 8), "hip.fma.tile", 128, 256),
        (Tile(128, 128, 16), "hip.fma.tile", 64, 32),
        (Tile(64, 64, 0), "hip.fma.tile", 0, 16),
    ],
)
def test_which_tiles_work_items_do_not_share_evenly(tile: Tile, rule: str, measured: int, limit: int) -> None:
    assert broken("gemm_fp16_rcr", tile=tile) == [(rule, measured, limit)]


def test_lds_holds_a_step_of_both_operands() -> None:
    """(16384 + 16) * 1 * 4 bytes are more than 64 KiB, as are its sums too many."""
    found = broken("gemm_fp16_rcr", tile=Tile(16384, 16, 16))
    assert found == [("hip.fma.arch", 1049600, 65536), ("hip.fma.tile", 1024, 32)]
