"""AITER's public functions, by name and argument, answered through ckgen or refused with the reason.

`from ckgen.torch.aiter import gemm_a8w8` in place of `from aiter import gemm_a8w8`. A function that takes what ckgen
does not compute raises `Refused`, and never computes something else. Weights are [N, K], as AITER has them.
"""

# ruff: noqa: N802, N803
from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ckgen.model.errors import CkgenError
from ckgen.tensors.dtypes import result_dtype
from ckgen.torch import ops

_CHOSEN = "the dispatcher chooses it"
_ONE_BIAS = "a batch of signatures shares one bias [N], AITER's has one for each entry"


class Refused(CkgenError, NotImplementedError):
    """What AITER's function takes and ckgen has no kernel or no call for."""

    exit_code = 3


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
    _refuse(splitK, "splitK", _CHOSEN)
    return ops.gemm(XQ, WQ.T, a_scale=x_scale, b_scale=w_scale, bias=_fp32(bias), dtype=dtype, quant="rowwise")


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
        XQ, WQ.T, a_scale=x_scale, b_scale=w_scale, bias=_fp32(bias), dtype=dtype, quant="rowwise", preshuffled=True
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
    _refuse(out, "out", "torch.ops.ckgen gives a new tensor; ckgen.Library.gemm writes into out=")
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
    _refuse(splitK, "splitK", _CHOSEN)
    _refuse(bias, "bias", _ONE_BIAS)
    return ops.gemm(XQ, WQ.mT, a_scale=x_scale, b_scale=w_scale, dtype=dtype, quant="rowwise")


def batched_gemm_bf16_CK(
    XQ: Tensor,
    WQ: Tensor,
    bias: Tensor | None = None,
    dtype: torch.dtype = torch.bfloat16,
    splitK: int | None = None,
) -> Tensor:
    """XQ [B, M, K] · WQ [B, N, K]ᵀ."""
    _refuse(splitK, "splitK", _CHOSEN)
    _refuse(bias, "bias", _ONE_BIAS)
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
    _refuse(bias, "bias", "no signature of fp4 has one with AITER's scales")
    _refuse(None if alpha == 1.0 else alpha, "alpha", "it is 1")
    _refuse(None if beta == 0.0 else beta, "beta", "C is written, not added to")
    _refuse(apreshuffle or None, "apreshuffle", "A lies in rows")
    _refuse(global_A_scale, "global_A_scale", "mx has scales of 32 elements alone")
    _refuse(global_B_scale, "global_B_scale", "mx has scales of 32 elements alone")
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


def fused_moe(
    hidden_states: Tensor,
    w1: Tensor,
    w2: Tensor,
    topk_weight: Tensor,
    topk_ids: Tensor,
    expert_mask: Tensor | None = None,
    activation: Any = "Silu",
    quant_type: Any = "No",
    doweight_stage1: bool = False,
    w1_scale: Tensor | None = None,
    w2_scale: Tensor | None = None,
    a1_scale: Tensor | None = None,
    a2_scale: Tensor | None = None,
    block_size_M: int | None = None,
    dtype: torch.dtype | None = None,
    **others: Any,
) -> Tensor:
    """A layer of experts; enums of AITER are taken by their names. hidden_states are quantised ahead, with a1_scale."""
    _refuse(expert_mask, "expert_mask", "every expert of topk_ids is this process's")
    _refuse(a2_scale, "a2_scale", "the layer makes the scales between its products itself")
    for name, value in others.items():
        is_default = value is None or (not isinstance(value, Tensor) and (value in (0, -1) or name == "gate_mode"))
        _refuse(None if is_default else value, name, "the layer has no such step")
    kind = _word(quant_type)
    schemes = {"No": None, "per_Tensor": "per_tensor", "per_Token": "rowwise", "per_1x128": "blockscale"}
    if kind not in schemes:
        raise Refused(f"fused_moe: quant_type {kind}: schemes of ckgen's layers by this call are {', '.join(schemes)}")
    if hidden_states.dtype != w1.dtype:
        raise Refused(
            f"fused_moe: hidden_states is {hidden_states.dtype} and w1 {w1.dtype}: quantise hidden_states ahead and "
            "give a1_scale"
        )
    return ops.moe(
        hidden_states,
        w1,
        w2,
        topk_ids,
        topk_weight,
        a_scale=a1_scale,
        w1_scale=w1_scale,
        w2_scale=w2_scale,
        activation=_word(activation).lower(),
        weight_first=doweight_stage1,
        dtype=dtype,
        quant=schemes[kind],
    )


