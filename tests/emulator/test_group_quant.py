"""ck_tile's GEMMs with scales for groups of one side and int4 weights, executed under every check."""

from __future__ import annotations

from pathlib import Path

import pytest
from emulate_support import context, runtime

from ckgen.families.gemm.config import CkTileConfig, Scheduler, TilePipeline
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.signature import parse_canonical
from ckgen.families.registry import make_instance
from ckgen.model.config import Tile
from ckgen.model.tuned_row import Shape
from ckgen.specs.archs import load_arch
from ckgen_emulator.gemm.drive import Request, RunOptions, emulate
from ckgen_emulator.gemm.kernel import GemmKernel
from ckgen_emulator.gemm.problem import Data, GemmProblem

pytestmark = [pytest.mark.amd, pytest.mark.slow]

PROBLEMS = (
    GemmProblem(Shape(0, 48, 96, 128)),
    GemmProblem(Shape(0, 70, 144, 512), seed=3),
    GemmProblem(Shape(0, 70, 144, 1024), seed=4, data=Data.RANDOM),
)
"""One K tile and several, with rests of M and N; exact ones, and one within the derived bound."""


def instance(name: str, arch: str) -> Instance:
    signature = parse_canonical(name)
    config = CkTileConfig(
        Tile(16, 64, 128), (1, 4, 1), Tile(16, 16, 32), TilePipeline.COMPV3, Scheduler.INTRAWAVE, pad_n=True,
        transpose_c=signature.scale_block.of_a,
    )  # fmt: skip
    return make_instance(signature, config, archs=(arch,))


@pytest.mark.parametrize(
    ("name", "arch"),
    [
        ("gemm_fp8_ocp_bf16_rcr_blockscale_scales_a_128x128", "gfx950"),
        pytest.param("gemm_fp8_fnuz_int4_bf16_rcr_blockscale_scales_b_1x128", "gfx942", marks=pytest.mark.long),
    ],
    ids=["scales of A", "scales of B over int4"],
)
def test_exact_and_without_findings(name: str, arch: str, tmp_path: Path) -> None:
    """Kernels of the default set."""
    request = Request(GemmKernel(instance(name, arch), arch, ()), load_arch(arch).default_cu_num, PROBLEMS)
    results = list(emulate([request], runtime(tmp_path), context(), RunOptions()))
    assert len(results) == 3
    for found in results:
        assert found.ok, found.to_json(stats=False)
        assert found.gpu is not None and found.twin is not None
        assert found.gpu.max_abs_err == found.twin.max_abs_err == 0 or found.problem.data is Data.RANDOM
