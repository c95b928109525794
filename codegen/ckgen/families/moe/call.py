"""A layer of experts called with tensors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ckgen.families.common.call import At, Called, OperationCall, Result, Views, need, refuse_beside
from ckgen.families.common.said import Said
from ckgen.families.gemm.call import c_type, packing
from ckgen.families.gemm.call_scales import E8M0_NAMES, ceil_div, quant_said
from ckgen.families.gemm.enums import (
    ACTIVATIONS,
    MX_K,
    USUAL_SCALE_BLOCK,
    EpilogueOp,
    Layout,
    MoePart,
    MoeTraits,
    Op,
    Quant,
    ScaleBlock,
)
from ckgen.families.gemm.signature import GemmSignature, parse_of_op
from ckgen.families.moe.asked import RoutedSizes
from ckgen.model.dtype import DType
from ckgen.model.errors import UsageError
from ckgen.model.groups import Routing
from ckgen.model.tuned_row import Shape
from ckgen.tensors.dtypes import dtype_of, expect_dtype
from ckgen.tensors.errors import DTypeMismatch, LayoutMismatch, ShapeMismatch
from ckgen.tensors.layout import expect_contiguous, expect_shape, matrix
from ckgen.tensors.view import TensorView


@dataclass(frozen=True, slots=True)
class MoeOptions(Said):
    """What a call says beside tensors. signature: canonical name or alias; without it, tensors say what it is.

    dtype: of the result where `out` is left out. activation: silu, gelu or relu. weight_first: the routing weight
    multiplies A's row. quant: a word of Quant, where scales fit several. preshuffled: the weights' memory is in the
    order of ckgen/preshuffle.hpp.
    """

    signature: str | None = None
    dtype: Any = None
    activation: str = "silu"
    weight_first: bool = False
    quant: str | None = None
    preshuffled: bool = False
    mx_scale_shuffled: bool = False


@dataclass(frozen=True, slots=True)
class _Layer:
    signature: GemmSignature
    tokens: int
    inter: int
    model: int
    routing: Routing


class MoeCall(OperationCall):
    """out [T, D] of a [T, D], w1 [E, 2 I or I, D], w2 [E, D, I] and a routing [T, top_k]; a gate where w1 has 2 I."""

    options_type = MoeOptions

    def names(self, options: Any) -> tuple[str, ...]:
        """The result first."""
        return ("out", "a", "w1", "w2", "topk_ids", "topk_weights", "a_scale", "w1_scale", "w2_scale")

    def results(self, views: Views, options: MoeOptions) -> Mapping[str, Result]:
        """A row for each token."""
        layer = _layer(views, options)
        return {"out": Result((layer.tokens, layer.model), layer.signature.c)}

    def called(self, views: Views, options: MoeOptions) -> Called:
        """The layer."""
        x = _layer(views, options)
        out = need(views, "out")
        expect_dtype(out, x.signature.c, x.signature.canonical())
        expect_shape(out, (x.tokens, x.model), why="as the result")
        a, c = matrix(views["a"]), matrix(out)
        for view, found in ((views["a"], a), (out, c)):
            if not found.is_row_major:
                raise LayoutMismatch(f"{view.name} lies in columns {view.strides}, and a row is a token: copy it")
        fields = {
            "a": At("a"),
            "w1": At("w1"),
            "w2": At("w2"),
            "c": At("out"),
            "tokens": x.tokens,
            "lda": a.ld * packing(x.signature.a),
            "ldc": c.ld,
            "topk_ids": At("topk_ids"),
            "topk_weights": At("topk_weights"),
            "mx_scale_shuffled": int(options.mx_scale_shuffled),
            **_scales(x, views, options),
        }
        problem = RoutedSizes(Shape(0, x.tokens, x.inter, x.model), x.routing)
        return Called(x.signature.canonical(), problem, fields)


def _layer(views: Views, options: MoeOptions) -> _Layer:
    a, w1, w2, ids, weights = (need(views, name) for name in ("a", "w1", "w2", "topk_ids", "topk_weights"))
    if len(a.shape) != 2 or len(w1.shape) != 3 or len(w2.shape) != 3 or len(ids.shape) != 2:
        raise ShapeMismatch(
            f"a {a.shape}, w1 {w1.shape}, w2 {w2.shape} and topk_ids {ids.shape} are [tokens, D], [experts, 2 I or I, "
            "D], [experts, D, I] and [tokens, top_k]"
        )
    said = parse_of_op(Op.MOE, options.signature, None) if options.signature is not None else None
    a_type, w_type = (said.a, said.b) if said is not None else (dtype_of(a), dtype_of(w1))
    for view, dtype in ((a, a_type), (w1, w_type), (w2, w_type)):
        expect_dtype(view, dtype, "the weights' type" if view is w2 else "")
    for view in (w1, w2, ids, weights):
        expect_contiguous(view)
    tokens, model, inter = a.shape[0], a.shape[1] * packing(a_type), w2.shape[2] * packing(w_type)
    gates = w1.shape[1] // max(inter, 1)
    if w1.shape != (w2.shape[0], gates * inter, model // packing(w_type)) or gates not in (1, 2):
        raise ShapeMismatch(
            f"w1 {w1.shape} and w2 {w2.shape} are no experts of D={model}: [experts, 2 I or I, D] and [experts, D, I]"
        )
    expect_shape(w2, (w1.shape[0], model, w2.shape[2]), why="as w1 has it")
    if ids.dtype != "int32":
        raise DTypeMismatch(f"topk_ids is {ids.dtype}, and int32 is asked for")
    expect_shape(ids, (tokens, ids.shape[1]), why="of the tokens of a")
    expect_dtype(weights, DType.FP32)
    expect_shape(weights, ids.shape, why="as topk_ids has it")
    routing = Routing(w1.shape[0], ids.shape[1])
    signature = said if said is not None else _made(views, options, a_type, w_type, gates == 2, (tokens, inter, model))
    if signature.moe.gated is not (gates == 2) or signature.moe.part is not MoePart.LAYER:
        raise ShapeMismatch(f"{signature.canonical()} is no layer of w1 with {gates} times I = {inter} rows")
    return _Layer(signature, tokens, inter, model, routing)


def _made(
    views: Views, options: MoeOptions, a: DType, w: DType, gated: bool, sizes: tuple[int, int, int]
) -> GemmSignature:
    activations = [str(one) for one in ACTIVATIONS]
    if options.activation not in activations:
        raise UsageError(f"activation is {options.activation!r}, and layers have {', '.join(sorted(activations))}")
    quant, block = _scheme(views, options.quant, sizes)
    signature = GemmSignature.of(
        a,
        c_type(views.get("out"), options.dtype, a),
        b=w,
        layout=Layout.RCR,
        quant=quant,
        preshuffle_b=options.preshuffled,
        epilogue=(EpilogueOp(options.activation),),
        scale_block=block,
        op=Op.MOE,
        moe=MoeTraits(MoePart.LAYER, gated, options.weight_first),
    )
    if reasons := signature.problems():
        raise UsageError(f"these tensors make no layer: {'; '.join(reasons)}")
    return signature


def _scheme(views: Views, said: str | None, sizes: tuple[int, int, int]) -> tuple[Quant, ScaleBlock]:
    scale = views.get("w1_scale")
    if said is not None:
        return quant_said(said), USUAL_SCALE_BLOCK
    if scale is None:
        return Quant.NONE, USUAL_SCALE_BLOCK
    if scale.dtype in E8M0_NAMES:
        return Quant.MX, USUAL_SCALE_BLOCK
    experts, rows = views["w1"].shape[:2]
    for quant in (Quant.PER_TENSOR, Quant.ROWWISE, Quant.BLOCKSCALE):
        if scale.shape in _weight_shapes(quant, USUAL_SCALE_BLOCK, experts, rows, sizes[2]):
            return quant, USUAL_SCALE_BLOCK
    raise ShapeMismatch(
        f"w1_scale has shape {scale.shape}: [experts] of a scale per expert, [experts, rows] of rows, [experts, "
        "ceil(rows/128), ceil(D/128)] of blocks, or e8m0 of mx"
    )


def _weight_shapes(quant: Quant, block: ScaleBlock, experts: int, rows: int, k: int) -> tuple[tuple[int, ...], ...]:
    """Of a product's `rows` of `k` elements for each expert."""
    match quant:
        case Quant.PER_TENSOR:
            return ((experts,), (experts, 1))
        case Quant.ROWWISE:
            return ((experts, rows), (experts, rows, 1))
        case Quant.MX:
            return ((experts, rows, ceil_div(k, MX_K)),)
        case _:
            return ((experts, ceil_div(rows, block.n), ceil_div(k, block.k)),)


