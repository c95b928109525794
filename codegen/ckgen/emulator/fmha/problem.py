"""Data of an attention problem as a kernel is given it, from sizes and a seed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckgen.emulator.fmha.expected import Scores, Sequence, expected
from ckgen.emulator.production.model import Output
from ckgen.emulator.production.numbers import BF16, FP8_FNUZ, FP8_OCP, normal
from ckgen.families.fmha.dropout import Dropout
from ckgen.families.fmha.enums import FmhaBias, FmhaCorner, FmhaDropout, FmhaQuant
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.model.dtype import DType
from ckgen.model.fmha_shape import FmhaShape

Array = NDArray[Any]

_NUMPY: Mapping[DType, np.dtype[Any]] = {
    DType.FP32: np.dtype(np.float32),
    DType.FP16: np.dtype(np.float16),
    DType.BF16: BF16,
    DType.FP8_FNUZ: FP8_FNUZ,
    DType.FP8_OCP: FP8_OCP,
}
_SOFTCAP, _P_DROP = 3.0, 0.25
_DESCALES = (0.5, 1.25, 0.75)


@dataclass(frozen=True, slots=True)
class FmhaProblem:
    """Lengths per sequence; corner and window of a masked signature; `seed` decides the data.

    `spare`: rows behind each sequence, and keys, that lengths given apart do not count; they are NaN. Without varlen
    all lengths of Q are the same and have no spare rows. head_first: tensors are [heads, rows], not [rows, heads].
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

    def __str__(self) -> str:
        lengths = ",".join(f"{q}x{k}" for q, k in zip(self.lengths_q, self.lengths_k, strict=True))
        window = f" {str(self.corner)[0]}:{self.window_left},{self.window_right}"
        return f"{lengths} h{self.heads_q}/{self.heads_k} d{self.hdim_q}/{self.hdim_v}{window}" + (
            f" spare{self.spare}" if self.spare else ""
        )


@dataclass(frozen=True, slots=True)
class FmhaData:
    """What a host unit is given, by names of FmhaArgs; the arrays among it that are read; what must come out."""

    shape: FmhaShape
    args: Mapping[str, Any]
    inputs: tuple[Array, ...]
    outputs: tuple[Output, ...]


