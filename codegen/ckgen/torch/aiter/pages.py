"""AITER's attention of one query per sequence over a KV cache in pages."""

# ruff: noqa: N803
from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ckgen.torch.aiter.refused import CHOSEN, Refused, refuse
from ckgen.torch.attention import attention


def paged_attention_v1(
    out: Tensor,
    workspace_buffer: Tensor | None,
    query: Tensor,
    key_cache: Tensor,
    value_cache: Tensor,
    scale: float,
    block_tables: Tensor,
    cu_query_lens: Tensor | None,
    context_lens: Tensor,
    max_context_len: int,
    alibi_slopes: Tensor | None,
    kv_cache_dtype: str,
    kv_cache_layout: str,
    logits_soft_cap: float,
    k_scale: Tensor | None,
    v_scale: Tensor | None,
    fp8_out_scale: Tensor | None = None,
    partition_size: int = 256,
    mtp: int = 1,
    sliding_window: int = 0,
) -> Tensor:
    """query [sequences, Hq, D]; caches [pages, rows, Hk, D] of layout NHD, [pages, Hk, rows, D] of HND, of its type.

    The last `sliding_window` keys are seen, 0: all. workspace_buffer and partition_size are the kernels' own affair.
    """
    _refuse_form("paged_attention_v1", query, context_lens, kv_cache_dtype, mtp)
    refuse(fp8_out_scale, "fp8_out_scale", "O has the type of Q")
    if kv_cache_layout not in ("NHD", "HND"):
        raise Refused(f"paged_attention_v1: kv_cache_layout {kv_cache_layout}: layouts are NHD and HND")
    if logits_soft_cap and alibi_slopes is not None:
        raise Refused("paged_attention_v1: logits_soft_cap with alibi_slopes: no signature has both")
    k, v = (one if kv_cache_layout == "NHD" else one.transpose(1, 2) for one in (key_cache, value_cache))
    window = (sliding_window - 1, 0) if sliding_window else None
    found = _attend(
        query, k, v, block_tables, context_lens, max_context_len,
        scale=scale, bias=alibi_slopes, softcap=logits_soft_cap, window=window,
    )  # fmt: skip
    return out.copy_(found)


def pa_fwd_asm(
    Q: Tensor,
    K: Tensor,
    V: Tensor,
    block_tables: Tensor,
    context_lens: Tensor,
    block_tables_stride0: int,
    max_qlen: int = 1,
    K_QScale: Tensor | None = None,
    V_QScale: Tensor | None = None,
    out_: Tensor | None = None,
    qo_indptr: Tensor | None = None,
    high_precision: int | None = 1,
    kernelName: str | None = None,
) -> Tensor:
    """Q [sequences, Hq, D]; caches of vectors of 16 bytes, x elements: K [pages, Hk, D / x, rows, x] and V [pages, Hk,
    rows / x, D, x], of Q's type. The scale is 1 / sqrt(D)."""
    _refuse_form("pa_fwd_asm", Q, context_lens, "auto", max_qlen)
    refuse(K_QScale, "K_QScale", "a cache has the type of Q")
    refuse(V_QScale, "V_QScale", "a cache has the type of Q")
    refuse(qo_indptr, "qo_indptr", "a sequence has one query")
    refuse(kernelName, "kernelName", CHOSEN)
    if block_tables_stride0 != block_tables.stride(0):
        raise Refused(f"pa_fwd_asm: block_tables_stride0 {block_tables_stride0}, and block_tables has another")
    # a mask that ends at the last key hides nothing from one query, and kernels of vectors have one
    found = _attend(Q, K, V, block_tables, context_lens, block_tables.shape[1] * K.shape[3], causal=True)
    return found if out_ is None else out_.copy_(found)