def _scales(x: _Layer, views: Views, options: MoeOptions) -> dict[str, Any]:
    quant, block, why = x.signature.quant, x.signature.scale_block, x.signature.canonical()
    if quant is Quant.NONE:
        refuse_beside(views, ("a_scale", "w1_scale", "w2_scale"), f"{why} has no scales")
        return {}
    rows = x.inter * (2 if x.signature.moe.gated else 1)
    experts = x.routing.experts
    of_a = {
        Quant.PER_TENSOR: ((), (1,), (1, 1)),
        Quant.ROWWISE: ((x.tokens,), (x.tokens, 1)),
        Quant.MX: ((x.tokens, ceil_div(x.model, MX_K)),),
        Quant.BLOCKSCALE: ((x.tokens, ceil_div(x.model, block.k)),),
    }[quant]
    shapes = {
        "a_scale": of_a if block.of_a or quant is not Quant.BLOCKSCALE else (),
        "w1_scale": _weight_shapes(quant, block, experts, rows, x.model),
        "w2_scale": _weight_shapes(quant, block, experts, x.model, x.inter),
    }
    fields: dict[str, Any] = {"a_scale_row_major": 1}
    for name, allowed in shapes.items():
        if not allowed:
            continue
        scale = need(views, name, f"{why} reads it")
        expect_dtype(scale, x.signature.scale or DType.FP32, why)
        if not (options.mx_scale_shuffled and quant is Quant.MX):
            expect_shape(scale, *allowed, why=f"of {quant} scales")
        _take_order(scale, name, quant, fields)
        fields[name] = At(name)
    return fields


def _take_order(scale: TensorView, name: str, quant: Quant, fields: dict[str, Any]) -> None:
    if name == "a_scale" and quant is Quant.BLOCKSCALE and not scale.is_contiguous and scale.is_transposed:
        fields["a_scale_row_major"] = 0
        return
    expect_contiguous(scale)
