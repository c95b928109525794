"""AITER's flash attention, and its gradients by autograd, as `ckgen.torch.attention` has them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ckgen.torch.aiter.refused import CHOSEN, Refused, fp32, refuse
from ckgen.torch.attention import attention


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
    _refuse_attention("flash_attn_func", window_size, return_attn_probs)
    refuse(cu_seqlens_q, "cu_seqlens_q", "padding of Q is flash_attn_varlen_func's")
    refuse(cu_seqlens_kv, "cu_seqlens_kv", "padding of K is flash_attn_varlen_func's")
    refuse(num_splits or None, "num_splits", CHOSEN)
    return attention(
        q,
        k,
        v,
        bias=_bias(bias, alibi_slopes),
        sink=fp32(sink_ptr),
        scale=softmax_scale,
        causal=causal,
        window=_window(window_size),
        with_lse=return_lse,
        **_drawn(dropout_p),
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
    """q [rows, Hq, D], k [rows, Hk, D], v [rows, Hk, Dv], cut by cu_seqlens; with block_table k and v are pages
    [pages, rows, Hk, D]."""
    _refuse_attention("flash_attn_varlen_func", window_size, return_attn_probs)
    refuse(min_seqlen_q or None, "min_seqlen_q", "no kernel skips short sequences")
    refuse(bias, "bias", "sequences of their own lengths have alibi alone")
    refuse(out, "out", "torch.ops.ckgen gives a new tensor; ckgen.Library.attention writes into out=")
    refuse(cu_seqlens_q_padded, "cu_seqlens_q_padded", "rows lie one after the other")
    refuse(cu_seqlens_k_padded, "cu_seqlens_k_padded", "rows lie one after the other")
    return attention(
        q,
        k,
        v,
        bias=_bias(None, alibi_slopes),
        sink=fp32(sink_ptr),
        seqstart_q=cu_seqlens_q,
        **_keys(cu_seqlens_k, block_table),
        scale=softmax_scale,
        causal=causal,
        window=_window(window_size),
        softcap=logits_soft_cap,
        max_q=max_seqlen_q,
        max_k=max_seqlen_k,
        with_lse=return_lse,
        **_drawn(dropout_p),
    )


def _refuse_attention(name: str, window_size: tuple[int, ...], probabilities: bool) -> None:
    if probabilities:
        raise Refused(f"{name}: return_attn_probs: no kernel keeps the probabilities")
    if len(window_size) > 2 and window_size[2]:
        raise Refused(f"{name}: window_size {window_size}: a sink's tokens are an argument of ckgen.Library.attention")


def _drawn(dropout_p: float) -> dict[str, Any]:
    """A seed of torch's generator, where something is dropped."""
    return {"dropout": dropout_p, "seed": int(torch.randint(2**63 - 1, ()))} if dropout_p else {}


def _keys(cu_seqlens_k: Tensor, block_table: Tensor | None) -> dict[str, Any]:
    """Where a sequence's keys are: starts, or pages and lengths."""
    if block_table is None:
        return {"seqstart_k": cu_seqlens_k}
    return {"block_table": block_table, "seqlen_k": cu_seqlens_k.diff().int()}


def _window(window_size: tuple[int, ...]) -> tuple[int, int] | None:
    left, right = window_size[:2]
    return None if left < 0 and right < 0 else (left, right)


def _bias(bias: Tensor | None, slopes: Tensor | None) -> Tensor | None:
    if bias is not None:
        return bias[None, None] if bias.dim() == 2 else bias
    return slopes
