"""A GEMM called with tensors: C = epilogue(A · B), as NumPy's matmul counts dimensions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ckgen.families.common.call import At, Called, OperationCall, Result, Views, need, refuse_beside
from ckgen.families.common.said import Said
from ckgen.families.gemm.call_scales import scale_fields, scheme_of
from ckgen.families.gemm.enums import MAX_D, EpilogueOp, Layout, Op
from ckgen.families.gemm.signature import GemmSignature, parse_of_op
from ckgen.model.dtype import DType
from ckgen.model.errors import UsageError
from ckgen.model.tuned_row import Shape
from ckgen.tensors.dtypes import dtype_of, expect_dtype, result_dtype
from ckgen.tensors.errors import LayoutMismatch, ShapeMismatch
from ckgen.tensors.layout import Matrix, expect_contiguous, expect_shape, matrix
from ckgen.tensors.view import TensorView

_WIDE = frozenset({DType.FP16, DType.BF16, DType.FP32, DType.FP64})


@dataclass(frozen=True, slots=True)
class GemmOptions(Said):
    """What a call says beside tensors. signature: canonical name or alias; without it, tensors say what it is.

    dtype: of C where `out` is left out, by its name or as a framework's type. quant: a word of Quant, where scales fit
    several. epilogue: words of EpilogueOp, applied in order; `add` and `mul` take the next tensor of `d`. preshuffled:
    B's memory is in the order of ckgen/preshuffle.hpp. mx_scale_shuffled: both scales are in that of shuffle_mx_scale.
    """

    signature: str | None = None
    dtype: Any = None
    quant: str | None = None
    epilogue: tuple[str, ...] = ()
    alpha: float = 1.0
    preshuffled: bool = False
    mx_scale_shuffled: bool = False


@dataclass(frozen=True, slots=True)
class Operands:
    """A and B of one GEMM, as a signature reads them; K counts elements, of 4-bit types two to a byte."""

    signature: GemmSignature
    a: Matrix
    b: Matrix
    m: int
    n: int
    k: int
    batch: int  # 0: not batched


class GemmCall(OperationCall):
    """C [M, N] of A [M, K] and B [K, N]; a batch is a first dimension of any of them."""

    options_type = GemmOptions

    def names(self, options: Any) -> tuple[str, ...]:
        """C first; d0 and d1 are what the epilogue takes."""
        return ("out", "a", "b", "a_scale", "b_scale", "bias", *(f"d{i}" for i in range(MAX_D)))

    def results(self, views: Views, options: GemmOptions) -> Mapping[str, Result]:
        """C."""
        operands = operands_of(Op.GEMM, views, options)
        shape = (operands.m, operands.n)
        return {"out": Result((operands.batch, *shape) if operands.batch else shape, operands.signature.c)}

    def called(self, views: Views, options: GemmOptions) -> Called:
        """One GEMM, or a batch."""
        x = operands_of(Op.GEMM, views, options)
        out = matrix(_expected_out(views, x))
        batch = max(x.batch, 1)
        fields = {
            "a": At("a"),
            "b": At("b"),
            "c": At("out"),
            "m": x.m,
            "n": x.n,
            "k": x.k,
            "batch": batch,
            "lda": x.a.ld * packing(x.signature.a),
            "ldb": x.b.ld * packing(x.signature.b),
            "ldc": out.ld,
            "batch_stride_a": x.a.batch_stride * packing(x.signature.a) if x.a.batch or batch == 1 else 0,
            "batch_stride_b": x.b.batch_stride * packing(x.signature.b) if x.b.batch or batch == 1 else 0,
            "batch_stride_c": out.batch_stride,
            "alpha": options.alpha,
            "mx_scale_shuffled": int(options.mx_scale_shuffled),
            **scale_fields(x.signature, views, x.m, x.n, x.k, x.batch, options.mx_scale_shuffled),
            **_bias_fields(x.signature, views, x.n),
            **_d_fields(x, views),
        }
        return Called(x.signature.canonical(), Shape(x.batch, x.m, x.n, x.k), fields)


def operands_of(op: Op, views: Views, options: GemmOptions, suffix: str = "") -> Operands:
    """A and B by the signature that the caller names, or that their types, layouts and scales make."""
    a_view, b_view = need(views, f"a{suffix}"), need(views, f"b{suffix}")
    if options.signature is not None:
        signature = parse_of_op(op, options.signature, None)
        why = signature.canonical()
        expect_dtype(a_view, signature.a, why)
        expect_dtype(b_view, signature.b, why)
    else:
        signature = None
    a, b = matrix(a_view), matrix(b_view, prefer_rows=False)
    a_type = signature.a if signature is not None else dtype_of(a_view)
    b_type = signature.b if signature is not None else dtype_of(b_view)
    m, n = a.rows, b.columns
    k, k_of_b = a.columns * packing(a_type), b.rows * packing(b_type)
    if k != k_of_b:
        raise ShapeMismatch(
            f"K is {k} of {a_view.name} with shape {a_view.shape}, and {k_of_b} of {b_view.name} with shape "
            f"{b_view.shape}: A is [M, K] and B is [K, N], so weights of N rows are {b_view.name}.T"
        )
    batch = _batch_of(a_view, a, b_view, b)
    layout = Layout(f"{'r' if a.is_row_major else 'c'}{'r' if b.is_row_major else 'c'}r")
    if signature is None:
        signature = _made(op, views, options, suffix, (a_type, b_type), layout, (m, n, k, batch))
    _check_layout(signature, layout, a_view, b_view, a, b)
    if signature.batched is not bool(batch):
        said = "batched, and the tensors have two dimensions" if signature.batched else "not batched, and a tensor is"
        raise ShapeMismatch(f"{signature.canonical()} is {said}")
    return Operands(signature, a, b, m, n, k, batch)


def packing(dtype: DType) -> int:
    """Elements to one of the tensor's."""
    return 8 // dtype.bits if dtype.bits < 8 else 1


