"""Kernels that only defaults name, on the emulator: an fp32 bias, an unscaled product over a preshuffled B, and those
without matrix instructions."""

from __future__ import annotations

from pathlib import Path

import pytest
from emulate_support import context, runtime

from ckgen.families.gemm.config import CkTileConfig, FmaConfig, Scheduler, TilePipeline
from ckgen.families.gemm.signature import parse_canonical
from ckgen.families.registry import make_instance
from ckgen.model.config import Tile
from ckgen.model.groups import GroupSize
from ckgen.model.tuned_row import Shape
from ckgen_emulator.gemm.drive import Request, RunOptions, emulate
from ckgen_emulator.gemm.kernel import GemmKernel
from ckgen_emulator.gemm.problem import GemmProblem

pytestmark = [pytest.mark.amd, pytest.mark.cpp, pytest.mark.slow]

PADDED = CkTileConfig(
    Tile(64, 64, 64), (2, 2, 1), Tile(32, 32, 16), TilePipeline.COMPV3, Scheduler.INTRAWAVE,
    pad_m=True, pad_n=True, pad_k=True, vector=1,
)  # fmt: skip
FLATMM = CkTileConfig(
    Tile(32, 64, 64), (1, 4, 1), Tile(16, 16, 32), TilePipeline.FLATMM, pad_m=True, pad_n=True, pad_k=True
)
"""In all variants it is that of tests/build/inspect/recorded_set.json."""


@pytest.mark.parametrize(
    ("name", "config", "problems"),
    [
        pytest.param(
            "gemm_bf16_fp32_rcr_bias_epi_relu_add",
            PADDED,
            (GemmProblem(Shape(0, 70, 77, 133)), GemmProblem(Shape(0, 5, 130, 129), seed=4)),
            marks=pytest.mark.long,  # test_multi_abd.py fuses it with more
        ),
        pytest.param(
            "gemm_bf16_rcr_preshuffle",
            FLATMM,
            (GemmProblem(Shape(0, 45, 80, 224)), GemmProblem(Shape(0, 33, 144, 224), seed=4)),
            marks=pytest.mark.long,
        ),
        (
            "gemm_fp16_int4_fp16_rcr_bias",
            FmaConfig(Tile(64, 64, 16)),
            (GemmProblem(Shape(0, 70, 77, 50)), GemmProblem(Shape(0, 1, 1, 2), seed=4)),
        ),
        (
            "gemm_fp8_fnuz_bf16_rcr_blockscale_preshuffle_batched",
            FmaConfig(Tile(64, 64, 16)),
            (GemmProblem(Shape(2, 67, 144, 256)),),
        ),
        (
            "grouped_gemm_fp32_ccr_bias",
            FmaConfig(Tile(64, 64, 16)),
            (
                GemmProblem.grouped(
                    [GroupSize(70, 80, 50), GroupSize(0, 80, 50), GroupSize(3, 9, 0), GroupSize(9, 0, 5)]
                ),
                GemmProblem.grouped(
                    [GroupSize(70, 80, 18), GroupSize(0, 80, 18), GroupSize(65, 80, 18)], on_device=True
                ),
            ),
        ),
    ],
    ids=["bias", "preshuffle", "int4", "scales", "groups"],
)
def test_every_element_is_the_one_that_is_right(
    tmp_path: Path, name: str, config: CkTileConfig | FmaConfig, problems: tuple[GemmProblem, ...]
) -> None:
    instance = make_instance(parse_canonical(name), config, archs=("gfx942",))
    kernel = GemmKernel(instance, "gfx942", () if config == FLATMM else tuple(problem.use for problem in problems))
    results = emulate([Request(kernel, 304, problems)], runtime(tmp_path), context(), RunOptions())
    assert [result.to_json() for result in results if not result.ok] == []
    assert [result.gpu.bound for result in results if result.gpu is not None] == [0] * len(problems)