def paged_attention_rocm(
    out: Tensor,
    exp_sums: Tensor | None,
    max_logits: Tensor | None,
    tmp_out: Tensor | None,
    query: Tensor,
    key_cache: Tensor,
    value_cache: Tensor,
    num_kv_heads: int,
    scale: float,
    block_tables: Tensor,
    context_lens: Tensor,
    block_size: int,
    max_context_len: int,
    alibi_slopes: Tensor | None,
    kv_cache_dtype: str,
    k_scale: Tensor | None,
    v_scale: Tensor | None,
    fp8_out_scale: Tensor | None = None,
    partition_size: int = 256,
    mtp: int = 1,
    q_scale: Tensor | None = None,
) -> Tensor:
    """query [sequences · mtp, Hq, D], of which each sees the whole context of its sequence; key_cache of vectors as
    pa_fwd_asm's K, value_cache of vectors as its V, or in columns [pages, Hk, D, rows]; both of query's type.

    Of columns, which no kernel reads, the pages of both caches that block_tables names are first copied to vectors:
    a copy of all contexts in each call. exp_sums, max_logits, tmp_out and partition_size are the kernels' own affair.
    """
    name = "paged_attention_rocm"
    _refuse_cache(name, kv_cache_dtype)
    if query.shape[0] != context_lens.shape[0] * mtp:
        raise Refused(
            f"{name}: query {tuple(query.shape)} has not {mtp} rows of each of {context_lens.shape[0]} sequences"
        )
    if mtp != 1 and alibi_slopes is not None:
        raise Refused(f"{name}: mtp {mtp} with alibi_slopes: distances are those of one query")
    refuse(fp8_out_scale, "fp8_out_scale", "O has the type of Q")
    refuse(q_scale, "q_scale", "Q has the type of the cache")
    if tuple(key_cache.shape[1:4:2]) != (num_kv_heads, block_size):
        raise Refused(
            f"{name}: num_kv_heads {num_kv_heads} and block_size {block_size}, and key_cache "
            f"{tuple(key_cache.shape)} is [pages, heads, head_size / x, rows, x]"
        )
    k, v, table = key_cache, value_cache, block_tables
    if value_cache.dim() == 4:
        k, v, table = _vectors_of_columns(key_cache, value_cache, block_tables, context_lens, max_context_len)
    # of vectors, kernels without slopes have a mask: (-1, -1) hides nothing
    mask = None if alibi_slopes is not None else (-1, -1)
    found = _attend(query, k, v, table, context_lens, max_context_len, mtp, scale=scale, bias=alibi_slopes, window=mask)
    return out.copy_(found)


def _vectors_of_columns(
    k: Tensor, v: Tensor, block_tables: Tensor, context_lens: Tensor, longest: int
) -> tuple[Tensor, Tensor, Tensor]:
    """The pages in use of both caches as pages of vectors, and where each sequence's lie."""
    rows, vector = k.shape[3], k.shape[4]
    if v.shape[3] != rows or rows % vector:
        raise Refused(
            f"paged_attention_rocm: value_cache {tuple(v.shape)} is [pages, heads, head_size, rows], with rows of "
            f"key_cache's {rows}, which are whole vectors of {vector}"
        )
    table = block_tables[:, : -(-longest // rows)]
    in_use = torch.arange(table.shape[1], device=table.device) * rows < context_lens[:, None]
    pages = torch.where(in_use, table, 0).flatten().long()  # what lies behind a context names no page
    columns = v[pages].unflatten(3, (rows // vector, vector)).transpose(2, 3)
    order = torch.arange(pages.numel(), dtype=torch.int32, device=table.device).view(table.shape)
    return k[pages], columns.contiguous(), order


def _refuse_form(name: str, query: Tensor, context_lens: Tensor, kv_cache_dtype: str, queries: int) -> None:
    if queries != 1 or query.shape[0] != context_lens.shape[0]:
        raise Refused(f"{name}: more than one query of a sequence: flash_attn_varlen_func with block_table")
    _refuse_cache(name, kv_cache_dtype)


def _refuse_cache(name: str, kv_cache_dtype: str) -> None:
    if kv_cache_dtype != "auto":
        raise Refused(f"{name}: kv_cache_dtype {kv_cache_dtype}: a cache of 8 bits is an argument of Library.attention")


def _attend(
    query: Tensor,
    k: Tensor,
    v: Tensor,
    block_tables: Tensor,
    context_lens: Tensor,
    longest: int,
    queries: int = 1,
    **said: Any,
) -> Tensor:
    """Of `queries` rows of each sequence, one behind the other."""
    q = query.unflatten(0, (-1, queries))
    found = attention(q, k, v, block_table=block_tables.int(), seqlen_k=context_lens.int(), max_k=longest, **said)
    assert isinstance(found, Tensor)
    return found.flatten(0, 1)