def _batch_of(a_view: TensorView, a: Matrix, b_view: TensorView, b: Matrix) -> int:
    if a.batch and b.batch and a.batch != b.batch:
        raise ShapeMismatch(f"{a_view.name} is a batch of {a.batch}, {b_view.name} one of {b.batch}")
    return max(a.batch, b.batch)


def _check_layout(
    signature: GemmSignature, found: Layout, a_view: TensorView, b_view: TensorView, a: Matrix, b: Matrix
) -> None:
    wanted = signature.layout
    for view, one, is_rows, is_wanted in (
        (a_view, a, a.is_row_major, wanted.a_is_row_major),
        (b_view, b, b.is_row_major, wanted.b_is_row_major),
    ):
        if is_rows is not is_wanted and matrix(view, prefer_rows=is_wanted).is_row_major is not is_wanted:
            lies, asked = ("rows", "columns") if is_rows else ("columns", "rows")
            raise LayoutMismatch(
                f"{view.name} lies in {lies} {view.strides}, and {signature.canonical()} asks for {asked}: "
                f"the layout of these tensors is {found}"
            )
        dtype = signature.a if view is a_view else signature.b
        if packing(dtype) > 1 and is_rows is not (view is a_view) and one.rows > 1 and one.columns > 1:
            raise LayoutMismatch(f"{view.name} is {dtype}, packed along K, and K is not where its bytes lie together")
    if signature.preshuffle_b and not (b_view.is_transposed or b_view.is_contiguous):
        raise LayoutMismatch(f"{b_view.name} is preshuffled, which is one block of memory: it must have no gaps")


