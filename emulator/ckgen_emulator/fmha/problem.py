"""Data of an attention problem as a kernel is given it, from sizes and a seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckgen.families.fmha.enums import FmhaBias, FmhaCorner, FmhaQuant
from ckgen.families.fmha.exact_operands import exact_operands
from ckgen.families.fmha.operands import FmhaOperands, Lengths, make_operands
from ckgen.families.fmha.reference import expect
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.model.dtype import DType
from ckgen.model.fmha_shape import FmhaShape
from ckgen_emulator.fmha.pages import behind, page_count, paged_kv
from ckgen_emulator.fmha.tensors import NUMPY, Rows, bytes_in_memory, columns_of, rows_in_memory, tensor_of
from ckgen_emulator.gemm.problem import Data
from ckgen_emulator.production.model import Output
from ckgen_emulator.production.numbers import Float

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class FmhaProblem:
    """Lengths per sequence; corner and window of a masked signature; `seed` decides the data.

    `spare`: rows behind each sequence, and keys, that lengths given apart do not count; they are NaN. Without varlen
    all lengths of Q are the same and have no spare rows. head_first: tensors are [heads, rows], not [rows, heads].
    page_size: of a paged signature, which has no spare rows; finite_kv: unused rows of pages are not NaN; pages_before:
    those that nobody has, before all others. data: exact ones, as docs/exactness_ops.md has them, or random ones.
    shared_bias: of gradients, whether sequences, heads and rows each share the elements of a bias; those of varlen
    share all rows or none. qkv_only: nobody asks for the gradients of a bias and of sinks.
    """

    lengths_q: tuple[int, ...]
    lengths_k: tuple[int, ...]
    heads_q: int = 1
    heads_k: int = 1
    hdim_q: int = 64
    hdim_v: int = 64
    corner: FmhaCorner = FmhaCorner.BOTTOM_RIGHT
    window_left: int = -1
    window_right: int = 0
    sink_tokens: int = 0
    spare: int = 0
    head_first: bool = False
    seed: int = 0
    page_size: int = 0
    splits: int = 1
    finite_kv: bool = False
    pages_before: int = 0
    data: Data = Data.SMALL_INTEGERS
    shared_bias: tuple[bool, bool, bool] = (False, False, False)
    qkv_only: bool = False

    def __str__(self) -> str:
        lengths = ",".join(f"{q}x{k}" for q, k in zip(self.lengths_q, self.lengths_k, strict=True))
        window = f" {str(self.corner)[0]}:{self.window_left},{self.window_right}"
        sizes = f"{lengths} h{self.heads_q}/{self.heads_k} d{self.hdim_q}/{self.hdim_v}{window}"
        spare = f" spare{self.spare}" if self.spare else ""
        pages = f" pages of {self.page_size}" if self.page_size else ""
        pages += f" from {self.pages_before}" if self.pages_before else ""
        data = " random" if self.data is Data.RANDOM else ""
        tokens = f" sinks {self.sink_tokens}" if self.sink_tokens else ""
        shared = [name for name, one in zip(("batch", "heads", "rows"), self.shared_bias, strict=True) if one]
        data += f" shared bias of {','.join(shared)}" if shared else ""
        data += " dq, dk, dv only" if self.qkv_only else ""
        return sizes + spare + pages + tokens + (f" splits {self.splits}" if self.splits > 1 else "") + data


@dataclass(frozen=True, slots=True)
class FmhaData:
    """What a host unit is given, by names of FmhaArgs; the arrays among it that are read; what must come out."""

    shape: FmhaShape
    args: Mapping[str, Any]
    inputs: tuple[Array, ...]
    outputs: tuple[Output, ...]


def fmha_data(signature: FmhaSignature, problem: FmhaProblem) -> FmhaData:
    """A problem of the signature, whose 8-bit types have their flavour. P in fp16 may be cut, as ck_tile does it."""
    traits = signature.traits
    rows_q, rows_k = rows_of(signature, problem)
    shape = shape_of(problem, rows_k)
    make = make_operands if problem.data is Data.RANDOM else exact_operands
    operands = make(signature, shape, problem.seed, Lengths(problem.lengths_q, problem.lengths_k))
    exact = expect(operands, truncates=signature.a is DType.FP16)

    first = problem.head_first
    q = tensor_of(rows_q, problem.lengths_q, operands.q, signature.a, first)
    o, o_bound = (tensor_of(rows_q, problem.lengths_q, one, DType.FP32, first) for one in (exact.o.c, exact.o.bound))
    lse, lse_bound = (
        tensor_of(rows_q, problem.lengths_q, one.transpose(0, 2, 1)[..., None], DType.FP32, True)
        for one in (exact.lse.c, exact.lse.bound)
    )
    outputs = [Output("o", np.empty(o.values.size, NUMPY[signature.c]), o.values, o_bound.values)]
    if traits.lse:
        outputs.append(Output("lse", np.empty(lse.values.size, np.float32), lse.values, lse_bound.values))
    args: dict[str, Any] = {
        **{one.name: one.actual for one in outputs},
        "q": q.values,
        "q_strides": q.strides,
        "o_strides": o.strides,
        **lengths_given(signature, problem, rows_q, rows_k),
        **_kv(signature, problem, rows_k, operands),
        **scores_given(signature, operands, rows_q, problem),
        "lse_head_stride": lse.strides[1],
        "lse_batch_stride": lse.strides[2],
    }
    if problem.pages_before:
        descales = shape.heads_k if traits.quant is FmhaQuant.KV_BLOCKSCALE else 0
        args = behind(args, problem.pages_before, descales)
    written = {id(one.actual) for one in outputs}
    inputs = tuple(one for one in args.values() if isinstance(one, np.ndarray) and id(one) not in written)
    return FmhaData(launched_shape(signature, problem), args, inputs, tuple(outputs))


def launched_shape(signature: FmhaSignature, problem: FmhaProblem) -> FmhaShape:
    """The sizes as a launch has them, spare rows and pages included."""
    rows_q, rows_k = rows_of(signature, problem)
    shape = shape_of(problem, rows_k)
    total_q = rows_q.total if signature.traits.varlen else 0
    return replace(shape, total_q=total_q, pages=shape.pages + problem.pages_before)


def rows_of(signature: FmhaSignature, problem: FmhaProblem) -> tuple[Rows, Rows]:
    varlen = signature.traits.varlen
    rows_q = rows_in_memory(problem.lengths_q, problem.spare if varlen else 0, varlen)
    return rows_q, rows_in_memory(problem.lengths_k, problem.spare, varlen)


def _kv(signature: FmhaSignature, problem: FmhaProblem, rows_k: Rows, operands: FmhaOperands) -> Mapping[str, Any]:
    """K and V and where they lie."""
    if signature.traits.is_paged:
        unused = 1.5 if problem.finite_kv else np.nan
        return paged_kv(operands, NUMPY[signature.b], head_first=problem.head_first, unused=unused)
    args: dict[str, Any] = {}
    for name, values in (("k", operands.k), ("v", operands.v)):
        is_column = name == "v" and signature.traits.v_column
        place = columns_of if is_column else tensor_of
        tensor = place(rows_k, problem.lengths_k, values, signature.b, problem.head_first)
        args |= {name: tensor.values, f"{name}_strides": tensor.strides}
    return args


def shape_of(problem: FmhaProblem, rows_k: Rows) -> FmhaShape:
    return FmhaShape(
        len(problem.lengths_q), problem.heads_q, problem.heads_k, max(problem.lengths_q),
        rows_k.pitch or max(problem.lengths_k), problem.hdim_q, problem.hdim_v, problem.corner, problem.window_left,
        problem.window_right, problem.sink_tokens, problem.page_size,
        page_count(problem.lengths_k, problem.page_size) if problem.page_size else 0,
    )  # fmt: skip


def lengths_given(signature: FmhaSignature, problem: FmhaProblem, rows_q: Rows, rows_k: Rows) -> dict[str, Any]:
    """Where sequences begin, and how long they are where that does not tell; pages tell of keys themselves."""
    if signature.traits.is_paged:
        return {"seqstart_q": rows_q.starts} if signature.traits.varlen else {}
    if not signature.traits.varlen:
        whole = all(length == rows_k.pitch for length in problem.lengths_k)
        return {} if whole else {"seqlen_k": np.array(problem.lengths_k, np.int32)}
    starts = {"seqstart_q": rows_q.starts, "seqstart_k": rows_k.starts}
    if not problem.spare:
        return starts
    both = {"seqlen_q": problem.lengths_q, "seqlen_k": problem.lengths_k}
    return {**starts, **{name: np.array(lengths, np.int32) for name, lengths in both.items()}}


def scores_given(
    signature: FmhaSignature, operands: FmhaOperands, rows_q: Rows, problem: FmhaProblem
) -> dict[str, Any]:
    """What is done to scores and probabilities."""
    given: dict[str, Any] = {"scale": operands.scale, "softcap": operands.softcap}
    for name in ("q", "k", "v"):
        descale = getattr(operands.descales, name)
        if descale is not None:
            given[f"{name}_descale"] = descale.astype(np.float32)
    if operands.sink is not None:
        given["sink"] = operands.sink.astype(np.float32)
    if operands.dropout is not None:
        dropout = operands.dropout
        given |= {"p_drop": dropout.p_drop, "seed": dropout.seed, "offset": dropout.offset}
        if dropout.rand_val is not None:
            drawn = bytes_in_memory(rows_q, problem.lengths_q, dropout.rand_val)
            given |= {"rand_val": drawn.values, "rand_val_strides": drawn.strides}
    if operands.bias is None:
        return given
    batch, heads = (0 if extent == 1 else 1 for extent in operands.bias.shape[:2])
    if signature.traits.bias is FmhaBias.ALIBI:
        slopes = operands.bias.astype(np.float32).reshape(-1)
        return {**given, "bias": slopes, "bias_strides": (0, 1, batch * problem.heads_q)}
    matrix = tensor_of(rows_q, problem.lengths_q, _per_sequence(operands, problem), signature.a, True)
    row, head, of_batch = matrix.strides
    return {**given, "bias": matrix.values, "bias_strides": (row, heads * head, of_batch)}


def _per_sequence(operands: FmhaOperands, problem: FmhaProblem) -> Float:
    """The matrix of bias of each sequence and head, [batch, rows, heads, keys]."""
    assert operands.bias is not None
    extents = (len(problem.lengths_q), *operands.bias.shape[1:])
    found: Float = np.broadcast_to(operands.bias, extents).transpose(0, 2, 1, 3)
    return found
