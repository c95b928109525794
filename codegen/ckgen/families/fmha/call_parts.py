"""The signature that attention's tensors make, and what both directions are told of the tensors."""

from __future__ import annotations

from typing import Any

from ckgen.families.common.call import At, Views, need, refuse_beside
from ckgen.families.fmha.call_options import FmhaOptions
from ckgen.families.fmha.call_sizes import has_vectors
from ckgen.families.fmha.call_strides import bias_fields, cache_strides, strides_of
from ckgen.families.fmha.enums import FmhaBias, FmhaDropout, FmhaEntry, FmhaKv, FmhaKvLayout, FmhaQuant, FmhaTraits
from ckgen.families.fmha.signature import FLOAT8, FmhaSignature, parse_signature
from ckgen.model.dtype import DType
from ckgen.model.errors import UsageError
from ckgen.model.fmha_shape import FmhaShape
from ckgen.tensors.dtypes import dtype_of, expect_dtype, result_dtype
from ckgen.tensors.errors import DTypeMismatch, LayoutMismatch
from ckgen.tensors.layout import expect_contiguous, expect_shape
from ckgen.tensors.view import TensorView

INDICES = ("seqstart_q", "seqstart_k", "seqlen_k", "block_table")


def common_fields(views: Views, signature: FmhaSignature, shape: FmhaShape, options: FmhaOptions) -> dict[str, Any]:
    """Of Q, K, V, O, bias, sink, descales, lengths, pages, and the numbers."""
    traits, why = signature.traits, signature.canonical()
    fields: dict[str, Any] = {}
    for name, tensor, dtype in (
        ("q", "q", signature.a), ("k", "k", signature.b), ("v", "v", signature.b), ("o", "out", signature.c),
    ):  # fmt: skip
        expect_dtype(need(views, tensor), dtype, why)
        fields[name] = At(tensor)
        if name in "kv" and traits.is_paged:
            fields[f"{name}_strides"] = cache_strides(views[tensor], has_vectors(views))
        else:
            fields[f"{name}_strides"] = strides_of(views[tensor], traits.varlen)
    expect_shape(views["out"], (*views["q"].shape[:-1], shape.hdim_v), why="as O")
    fields |= _indices(views, shape) | bias_fields(views, signature, shape)
    fields |= _sink(views, traits, shape) | _descales(views, signature)
    fields["scale"] = options.scale if options.scale is not None else shape.hdim_q**-0.5
    fields["softcap"] = options.softcap
    if traits.dropout is FmhaDropout.RANDVAL:
        raise UsageError(f"{why}: given bytes of dropout are no call's with tensors: dropout, seed and offset")
    return fields | {"p_drop": options.dropout, "seed": options.seed, "offset": options.offset}


def signature_of(views: Views, options: FmhaOptions) -> FmhaSignature:
    """The one that is said, or that types, shapes and options make; UsageError where they make none."""
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
        entry=FmhaEntry.BACKWARD if options.backward else FmhaEntry.FORWARD,
        varlen="seqstart_q" in views,
        masked=options.causal or options.window is not None,
        bias=kind,
        softcap=options.softcap != 0,
        sink="sink" in views,
        lse=options.with_lse and not options.backward,
        dropout=FmhaDropout.PHILOX if options.dropout else FmhaDropout.NONE,
        quant=FmhaQuant.PER_TENSOR if quantised else FmhaQuant.NONE,
        kv=FmhaKv.BLOCK_TABLE if "block_table" in views else FmhaKv.CONTIGUOUS,
        kv_layout=FmhaKvLayout.VECTORIZED if has_vectors(views) else FmhaKvLayout.LINEAR,
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
