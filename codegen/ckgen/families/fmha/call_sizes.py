"""The sizes of attention, by the shapes of its tensors."""

from __future__ import annotations

from dataclasses import dataclass

from ckgen.families.common.call import Views, need
from ckgen.families.fmha.call_options import FmhaOptions
from ckgen.families.fmha.page_form import VECTOR_BYTES
from ckgen.model.fmha_shape import FmhaCorner, FmhaShape
from ckgen.tensors.errors import LayoutMismatch, ShapeMismatch
from ckgen.tensors.view import TensorView

_VECTORS = 5
"""Dimensions of pages of vectors."""


@dataclass(frozen=True, slots=True)
class _Kv:
    """rows: of a sequence, or of a page."""

    rows: int
    heads: int
    hdim_v: int


def has_vectors(views: Views) -> bool:
    """Whether K and V are pages of vectors: [pages, Hk, D / x, rows, x] and [pages, Hk, rows / x, Dv, x]."""
    return "block_table" in views and len(need(views, "k").shape) == _VECTORS


def shape_of(views: Views, options: FmhaOptions) -> FmhaShape:
    """ShapeMismatch where they contradict one another, LayoutMismatch where a head's elements lie apart."""
    q, k, v = (need(views, name) for name in ("q", "k", "v"))
    varlen, paged = "seqstart_q" in views, "block_table" in views
    _expect_form(q, 3 if varlen else 4)
    kv = _of_vectors(q, k, v) if has_vectors(views) else _of_rows(q, k, v, 3 if varlen and not paged else 4)
    batch, max_q, max_k = _lengths(views, options, kv, varlen, paged)
    left, right = options.window if options.window is not None else (-1, 0)
    return FmhaShape(
        batch=batch,
        heads_q=q.shape[-2],
        heads_k=kv.heads,
        seqlen_q=max_q,
        seqlen_k=max_k,
        hdim_q=q.shape[-1],
        hdim_v=kv.hdim_v,
        corner=FmhaCorner.TOP_LEFT if options.top_left else FmhaCorner.BOTTOM_RIGHT,
        window_left=left,
        window_right=0 if options.causal else right,
        sink_tokens=options.sink_tokens,
        page_size=kv.rows if paged else 0,
        pages=k.shape[0] if paged else 0,
        total_q=q.shape[0] if varlen else 0,
    )


def _expect_form(view: TensorView, dims: int) -> None:
    if len(view.shape) != dims:
        form = "[rows, heads, hdim]" if dims == 3 else "[batch, rows, heads, hdim]"
        raise ShapeMismatch(f"{view.name} has shape {view.shape}, and {form} is asked for")
    if view.strides[-1] != 1 and view.shape[-1] > 1:
        raise LayoutMismatch(f"{view.name}'s last stride is {view.strides[-1]}, and a head's elements lie together")


def _of_rows(q: TensorView, k: TensorView, v: TensorView, dims: int) -> _Kv:
    _expect_form(k, dims)
    _expect_form(v, dims)
    if k.shape[:-1] != v.shape[:-1] or k.shape[-1] != q.shape[-1]:
        raise ShapeMismatch(f"q {q.shape}, k {k.shape} and v {v.shape}: k has q's hdim, and v has k's rows and heads")
    return _Kv(k.shape[-3], k.shape[-2], v.shape[-1])


def _of_vectors(q: TensorView, k: TensorView, v: TensorView) -> _Kv:
    vector = VECTOR_BYTES // k.itemsize
    pages, heads, parts, rows, _ = k.shape
    hdim_v = v.shape[3] if len(v.shape) == _VECTORS else 0
    is_right = k.shape[4] == vector and parts * vector == q.shape[-1] and rows % vector == 0
    if not is_right or v.shape != (pages, heads, rows // vector, hdim_v, vector):
        raise ShapeMismatch(
            f"q {q.shape}, k {k.shape} and v {v.shape}: pages of vectors are [pages, heads, {q.shape[-1]} / {vector}, "
            f"rows, {vector}] and [pages, heads, rows / {vector}, hdim, {vector}]"
        )
    for view in (k, v):
        inner = (view.shape[3] * vector, vector, 1)
        if view.strides[2:] != inner:
            raise LayoutMismatch(f"{view.name}'s strides {view.strides}: the vectors of a head and page lie together")
    return _Kv(rows, heads, hdim_v)


def _lengths(views: Views, options: FmhaOptions, kv: _Kv, varlen: bool, paged: bool) -> tuple[int, int, int]:
    """Sequences, and the longest of Q and of K."""
    q, k = views["q"], views["k"]
    batch = views["seqstart_q"].shape[0] - 1 if varlen else q.shape[0]
    if varlen and (options.max_q < 1 or (options.max_k < 1 and not paged)):
        raise ShapeMismatch("max_q and max_k, the longest sequences, are asked for beside seqstart_q and seqstart_k")
    if paged:
        table = views["block_table"]
        if len(table.shape) != 2 or table.shape[0] != batch or "seqlen_k" not in views:
            raise ShapeMismatch(f"block_table {table.shape} is [batch, pages], of {batch} sequences, and has seqlen_k")
        return batch, options.max_q if varlen else q.shape[1], options.max_k or table.shape[1] * kv.rows
    if varlen:
        need(views, "seqstart_k", "seqstart_q is given")
        return batch, options.max_q, options.max_k
    if k.shape[0] != batch:
        raise ShapeMismatch(f"q is a batch of {batch}, k one of {k.shape[0]}")
    return batch, q.shape[1], k.shape[1]
