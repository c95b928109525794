"""How far rows, heads and sequences of attention's tensors are apart."""

from __future__ import annotations

from typing import Any

from ckgen.families.common.call import At, Views, need, refuse_beside
from ckgen.families.fmha.enums import FmhaBias
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.model.dtype import DType
from ckgen.model.fmha_shape import FmhaShape
from ckgen.tensors.dtypes import expect_dtype
from ckgen.tensors.errors import ShapeMismatch
from ckgen.tensors.layout import expect_shape
from ckgen.tensors.view import TensorView


def strides_of(view: TensorView, is_varlen: bool) -> dict[str, int]:
    """Of [rows, heads, hdim], or of that behind a batch or pages."""
    if is_varlen:
        return {"row": view.strides[0], "head": view.strides[1], "batch": 0}
    return {"row": view.strides[1], "head": view.strides[2], "batch": view.strides[0]}


def cache_strides(view: TensorView, of_vectors: bool) -> dict[str, int]:
    """Of pages [pages, rows, heads, hdim]; of pages of vectors those of pages and heads alone are read."""
    if of_vectors:
        return {"row": 0, "head": view.strides[1], "batch": view.strides[0]}
    return strides_of(view, is_varlen=False)


def bias_fields(views: Views, signature: FmhaSignature, shape: FmhaShape) -> dict[str, Any]:
    """[1 or B, 1 or H, Sq, Sk] of Q's type, or slopes [H] or [B, H] of alibi."""
    kind = signature.traits.bias
    if kind is FmhaBias.NONE:
        refuse_beside(views, ("bias",), f"{signature.canonical()} has no bias")
        return {}
    bias = need(views, "bias", f"{signature.canonical()} adds one")
    if kind is FmhaBias.ALIBI:
        expect_dtype(bias, DType.FP32)
        if bias.shape not in ((shape.heads_q,), (shape.batch, shape.heads_q)):
            raise ShapeMismatch(f"bias has shape {bias.shape}, and slopes are [{shape.heads_q}] or [batch, heads]")
        batch = bias.strides[0] if len(bias.shape) == 2 else 0
        return {"bias": At("bias"), "bias_strides": {"row": 0, "head": bias.strides[-1], "batch": batch}}
    expect_dtype(bias, signature.a, "q's type")
    wanted = (shape.batch, shape.heads_q, shape.seqlen_q, shape.seqlen_k)
    is_bias = len(bias.shape) == 4 and all(n in (1, m) for n, m in zip(bias.shape[:2], wanted[:2], strict=True))
    if not is_bias or bias.shape[2:] != wanted[2:] or bias.strides[3] != 1:
        raise ShapeMismatch(
            f"bias has shape {bias.shape}, and {wanted} is asked for, with 1 for all of a batch or heads"
        )
    return {"bias": At("bias"), "bias_strides": bias_strides(bias)}


def bias_strides(bias: TensorView) -> dict[str, int]:
    """Of [1 or B, 1 or H, Sq, Sk]: 0 where all of a batch or heads share it."""
    batch, head = (s if n > 1 else 0 for s, n in zip(bias.strides[:2], bias.shape[:2], strict=True))
    return {"row": bias.strides[2], "head": head, "batch": batch}


def lse_shape(shape: FmhaShape, is_varlen: bool) -> tuple[int, ...]:
    """[B, H, Sq], of varlen [H, rows]."""
    return (shape.heads_q, shape.total_q) if is_varlen else (shape.batch, shape.heads_q, shape.seqlen_q)


def lse_fields(views: Views, shape: FmhaShape, is_varlen: bool) -> dict[str, Any]:
    """fp32 in the shape of `lse_shape`."""
    lse = need(views, "lse")
    expect_dtype(lse, DType.FP32)
    expect_shape(lse, lse_shape(shape, is_varlen), why="of a logarithm per row and head")
    if lse.strides[-1] != 1 and lse.shape[-1] > 1:
        raise ShapeMismatch(f"lse's rows {lse.strides} have gaps")
    batch = lse.strides[0] if len(lse.shape) == 3 else 0
    return {"lse": At("lse"), "lse_head_stride": lse.strides[-2], "lse_batch_stride": batch}