def fmha_data(signature: FmhaSignature, problem: FmhaProblem) -> FmhaData:
    """A problem of the signature, whose 8-bit types have their flavour."""
    traits, random = signature.traits, np.random.default_rng(problem.seed)
    rows_q = _rows(problem.lengths_q, problem.spare if traits.varlen else 0, traits.varlen)
    rows_k = _rows(problem.lengths_k, problem.spare, traits.varlen)
    q = _tensor(rows_q, problem.heads_q, problem.hdim_q, signature.a, problem.head_first)
    k = _tensor(rows_k, problem.heads_k, problem.hdim_q, signature.b, problem.head_first)
    v = _tensor(rows_k, problem.heads_k, problem.hdim_v, signature.b, problem.head_first)
    o = _tensor(rows_q, problem.heads_q, problem.hdim_v, signature.c, problem.head_first)
    _fill(random, q, rows_q, problem.lengths_q, problem.heads_q)
    for one in (k, v):
        _fill(random, one, rows_k, problem.lengths_k, problem.heads_k)
    lse = _Tensor(np.empty((problem.heads_q, rows_q.total), np.float32).reshape(-1), (1, rows_q.total, 0))
    if not traits.varlen:
        longest = problem.lengths_q[0]
        lse = _Tensor(lse.values, (1, longest, problem.heads_q * longest))
    bias = _bias(random, signature, problem, rows_q)
    descales = [np.array([value], np.float32) for value in _DESCALES] if traits.quant is not FmhaQuant.NONE else []
    dropout = Dropout(_P_DROP, 20 + problem.seed, 4) if traits.dropout is FmhaDropout.PHILOX else None

    scale = float(np.float32(problem.hdim_q**-0.5))
    factors = [float(one[0]) for one in descales] or [1.0, 1.0, 1.0]
    scores = Scores(scale * factors[0] * factors[1], _SOFTCAP if traits.softcap else 0.0, factors[2])
    exact_o, bound_o = np.full(o.values.shape, np.nan), np.zeros(o.values.shape)
    exact_lse, bound_lse = np.full(lse.values.shape, np.nan), np.zeros(lse.values.shape)
    for b, (length_q, length_k) in enumerate(zip(problem.lengths_q, problem.lengths_k, strict=True)):
        for head in range(problem.heads_q):
            shared = head // (problem.heads_q // problem.heads_k)
            sequence = Sequence(
                q.head(rows_q, b, head, length_q), k.head(rows_k, b, shared, length_k),
                v.head(rows_k, b, shared, length_k), _added(bias, signature, rows_q, b, head, length_q, length_k),
                _visible(problem, length_q, length_k) if traits.masked else np.ones((length_q, length_k), bool),
                None if dropout is None else dropout.factor * dropout.keeps(
                    b, head, problem.heads_q, (length_q, length_k)
                ),
            )  # fmt: skip
            found = expected(sequence, scores, signature)
            o.head_of(exact_o, rows_q, b, head, length_q)[:] = found.o
            o.head_of(bound_o, rows_q, b, head, length_q)[:] = found.o_bound
            lse.head_of(exact_lse, rows_q, b, head, length_q)[:] = found.lse[:, None]
            lse.head_of(bound_lse, rows_q, b, head, length_q)[:] = found.lse_bound[:, None]

    given_q = np.array(problem.lengths_q, np.int32) if traits.varlen and problem.spare else None
    differ = problem.spare > 0 or (not traits.varlen and len(set(problem.lengths_k)) > 1)
    given_k = np.array(problem.lengths_k, np.int32) if differ else None
    args: dict[str, Any] = {
        **{name: one.values for name, one in (("q", q), ("k", k), ("v", v), ("o", o))},
        **{f"{name}_strides": one.strides for name, one in (("q", q), ("k", k), ("v", v), ("o", o))},
        "scale": scale, "softcap": scores.softcap, "seqlen_q": given_q, "seqlen_k": given_k,
        **dict(zip(("q_descale", "k_descale", "v_descale"), descales, strict=False)),
    }  # fmt: skip
    if traits.lse:
        args |= {"lse": lse.values, "lse_head_stride": lse.strides[1], "lse_batch_stride": lse.strides[2]}
    if bias is not None:
        args |= {"bias": bias.values, "bias_strides": bias.strides}
    if dropout is not None:
        args |= {"p_drop": _P_DROP, "seed": dropout.seed, "offset": dropout.offset}
    if traits.varlen:
        args |= {"seqstart_q": rows_q.starts, "seqstart_k": rows_k.starts}
    outputs = [Output("o", o.values, exact_o, bound_o)]
    outputs += [Output("lse", lse.values, exact_lse, bound_lse)] if traits.lse else []
    written = {id(one.actual) for one in outputs}
    inputs = tuple(one for one in args.values() if isinstance(one, np.ndarray) and id(one) not in written and one.size)
    return FmhaData(_shape(signature, problem, rows_q, rows_k), args, inputs, tuple(outputs))


