"""Attention's gradients called with tensors: what forward was given and gave, and the gradient by its result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ckgen.families.common.call import At, Result, Views, need
from ckgen.families.fmha.call_options import FmhaOptions
from ckgen.families.fmha.call_parts import INDICES
from ckgen.families.fmha.call_strides import bias_strides, lse_fields, strides_of
from ckgen.families.fmha.enums import FmhaBias
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.model.dtype import DType
from ckgen.model.errors import UsageError
from ckgen.model.fmha_shape import FmhaShape
from ckgen.tensors.dtypes import expect_dtype
from ckgen.tensors.errors import LayoutMismatch
from ckgen.tensors.layout import expect_contiguous, expect_shape

BACKWARD_NAMES = ("dq", "dk", "dv", "dbias", "dsink", "q", "k", "v", "out", "lse", "dout", "bias", "sink", *INDICES)
"""Results first."""
_OF = {"dq": "q", "dk": "k", "dv": "v", "dbias": "bias", "dsink": "sink"}


def backward_results(views: Views, signature: FmhaSignature, options: FmhaOptions) -> Mapping[str, Result]:
    """dq, dk and dv, and where they are asked for dbias and dsink, each in the shape of what it is the gradient of."""
    wanted = ["dq", "dk", "dv"]
    if options.with_dbias or "dbias" in views:
        if signature.traits.bias is not FmhaBias.ELEMENTWISE:
            raise UsageError(f"dbias is asked for, and {signature.canonical()} has no bias of elements")
        wanted.append("dbias")
    if options.with_dsink or "dsink" in views:
        need(views, "sink", "its gradient is asked for")
        wanted.append("dsink")
    types = {"dsink": DType.FP32}
    return {name: Result(need(views, _OF[name]).shape, types.get(name, signature.a)) for name in wanted}


def backward_fields(views: Views, signature: FmhaSignature, shape: FmhaShape) -> dict[str, Any]:
    """Of lse, dO and the gradients."""
    varlen, why = signature.traits.varlen, signature.canonical()
    fields = lse_fields(views, shape, varlen)
    for name, of in (("dout", "out"), ("dq", "q"), ("dk", "k"), ("dv", "v")):
        one = need(views, name, why)
        expect_dtype(one, signature.a, why)
        expect_shape(one, views[of].shape, why=f"as {of}")
        if one.strides[-1] != 1 and one.shape[-1] > 1:
            raise LayoutMismatch(f"{name}'s last stride is {one.strides[-1]}, and a head's elements lie together")
        fields |= {name: At(name), f"{name}_strides": strides_of(one, varlen)}
    if "dbias" in views:
        expect_dtype(views["dbias"], signature.a, why)
        expect_shape(views["dbias"], views["bias"].shape, why="as bias")
        fields |= {"dbias": At("dbias"), "dbias_strides": bias_strides(views["dbias"])}
    if "dsink" in views:
        expect_dtype(views["dsink"], DType.FP32)
        expect_shape(views["dsink"], (shape.heads_q,), why="a logit per query head")
        expect_contiguous(views["dsink"])
        fields["dsink"] = At("dsink")
    return fields