def _made(
    op: Op,
    views: Views,
    options: GemmOptions,
    suffix: str,
    types: tuple[DType, DType],
    layout: Layout,
    sizes: tuple[int, int, int, int],
) -> GemmSignature:
    a, b = types
    scales = (views.get(f"a_scale{suffix}"), views.get(f"b_scale{suffix}"))
    quant, block = scheme_of(options.quant, scales, sizes)
    signature = GemmSignature.of(
        a,
        c_type(views.get(f"out{suffix}"), options.dtype, a),
        b=b,
        layout=layout,
        quant=quant,
        preshuffle_b=options.preshuffled,
        batched=bool(sizes[3]),
        bias=f"bias{suffix}" in views,
        epilogue=_epilogue(options.epilogue),
        scale_block=block,
        op=op,
    )
    if reasons := signature.problems():
        raise UsageError(f"these tensors make no GEMM: {'; '.join(reasons)}")
    return signature


def c_type(out: TensorView | None, said: Any, a: DType) -> DType:
    """Of the result: `out`'s, the one said, A's own where it has 16 bits or more, else bf16."""
    if out is not None:
        return dtype_of(out)
    if said is not None:
        return result_dtype(said)
    return a if a in _WIDE else DType.BF16


def _epilogue(words: tuple[str, ...]) -> tuple[EpilogueOp, ...]:
    known = [str(op) for op in EpilogueOp]
    for word in words:
        if word not in known:
            raise UsageError(f"epilogue has {word!r}, and its steps, in a list, are {', '.join(known)}")
    return tuple(EpilogueOp(word) for word in words)


def _expected_out(views: Views, x: Operands) -> TensorView:
    out = need(views, "out")
    expect_dtype(out, x.signature.c, x.signature.canonical())
    shape = (x.m, x.n)
    expect_shape(out, (x.batch, *shape) if x.batch else shape, why="as the result")
    if not matrix(out).is_row_major:
        raise LayoutMismatch(f"out lies in columns {out.strides}, and results are rows: give the transposed product")
    return out


def _bias_fields(signature: GemmSignature, views: Views, n: int) -> dict[str, Any]:
    if not signature.bias:
        refuse_beside(views, ("bias",), f"{signature.canonical()} has no bias")
        return {}
    bias = need(views, "bias", f"{signature.canonical()} adds one")
    expect_dtype(bias, DType.FP32, "every signature")
    expect_shape(bias, (n,), why="as a bias of N columns")
    expect_contiguous(bias)
    return {"bias": At("bias")}


def _d_fields(x: Operands, views: Views) -> dict[str, Any]:
    """D tensors in the order of the epilogue's steps; one of a row has a leading dimension of 0."""
    count = sum(step.takes_d for step in x.signature.epilogue)
    refuse_beside(views, tuple(f"d{i}" for i in range(count, MAX_D)), f"the epilogue takes {count} tensors of d")
    pointers, lds, strides = [], [], []
    for i in range(count):
        d = need(views, f"d{i}", f"the epilogue takes {count} tensors of d")
        expect_dtype(d, x.signature.c, "C's type")
        rows = replace_row(d) if len(d.shape) == 1 else d
        found = matrix(rows)
        if (found.rows, found.columns) not in ((x.m, x.n), (1, x.n)) or found.batch not in (0, x.batch):
            raise ShapeMismatch(f"{d.name} has shape {d.shape}, and C of [{x.m}, {x.n}] takes [M, N] or [N]")
        if not found.is_row_major:
            raise LayoutMismatch(f"{d.name} lies in columns {d.strides}, and d is read in rows: copy it")
        pointers.append(At(d.name))
        lds.append(0 if found.rows == 1 and x.m > 1 else found.ld)
        strides.append(found.batch_stride if found.batch > 1 else 0)
    pad = [0] * (MAX_D - count)
    return {"d": (*pointers, *pad), "ldd": (*lds, *pad), "batch_stride_d": (*strides, *pad)}


def replace_row(view: TensorView) -> TensorView:
    """A tensor of one dimension as a matrix of one row."""
    return replace(view, shape=(1, *view.shape), strides=(view.shape[0], *view.strides))
