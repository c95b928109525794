"""One ck_tile kernel with all that is fused, on the emulator: batched, A and B of two tensors, a bias, two Ds."""

from __future__ import annotations

from pathlib import Path

import pytest
from emulate_support import context, runtime

from ckgen.families.gemm.config import CkTileConfig, Scheduler, TilePipeline
from ckgen.families.gemm.signature import parse_canonical
from ckgen.families.registry import make_instance
from ckgen.model.config import Tile
from ckgen.model.tuned_row import Shape
from ckgen_emulator.gemm.drive import Request, RunOptions, emulate
from ckgen_emulator.gemm.kernel import GemmKernel
from ckgen_emulator.gemm.problem import Data, GemmProblem

pytestmark = [pytest.mark.amd, pytest.mark.cpp, pytest.mark.slow]

CONFIG = CkTileConfig(
    Tile(64, 64, 64), (2, 2, 1), Tile(32, 32, 16), TilePipeline.COMPV3, Scheduler.INTRAWAVE,
    pad_m=True, pad_n=True, pad_k=True, vector=1,
)  # fmt: skip
PROBLEMS = (
    GemmProblem(Shape(3, 70, 77, 133), data=Data.RANDOM),
    GemmProblem(Shape(2, 64, 65, 192), seed=7, data=Data.RANDOM),  # the other D is one row; workgroups in any order
    GemmProblem(Shape(3, 5, 130, 129), seed=4, data=Data.RANDOM),
)
"""All reach one kernel, the main loop's."""


def test_everything_at_once(tmp_path_factory: pytest.TempPathFactory) -> None:
    signature = parse_canonical("gemm_bf16_fp32_rcr_batched_bias_a_add_b_mul_epi_mul_relu_add")
    instance = make_instance(signature, CONFIG, archs=("gfx942",))
    kernel = GemmKernel(instance, "gfx942", tuple(problem.use for problem in PROBLEMS))
    folder: Path = tmp_path_factory.mktemp("multi_abd")
    results = emulate([Request(kernel, 304, PROBLEMS)], runtime(folder), context(), RunOptions())
    assert [result.to_json() for result in results if not result.ok] == []
    bounds = [result.gpu.bound for result in results if result.gpu is not None]
    assert len(bounds) == 3 and max(bounds) < 1e-4  # of rounding to fp32; each tensor moves elements by far more
