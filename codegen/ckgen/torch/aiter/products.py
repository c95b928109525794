"""AITER's GEMMs. Weights are [N, K], as AITER has them."""

# ruff: noqa: N802, N803
from __future__ import annotations

import torch
from torch import Tensor

from ckgen.tensors.dtypes import result_dtype
from ckgen.torch import ops
from ckgen.torch.aiter.refused import CHOSEN, fp32, refuse

_ONE_BIAS = "a batch of signatures shares one bias [N], AITER's has one for each entry"


def gemm_a8w8(
    XQ: Tensor,
    WQ: Tensor,
    x_scale: Tensor,
    w_scale: Tensor,
    bias: Tensor | None = None,
    dtype: torch.dtype = torch.bfloat16,
    splitK: int | None = None,
) -> Tensor:
    """XQ [M, K] · WQ [N, K]ᵀ of int8 or fp8, scales fp32 [M, 1] and [N, 1] or [1, N], bias [N]."""
    refuse(splitK, "splitK", CHOSEN)
    return ops.gemm(XQ, WQ.T, a_scale=x_scale, b_scale=w_scale, bias=fp32(bias), dtype=dtype, quant="rowwise")


def gemm_a8w8_bpreshuffle(
    XQ: Tensor,
    WQ: Tensor,
    x_scale: Tensor,
    w_scale: Tensor,
    bias: Tensor | None = None,
    dtype: torch.dtype = torch.bfloat16,
    check: bool = False,
) -> Tensor:
    """The same, of weights in the order of shuffle_weight(layout=(16, 16))."""
    return ops.gemm(
        XQ, WQ.T, a_scale=x_scale, b_scale=w_scale, bias=fp32(bias), dtype=dtype, quant="rowwise", preshuffled=True
    )


def gemm_a8w8_blockscale(
    XQ: Tensor,
    WQ: Tensor,
    x_scale: Tensor,
    w_scale: Tensor,
    dtype: torch.dtype = torch.bfloat16,
    isBpreshuffled: bool = False,
) -> Tensor:
    """XQ [M, K] · WQ [N, K]ᵀ of fp8, scales fp32 [M, ceil(K/128)] and [ceil(N/128), ceil(K/128)]."""
    return ops.gemm(
        XQ, WQ.T, a_scale=x_scale, b_scale=w_scale, dtype=dtype, quant="blockscale", preshuffled=isBpreshuffled
    )


def gemm_a8w8_blockscale_bpreshuffle(
    XQ: Tensor,
    WQ: Tensor,
    x_scale: Tensor,
    w_scale: Tensor,
    dtype: torch.dtype = torch.bfloat16,
    out: Tensor | None = None,
) -> Tensor:
    """The same, of shuffled weights; x_scale may lie in columns."""
    refuse(out, "out", "torch.ops.ckgen gives a new tensor; ckgen.Library.gemm writes into out=")
    return gemm_a8w8_blockscale(XQ, WQ, x_scale, w_scale, dtype, isBpreshuffled=True)


def batched_gemm_a8w8_CK(
    XQ: Tensor,
    WQ: Tensor,
    x_scale: Tensor,
    w_scale: Tensor,
    bias: Tensor | None = None,
    dtype: torch.dtype = torch.bfloat16,
    splitK: int | None = None,
) -> Tensor:
    """XQ [B, M, K] · WQ [B, N, K]ᵀ of int8 or fp8, scales fp32 [B, M, 1] and [B, 1, N]."""
    refuse(splitK, "splitK", CHOSEN)
    refuse(bias, "bias", _ONE_BIAS)
    return ops.gemm(XQ, WQ.mT, a_scale=x_scale, b_scale=w_scale, dtype=dtype, quant="rowwise")


def batched_gemm_bf16_CK(
    XQ: Tensor,
    WQ: Tensor,
    bias: Tensor | None = None,
    dtype: torch.dtype = torch.bfloat16,
    splitK: int | None = None,
) -> Tensor:
    """XQ [B, M, K] · WQ [B, N, K]ᵀ."""
    refuse(splitK, "splitK", CHOSEN)
    refuse(bias, "bias", _ONE_BIAS)
    return ops.gemm(XQ, WQ.mT, dtype=dtype)


def gemm_a4w4(
    A: Tensor,
    B: Tensor,
    A_scale: Tensor,
    B_scale: Tensor,
    bias: Tensor | None = None,
    dtype: torch.dtype = torch.bfloat16,
    alpha: float | None = 1.0,
    beta: float | None = 0.0,
    bpreshuffle: bool | None = True,
    apreshuffle: bool | None = False,
    global_A_scale: Tensor | None = None,
    global_B_scale: Tensor | None = None,
) -> Tensor:
    """A [M, K/2] · B [N, K/2]ᵀ of fp4, two to a byte; scales e8m0 in the order of e8m0_shuffle, padded.

    B is in the order of shuffle_weight(layout=(16, 16)), unless bpreshuffle says otherwise.
    """
    refuse(bias, "bias", "no signature of fp4 has one with AITER's scales")
    refuse(None if alpha == 1.0 else alpha, "alpha", "it is 1")
    refuse(None if beta == 0.0 else beta, "beta", "C is written, not added to")
    refuse(apreshuffle or None, "apreshuffle", "A lies in rows")
    refuse(global_A_scale, "global_A_scale", "mx has scales of 32 elements alone")
    refuse(global_B_scale, "global_B_scale", "mx has scales of 32 elements alone")
    word = "_preshuffle" if bpreshuffle else ""
    signature = f"gemm_fp4_{result_dtype(str(dtype))}_rcr_mx{word}"
    return ops.gemm(
        A.view(torch.uint8),
        B.view(torch.uint8).T,
        a_scale=A_scale,
        b_scale=B_scale,
        mx_scale_shuffled=True,
        signature=signature,
    )