def _shape(signature: FmhaSignature, problem: FmhaProblem, rows_q: _Rows, rows_k: _Rows) -> FmhaShape:
    return FmhaShape(
        len(problem.lengths_q), problem.heads_q, problem.heads_k, max(problem.lengths_q),
        max(problem.lengths_k) if signature.traits.varlen else rows_k.pitch, problem.hdim_q, problem.hdim_v,
        problem.corner, problem.window_left, problem.window_right, problem.sink_tokens,
        total_q=rows_q.total if signature.traits.varlen else 0,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Rows:
    """Where the rows of each sequence begin; `pitch` rows in each of a batch, 0 where they lie one after the other."""

    starts: NDArray[np.int32]
    pitch: int

    @property
    def total(self) -> int:
        return int(self.starts[-1])


def _rows(lengths: tuple[int, ...], spare: int, varlen: bool) -> _Rows:
    each = [length + spare for length in lengths] if varlen else [max(lengths) + spare] * len(lengths)
    return _Rows(np.concatenate([[0], np.cumsum(each)]).astype(np.int32), 0 if varlen else each[0])


@dataclass(frozen=True, slots=True)
class _Tensor:
    """One dimension of memory, and strides of row, head and batch in it; columns lie together."""

    values: Array
    strides: tuple[int, int, int]
    columns: int = 1

    def head_of(self, of: Array, rows: _Rows, b: int, head: int, length: int) -> Array:
        """The rows of a head of a sequence, as a view of `of`, which is laid out as the tensor is."""
        row, of_head, of_batch = self.strides
        start = head * of_head + (b * of_batch if rows.pitch else int(rows.starts[b]) * row)
        size = of.itemsize
        shape = (length, self.columns)
        return (
            np.lib.stride_tricks.as_strided(of[start:], shape, (row * size, size)) if length else of[:0].reshape(shape)
        )

    def head(self, rows: _Rows, b: int, head: int, length: int) -> Array:
        return self.head_of(self.values, rows, b, head, length)


def _tensor(rows: _Rows, heads: int, columns: int, dtype: DType, head_first: bool) -> _Tensor:
    """All NaN."""
    values = np.full(max(rows.total, 1) * heads * columns, np.nan, np.float32).astype(_NUMPY[dtype])
    pitch = rows.pitch or rows.total
    strides = (columns, pitch * columns, heads * pitch * columns) if head_first else (
        heads * columns, columns, heads * pitch * columns
    )  # fmt: skip
    return _Tensor(values, strides, columns)


def _fill(random: np.random.Generator, tensor: _Tensor, rows: _Rows, lengths: tuple[int, ...], heads: int) -> None:
    """Values of a normal distribution in the rows that count."""
    for b, length in enumerate(lengths):
        for head in range(heads):
            tensor.head(rows, b, head, length)[:] = normal(random, (length, tensor.columns), tensor.values.dtype)


def _bias(random: np.random.Generator, signature: FmhaSignature, problem: FmhaProblem, rows_q: _Rows) -> _Tensor | None:
    """A matrix per head, its rows those of Q; or slopes, [batch, heads]."""
    heads, batch = problem.heads_q, len(problem.lengths_q)
    if signature.traits.bias is FmhaBias.ALIBI:
        slopes = random.uniform(0.05, 0.5, batch * heads).astype(np.float32)
        return _Tensor(slopes, (0, 1, heads))
    if signature.traits.bias is FmhaBias.NONE:
        return None
    keys = max(problem.lengths_k) + problem.spare
    pitch = rows_q.pitch or rows_q.total
    values = normal(random, (rows_q.total * heads * keys,), _NUMPY[signature.a])
    return _Tensor(values, (keys, pitch * keys, heads * pitch * keys), keys)


def _added(
    bias: _Tensor | None, signature: FmhaSignature, rows_q: _Rows, b: int, head: int, length_q: int, length_k: int
) -> NDArray[np.float64]:
    """What is added to the scores of a head."""
    i, j = np.ogrid[:length_q, :length_k]
    if bias is None:
        return np.zeros((length_q, length_k))
    if signature.traits.bias is FmhaBias.ALIBI:
        slope = float(bias.values[b * bias.strides[2] + head])
        distances: NDArray[np.float64] = -slope * np.abs(i + length_k - length_q - j)
        return distances
    return bias.head(rows_q, b, head, length_q)[:, :length_k].astype(np.float64)


def _visible(problem: FmhaProblem, length_q: int, length_k: int) -> NDArray[np.bool_]:
    i, j = np.ogrid[:length_q, :length_k]
    middle = i + (length_k - length_q if problem.corner is FmhaCorner.BOTTOM_RIGHT else 0)
    seen: NDArray[np.bool_] = np.ones((length_q, length_k), bool)
    if problem.window_left >= 0:
        seen &= j >= middle - problem.window_left
    if problem.window_right >= 0:
        seen &= j <= middle + problem.window_right
    return seen
