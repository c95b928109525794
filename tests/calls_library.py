"""A small generated library whose operations tests call with tensors; built once per test process."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ckgen.model.target import Target
from ckgen.runtime import Library
from ckgen.runtime.library import Options
from plan_support import plan_of
from runtime_build import load_generated

NAME = "calls"
SIGNATURES = (
    "gemm_bf16_rcr", "gemm_fp32_rcr", "gemm_fp32_rrr", "gemm_fp32_rcr_batched", "gemm_fp32_rcr_bias",
    "gemm_fp32_rcr_epi_add_relu", "gemm_fp8_fnuz_bf16_rcr_blockscale", "gemm_fp8_fnuz_bf16_rcr_rowwise",
    "gemm_fp8_ocp_bf16_rcr_rowwise", "gemm_int8_bf16_rcr_rowwise", "gemm_fp32_crr", "gemm_fp4_bf16_rcr_mx_preshuffle",
    "gemm_bf16_rcr_batched",
    "gemm_int8_bf16_rcr_rowwise_batched", "fmha_bf16_masked_lse", "grouped_gemm_fp32_rcr",
    "grouped_gemm_fp8_fnuz_bf16_rcr_blockscale", "fmha_fp32", "fmha_fp32_masked", "fmha_fp32_lse", "fmha_bf16",
    "fmha_bf16_masked", "fmha_bf16_varlen", "fmha_bf16_varlen_masked", "fmha_bf16_blocktable",
    "fmha_bf16_elementwise", "fmha_bf16_sink", "fmha_bf16_softcap", "fmha_bf16_alibi",
    "fmha_bf16_masked_blocktable", "fmha_bf16_varlen_masked_blocktable", "fmha_bf16_masked_blocktable_vectorized",
    "fmha_bf16_lse",
    "fmha_bf16_masked_lse_dropout", "fmha_bf16_varlen_masked_lse", "fmha_bf16_bwd", "fmha_bf16_bwd_masked",
    "fmha_bf16_bwd_masked_dropout", "fmha_bf16_bwd_elementwise", "fmha_bf16_bwd_masked_sink", "fmha_bf16_bwd_varlen",
    "fmha_bf16_bwd_varlen_masked",
    "moe_fp32_rcr_*_gated_epi_silu", "moe_fp32_rcr_down", "moe_fp8_fnuz_bf16_rcr_blockscale_*_gated_epi_silu",
    "moe_fp8_fnuz_bf16_rcr_blockscale_down", "gemm_fp8_fnuz_bf16_rcr_blockscale_preshuffle",
)  # fmt: skip
TARGETS = (Target("gfx942", 304), Target("x86_64_v3", 2))


@cache
def _built() -> Path:
    plan = plan_of(targets=TARGETS, ops=frozenset({"gemm", "grouped_gemm", "moe", "fmha"}), signatures=SIGNATURES)
    folder = Path(tempfile.mkdtemp(prefix="ckgen_calls_"))
    load_generated(plan, NAME, folder)
    return folder / f"lib{NAME}_runtime.so"


def library_on(device: str = "cpu") -> Library:
    """The library with a dispatcher of its own."""
    return Library.load(_built(), [NAME], device, options=Options(count=True))


def floats(*shape: int, seed: int = 3) -> Any:
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


A, W = floats(5, 64), floats(40, 64, seed=4)
LARGE_K = 512
INSTANCE = "gemm_fp32_rcr_ck_tile_compv3_intrawave_cshuffle_pad111_64x64x32_2x2x1_16x16x16"
"""Of gfx942 and gemm_fp32_rcr, that splits K."""


class Interface:
    """An array of another framework: an interface and no more."""

    def __init__(self, array: Any, **changes: Any) -> None:
        self.__array_interface__ = array.__array_interface__ | changes
        self.kept = array


class DlPack:
    """The same with DLPack alone."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __dlpack__(self, **how: Any) -> Any:
        return self._array.__dlpack__(**how)


def aligned(size: int) -> Any:
    room = np.zeros(size + 64, np.uint8)
    skip = -room.ctypes.data % 64
    return room[skip : skip + size]
