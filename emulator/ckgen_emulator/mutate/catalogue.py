"""The kernels whose mutants are counted, each with problems that run its paths: tails, many tiles, K splits."""

from __future__ import annotations

from ckgen.model.tuned_row import Shape
from ckgen.specs.targets import target_of_product
from ckgen_emulator.gemm.problem import Data, GemmProblem
from ckgen_emulator.mutate.gemm import GemmChoice

_MI300X, _MI355X = target_of_product("MI300X"), target_of_product("MI355X")


def _exact(m: int, n: int, k: int, k_batch: int = 1) -> GemmProblem:
    return GemmProblem(Shape(0, m, n, k), k_batch, 1)


def _random(m: int, n: int, k: int, k_batch: int = 1) -> GemmProblem:
    return GemmProblem(Shape(0, m, n, k), k_batch, 1, Data.RANDOM)


GEMMS: dict[str, GemmChoice] = {
    "ck_tile fp16": GemmChoice(
        "gemm_fp16_rcr_ck_tile_compv3_intrawave_cshuffle_pad111_64x64x64_2x2x1_32x32x16_vec1",
        _MI300X,
        (_exact(70, 90, 150), _random(70, 90, 150), _random(40, 40, 40)),
        (
            _exact(70, 90, 150), _exact(64, 128, 256), _exact(90, 70, 64), _exact(40, 40, 40), _exact(40, 40, 120),
            _exact(600, 330, 150), _exact(600, 330, 40), _exact(600, 330, 120), _exact(192, 128, 40),
            _exact(128, 192, 120), _exact(192, 128, 150),
        ),
        largest=24,
    ),
    "ck int8 rowwise": GemmChoice(
        "gemm_int8_bf16_rcr_rowwise_ck_256x64x64x128_32x32_1x1_8x32x1_8x32x1_1x32x1x8_8x8x1_1x1_intrawave_v3",
        _MI300X,
        (_exact(70, 128, 512), _random(70, 72, 400), _random(600, 328, 272)),
        (
            _exact(70, 72, 400), _exact(64, 64, 384), _exact(40, 40, 272), _exact(640, 384, 512), _exact(600, 328, 400),
        ),
    ),
    "ck fp8 block scale": GemmChoice(
        "gemm_fp8_fnuz_bf16_rcr_blockscale_ck_1x128x128_256x64x64x128_16x16_32x32_1x1_8x32x1_8x32x1_1x32x1x8_8_1x1"
        "_intrawave_v3",
        _MI300X,
        (_exact(70, 128, 512), _random(70, 136, 512), _random(600, 328, 384)),
        (
            _exact(70, 136, 512), _exact(64, 64, 384), _exact(40, 40, 512), _exact(600, 384, 512),
            _exact(600, 328, 640), _exact(640, 384, 512),
        ),
    ),
    "ck fp4 MX": GemmChoice(
        "gemm_fp4_bf16_rcr_mx_preshuffle_ck_256x32x128x128_16x16_16x16_8x32x1_8x32x1_1x16x1x16_8_2x2_intrawave_v3_pack2",
        _MI355X,
        (_exact(40, 128, 1024), _random(40, 256, 1280), _random(300, 512, 1024)),
        (
            _exact(40, 256, 1280), _exact(96, 128, 2048), _exact(64, 256, 1024), _exact(300, 512, 1280),
            _exact(300, 512, 1024), _exact(40, 256, 2304),
        ),
    ),
    "ck fp8 K splits": GemmChoice(
        "gemm_fp8_fnuz_bf16_rcr_rowwise_preshuffle_ck_128x16x32x128_16x16_16x16_8x16x1_8x16x1_1x16x1x8_4x4x1_1x1"
        "_intrawave_v1",
        _MI300X,
        (_exact(40, 64, 1024, 2), _exact(40, 96, 1536, 4), _exact(150, 160, 1024, 2)),
        (
            _exact(40, 96, 1024, 2), _exact(40, 96, 768, 2), _exact(16, 32, 768, 2), _exact(32, 64, 1024, 2),
            _exact(150, 160, 1024, 2), _exact(150, 160, 768, 2), _exact(160, 160, 1024, 2), _exact(160, 160, 768, 2),
            _exact(40, 96, 2048, 2), _exact(40, 96, 1792, 2), _exact(40, 32, 768, 2), _exact(32, 64, 2048, 2),
            _exact(32, 64, 1792, 2),
        ),
    ),
}  # fmt: skip
"""By the name that reports use."""

REDUCTION, REDUCTION_TARGET = "reduction over workgroups", _MI300X
"""reduction.s."""