def flash_attn_func(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: tuple[int, ...] = (-1, -1, 0),
    bias: Tensor | None = None,
    alibi_slopes: Tensor | None = None,
    deterministic: bool = True,
    return_lse: bool = False,
    return_attn_probs: bool = False,
    how_v3_bf16_cvt: int = 1,
    cu_seqlens_q: Tensor | None = None,
    cu_seqlens_kv: Tensor | None = None,
    sink_ptr: Tensor | None = None,
    num_splits: int = 0,
) -> Any:
    """q [B, Sq, Hq, D], k [B, Sk, Hk, D], v [B, Sk, Hk, Dv]; bias [Sq, Sk]; (out, lse) with return_lse."""
    _refuse_attention("flash_attn_func", dropout_p, window_size, return_attn_probs, (q, k, v))
    _refuse(cu_seqlens_q, "cu_seqlens_q", "padding of Q is flash_attn_varlen_func's")
    _refuse(cu_seqlens_kv, "cu_seqlens_kv", "padding of K is flash_attn_varlen_func's")
    _refuse(num_splits or None, "num_splits", _CHOSEN)
    return ops.attention(
        q,
        k,
        v,
        bias=_bias(bias, alibi_slopes),
        sink=_fp32(sink_ptr),
        scale=softmax_scale,
        causal=causal,
        window=_window(window_size),
        with_lse=return_lse,
    )


def flash_attn_varlen_func(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    min_seqlen_q: int = 0,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    logits_soft_cap: float = 0.0,
    causal: bool = False,
    window_size: tuple[int, ...] = (-1, -1, 0),
    bias: Tensor | None = None,
    alibi_slopes: Tensor | None = None,
    deterministic: bool = False,
    return_lse: bool = False,
    return_attn_probs: bool = False,
    how_v3_bf16_cvt: int = 1,
    block_table: Tensor | None = None,
    out: Tensor | None = None,
    cu_seqlens_q_padded: Tensor | None = None,
    cu_seqlens_k_padded: Tensor | None = None,
    sink_ptr: Tensor | None = None,
) -> Any:
    """q [rows, Hq, D], k [rows, Hk, D], v [rows, Hk, Dv], cut by cu_seqlens."""
    _refuse_attention("flash_attn_varlen_func", dropout_p, window_size, return_attn_probs, (q, k, v))
    _refuse(min_seqlen_q or None, "min_seqlen_q", "no kernel skips short sequences")
    _refuse(bias, "bias", "sequences of their own lengths have alibi alone")
    _refuse(block_table, "block_table", "give seqlen_k too, to ckgen.torch.attention")
    _refuse(out, "out", "torch.ops.ckgen gives a new tensor; ckgen.Library.attention writes into out=")
    _refuse(cu_seqlens_q_padded, "cu_seqlens_q_padded", "rows lie one after the other")
    _refuse(cu_seqlens_k_padded, "cu_seqlens_k_padded", "rows lie one after the other")
    return ops.attention(
        q,
        k,
        v,
        bias=_bias(None, alibi_slopes),
        sink=_fp32(sink_ptr),
        seqstart_q=cu_seqlens_q,
        seqstart_k=cu_seqlens_k,
        scale=softmax_scale,
        causal=causal,
        window=_window(window_size),
        softcap=logits_soft_cap,
        max_q=max_seqlen_q,
        max_k=max_seqlen_k,
        with_lse=return_lse,
    )


def _refuse(value: Any, name: str, reason: str) -> None:
    if value is not None:
        raise Refused(f"{name} is given, and {reason}")


def _refuse_attention(
    name: str, dropout_p: float, window_size: tuple[int, ...], probabilities: bool, tensors: tuple[Tensor, ...]
) -> None:
    if dropout_p:
        raise Refused(f"{name}: dropout_p = {dropout_p}: calls with tensors have no dropout")
    if probabilities:
        raise Refused(f"{name}: return_attn_probs: no kernel keeps the probabilities")
    if len(window_size) > 2 and window_size[2]:
        raise Refused(f"{name}: window_size {window_size}: a sink's tokens are an argument of ckgen.Library.attention")
    if any(tensor.requires_grad for tensor in tensors) and torch.is_grad_enabled():
        raise Refused(f"{name}: a gradient is asked for, and attention has a forward alone: torch.no_grad()")


def _window(window_size: tuple[int, ...]) -> tuple[int, int] | None:
    left, right = window_size[:2]
    return None if left < 0 and right < 0 else (left, right)


def _bias(bias: Tensor | None, slopes: Tensor | None) -> Tensor | None:
    if bias is not None:
        return bias[None, None] if bias.dim() == 2 else bias
    return slopes


def _fp32(tensor: Tensor | None) -> Tensor | None:
    return None if tensor is None else tensor.reshape(-1).float()


def _word(value: Any) -> str:
    """The name of an enum's member, or the text."""
    return str(getattr(value, "name", value))
