"""Attention called with tensors: rows of a sequence first, as flash attention has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ckgen.families.common.call import At, Called, OperationCall, Result, Views, need, refuse_beside
from ckgen.families.fmha.call_strides import bias_fields, lse_fields, strides_of
from ckgen.families.fmha.enums import FmhaBias, FmhaKv, FmhaQuant, FmhaTraits
from ckgen.families.fmha.signature import FLOAT8, FmhaSignature, parse_signature
from ckgen.model.dtype import DType
from ckgen.model.errors import UsageError
from ckgen.model.fmha_shape import FmhaCorner, FmhaShape
from ckgen.tensors.dtypes import dtype_of, expect_dtype, result_dtype
from ckgen.tensors.errors import DTypeMismatch, LayoutMismatch, ShapeMismatch
from ckgen.tensors.layout import expect_contiguous, expect_shape
from ckgen.tensors.view import TensorView

_INDICES = ("seqstart_q", "seqstart_k", "seqlen_k", "block_table")


@dataclass(frozen=True, slots=True)
class FmhaOptions:
    """What a call says beside tensors. signature: canonical name; without it, tensors and options say what it is.

    scale: of the scores; 1 / sqrt(hdim_q) where it is None. causal: the mask that ends at the last key. window: (left,
    right) columns beside that diagonal, below 0 for no limit. softcap: 0 for none. with_lse: lse is written. max_q and
    max_k: the longest sequences, of tensors with seqstart. dtype: of the result where `out` is left out.
    """

    signature: str | None = None
    dtype: str | None = None
    scale: float | None = None
    causal: bool = False
    window: tuple[int, int] | None = None
    top_left: bool = False
    sink_tokens: int = 0
    softcap: float = 0.0
    with_lse: bool = False
    max_q: int = 0
    max_k: int = 0


class FmhaCall(OperationCall):
    """out [B, Sq, Hq, Dv] of q [B, Sq, Hq, D], k [B, Sk, Hk, D] and v [B, Sk, Hk, Dv]; with seqstart [T, H, D]."""

    options_type = FmhaOptions

    def names(self, options: Any) -> tuple[str, ...]:
        """Results first."""
        return ("out", "lse", "q", "k", "v", "bias", "sink", "q_descale", "k_descale", "v_descale", *_INDICES)

    def results(self, views: Views, options: FmhaOptions) -> Mapping[str, Result]:
        """O, and lse where it is asked for."""
        signature, shape = _signature(views, options), _shape(views, options)
        q = views["q"]
        found = {"out": Result((*q.shape[:-1], shape.hdim_v), signature.c)}
        if options.with_lse:
            rows = (shape.heads_q, q.shape[0]) if signature.traits.varlen else (
                shape.batch, shape.heads_q, shape.seqlen_q
            )  # fmt: skip
            found["lse"] = Result(rows, DType.FP32)
        return found

    def called(self, views: Views, options: FmhaOptions) -> Called:
        """Attention forward."""
        signature, shape = _signature(views, options), _shape(views, options)
        traits, why = signature.traits, signature.canonical()
        for name, dtype in (("q", signature.a), ("k", signature.b), ("v", signature.b), ("out", signature.c)):
            expect_dtype(need(views, name), dtype, why)
        expect_shape(views["out"], (*views["q"].shape[:-1], shape.hdim_v), why="as the result")
        fields: dict[str, Any] = {"q": At("q"), "k": At("k"), "v": At("v"), "o": At("out")}
        for name, tensor in (("q", "q"), ("k", "k"), ("v", "v"), ("o", "out")):
            fields[f"{name}_strides"] = strides_of(
                views[tensor], traits.varlen and not (name in "kv" and traits.is_paged)
            )
        fields |= _indices(views, shape)
        fields |= bias_fields(views, signature, shape) | lse_fields(views, traits.lse)
        fields |= _sink(views, traits, shape) | _descales(views, signature)
        fields["scale"] = options.scale if options.scale is not None else shape.hdim_q**-0.5
        fields["softcap"] = options.softcap
        return Called(why, shape, fields)


def _signature(views: Views, options: FmhaOptions) -> FmhaSignature:
    q, k = need(views, "q"), need(views, "k")
    if options.signature is not None:
        return parse_signature(options.signature, None)
    a, b = dtype_of(q), dtype_of(k)
    bias = views.get("bias")
    kind = FmhaBias.NONE if bias is None else FmhaBias.ALIBI if len(bias.shape) < 3 else FmhaBias.ELEMENTWISE
    quantised = a in FLOAT8 or b in FLOAT8
    signature = FmhaSignature.of(
        a,
        _o_type(views, options, a),
        b=b,
        varlen="seqstart_q" in views,
        masked=options.causal or options.window is not None,
        bias=kind,
        softcap=options.softcap != 0,
        sink="sink" in views,
        lse=options.with_lse,
        quant=FmhaQuant.PER_TENSOR if quantised else FmhaQuant.NONE,
        kv=FmhaKv.BLOCK_TABLE if "block_table" in views else FmhaKv.CONTIGUOUS,
    )
    if reasons := signature.problems():
        raise UsageError(f"these tensors make no attention: {'; '.join(reasons)}")
    return signature


def _o_type(views: Views, options: FmhaOptions, a: DType) -> DType:
    if "out" in views:
        return dtype_of(views["out"])
    if options.dtype is not None:
        return result_dtype(options.dtype)
    return DType.BF16 if a in FLOAT8 else a


def _shape(views: Views, options: FmhaOptions) -> FmhaShape:
    q, k, v = (need(views, name) for name in ("q", "k", "v"))
    varlen, paged = "seqstart_q" in views, "block_table" in views
    dims = {"q": 3 if varlen else 4, "k": 3 if varlen and not paged else 4, "v": 3 if varlen and not paged else 4}
    for view in (q, k, v):
        if len(view.shape) != dims[view.name]:
            form = "[rows, heads, hdim]" if dims[view.name] == 3 else "[batch, rows, heads, hdim]"
            raise ShapeMismatch(f"{view.name} has shape {view.shape}, and {form} is asked for")
        if view.strides[-1] != 1 and view.shape[-1] > 1:
            raise LayoutMismatch(f"{view.name}'s last stride is {view.strides[-1]}, and a head's elements lie together")
    if k.shape[:-1] != v.shape[:-1] or k.shape[-1] != q.shape[-1]:
        raise ShapeMismatch(f"q {q.shape}, k {k.shape} and v {v.shape}: k has q's hdim, and v has k's rows and heads")
    batch, max_q, max_k = _lengths(views, options, varlen, paged)
    left, right = options.window if options.window is not None else (-1, 0)
    return FmhaShape(
        batch=batch,
        heads_q=q.shape[-2],
        heads_k=k.shape[-2],
        seqlen_q=max_q,
        seqlen_k=max_k,
        hdim_q=q.shape[-1],
        hdim_v=v.shape[-1],
        corner=FmhaCorner.TOP_LEFT if options.top_left else FmhaCorner.BOTTOM_RIGHT,
        window_left=left,
        window_right=0 if options.causal else right,
        sink_tokens=options.sink_tokens,
        page_size=k.shape[1] if paged else 0,
        pages=k.shape[0] if paged else 0,
        total_q=q.shape[0] if varlen else 0,
    )


def _lengths(views: Views, options: FmhaOptions, varlen: bool, paged: bool) -> tuple[int, int, int]:
    """Sequences, and the longest of Q and of K."""
    q, k = views["q"], views["k"]
    batch = views["seqstart_q"].shape[0] - 1 if varlen else q.shape[0]
    if varlen and (options.max_q < 1 or (options.max_k < 1 and not paged)):
        raise ShapeMismatch("max_q and max_k, the longest sequences, are asked for beside seqstart_q and seqstart_k")
    if paged:
        table = views["block_table"]
        if len(table.shape) != 2 or table.shape[0] != batch or "seqlen_k" not in views:
            raise ShapeMismatch(f"block_table {table.shape} is [batch, pages], of {batch} sequences, and has seqlen_k")
        return batch, options.max_q if varlen else q.shape[1], options.max_k or table.shape[1] * k.shape[1]
    if varlen:
        need(views, "seqstart_k", "seqstart_q is given")
        return batch, options.max_q, options.max_k
    if k.shape[0] != batch:
        raise ShapeMismatch(f"q is a batch of {batch}, k one of {k.shape[0]}")
    return batch, q.shape[1], k.shape[1]


def _indices(views: Views, shape: FmhaShape) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, length in (("seqstart_q", shape.batch + 1), ("seqstart_k", shape.batch + 1), ("seqlen_k", shape.batch)):
        if name in views:
            _expect_indices(views[name])
            expect_shape(views[name], (length,), why=f"of {shape.batch} sequences")
            expect_contiguous(views[name])
            fields[name] = At(name)
    if "block_table" in views:
        table = views["block_table"]
        _expect_indices(table)
        if table.strides[1] != 1 and table.shape[1] > 1:
            raise LayoutMismatch(f"block_table's rows {table.strides} have gaps: copy it")
        fields |= {"block_table": At("block_table"), "block_table_stride": table.strides[0]}
    return fields


def _expect_indices(view: TensorView) -> None:
    if view.dtype != "int32":
        raise DTypeMismatch(f"{view.name} is {view.dtype}, and int32 is asked for")


def _sink(views: Views, traits: FmhaTraits, shape: FmhaShape) -> dict[str, Any]:
    if not traits.sink:
        refuse_beside(views, ("sink",), "the signature has none")
        return {}
    sink = need(views, "sink")
    expect_dtype(sink, DType.FP32)
    expect_shape(sink, (shape.heads_q,), why="a logit per query head")
    expect_contiguous(sink)
    return {"sink": At("sink")}


def _descales(views: Views, signature: FmhaSignature) -> dict[str, Any]:
    """Per tensor alone: other schemes are the C++ arguments'."""
    names = ("q_descale", "k_descale", "v_descale")
    if signature.traits.quant is FmhaQuant.NONE:
        refuse_beside(views, names, f"{signature.canonical()} has no descales")
        return {}
    if signature.traits.quant is not FmhaQuant.PER_TENSOR:
        raise UsageError(f"{signature.traits.quant} descales are no call's with tensors: fill FmhaArgsStruct")
    fields = {}
    for name in names:
        if name == "q_descale" and signature.a not in FLOAT8:
            continue
        scale = need(views, name, f"{signature.canonical()} reads it")
        expect_dtype(scale, DType.FP32)
        expect_shape(scale, (1,), (), why="of a scale per tensor")
        fields[name] = At(name)
    return fields
