"""Problems of attention's gradients: arguments of a run, and what must come out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from ckgen.families.common.storage import Storage, Values, decode, encode
from ckgen.families.fmha.backward_config import CkTileBackwardConfig, HipBackwardConfig
from ckgen.families.fmha.backward_operands import BackwardOperands, backward_of
from ckgen.families.fmha.cut import Cut
from ckgen.families.fmha.enums import FmhaBias, FmhaCorner
from ckgen.families.fmha.operands import Lengths, make_operands
from ckgen.families.fmha.reference_backward import expect_backward
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.model.dtype import DType
from ckgen.model.fmha_shape import FmhaShape
from ckgen_emulator.fmha.problem import (
    FmhaProblem,
    launched_shape,
    lengths_given,
    rows_of,
    scores_given,
    shape_of,
)
from ckgen_emulator.fmha.tensors import NUMPY, Rows, Tensor, tensor_of
from ckgen_emulator.gemm.problem import Data
from ckgen_emulator.production.model import Output


def backward_data(
    signature: FmhaSignature, problem: FmhaProblem, cut: Cut = Cut.NOTHING
) -> tuple[FmhaShape, Mapping[str, Any], tuple[Storage, ...], tuple[Output, ...]]:
    """Sizes, arguments by names of FmhaArgs, arrays that are only read, and the gradients as they must come out.

    What lies behind the rows that count is NaN where it is read, and stays as it is where it is written.
    """
    of_q, of_k = rows_of(signature, problem)
    lengths = Lengths(problem.lengths_q, problem.lengths_k)
    operands = _operands(signature, shape_of(problem, of_k), problem, lengths)
    forward, first, dtype = operands.forward, problem.head_first, signature.a
    lse = tensor_of(of_q, lengths.q, operands.lse.transpose(0, 2, 1)[..., None], DType.FP32, True)
    args: dict[str, Any] = {
        **lengths_given(signature, problem, of_q, of_k),
        **scores_given(signature, forward, of_q, problem),
        "lse": lse.values,
        "lse_head_stride": lse.strides[1],
        "lse_batch_stride": lse.strides[2],
    }
    for name, values, of in (
        ("q", forward.q, of_q), ("k", forward.k, of_k), ("v", forward.v, of_k),
        ("o", operands.o, of_q), ("dout", operands.dout, of_q),
    ):  # fmt: skip
        tensor = tensor_of(of, lengths.q if of is of_q else lengths.k, values, dtype, first)
        args |= {name: tensor.values, f"{name}_strides": tensor.strides}
    exact = expect_backward(operands, cut)
    outputs = []
    for name, gradient, of in (("dq", exact.dq, of_q), ("dk", exact.dk, of_k), ("dv", exact.dv, of_k)):
        counted = lengths.q if of is of_q else lengths.k
        expected, bound = (tensor_of(of, counted, one, DType.FP32, first) for one in (gradient.c, gradient.bound))
        outputs.append(Output(name, np.empty(expected.values.size, NUMPY[dtype]), expected.values, bound.values))
        args |= {name: outputs[-1].actual, f"{name}_strides": expected.strides}
    if signature.traits.bias is FmhaBias.ELEMENTWISE and forward.bias is not None:
        bias = _bias(problem, of_q, forward.bias)
        args |= {"bias": bias.values.astype(NUMPY[dtype]), "bias_strides": bias.strides}
    if exact.dbias is not None and not problem.qkv_only:
        expected, bound = (_bias(problem, of_q, one, counted=True) for one in (exact.dbias.c, exact.dbias.bound))
        outputs.append(Output("dbias", np.empty(expected.values.size, NUMPY[dtype]), expected.values, bound.values))
        args |= {"dbias": outputs[-1].actual, "dbias_strides": expected.strides}
    if exact.dsink is not None and not problem.qkv_only:
        outputs.append(Output("dsink", np.empty(exact.dsink.c.size, np.float32), exact.dsink.c, exact.dsink.bound))
        args["dsink"] = outputs[-1].actual
    written = {id(one.actual) for one in outputs}
    inputs = tuple(one for one in args.values() if isinstance(one, np.ndarray) and id(one) not in written)
    return launched_shape(signature, problem), args, inputs, tuple(outputs)


def _operands(signature: FmhaSignature, shape: FmhaShape, problem: FmhaProblem, lengths: Lengths) -> BackwardOperands:
    """A bias has elements of what does not share them."""
    operands = make_operands(signature, shape, problem.seed, lengths)
    if signature.traits.bias is FmhaBias.ELEMENTWISE:
        of = (shape.batch, shape.heads_q, shape.seqlen_q)
        sizes = (*(1 if shared else size for size, shared in zip(of, problem.shared_bias, strict=True)), shape.seqlen_k)
        drawn = np.random.default_rng((problem.seed, 2)).uniform(-2.0, 2.0, sizes)
        operands = replace(operands, bias=decode(encode(drawn, signature.a)))
    return backward_of(operands, problem.seed)


def _bias(problem: FmhaProblem, of_q: Rows, values: Values, *, counted: bool = False) -> Tensor:
    """Elements of a bias or of its gradient, with strides of 0 along what shares them; `counted`: NaN behind keys."""
    of_batch, of_heads, of_rows = problem.shared_bias
    found = values.astype(np.float64)
    if counted:  # of what sequences share, the longest one's
        for b in range(len(found)):
            found[b, ..., max(problem.lengths_k) if of_batch else problem.lengths_k[b] :] = np.nan
    if of_q.pitch or of_rows:
        heads, rows, keys = found.shape[1:]
        row, head, batch = keys, rows * keys, heads * rows * keys
        memory = found.reshape(-1).astype(np.float32)
    else:
        tensor = tensor_of(of_q, problem.lengths_q, found.transpose(0, 2, 1, 3), DType.FP32, True)
        memory, (row, head, batch) = tensor.values, tensor.strides
    return Tensor(memory, (0 if of_rows else row, 0 if of_heads else head, 0 if of_batch else batch))


AnyConfig = CkTileBackwardConfig | HipBackwardConfig


@dataclass(frozen=True, slots=True)
class _Kernel:
    """A Config as far as its problems differ: ours has any head dim and group, sink tokens, and sums a shared bias."""

    m0: int
    n0: int
    hdim: int
    pad: int
    grouped: bool
    ordered: bool
    ours: bool

    @classmethod
    def of(cls, config: AnyConfig) -> _Kernel:
        if isinstance(config, HipBackwardConfig):
            return cls(config.m0, config.n0, config.hdim, 1, True, True, True)
        return cls(config.m0, config.n0, config.hdim, config.pad, config.grouped, config.ordered, False)


def backward_cases(signature: FmhaSignature, config: AnyConfig) -> tuple[FmhaProblem, ...]:
    """Tiles that are whole and not, heads that share K and V, masks from both corners, windows, lengths of 0."""
    return tuple(dict.fromkeys(_cases(signature, _Kernel.of(config))))


def drawn_backward(signature: FmhaSignature, given: AnyConfig, seed: int) -> FmhaProblem:
    """A small problem that the kernel takes."""
    config = _Kernel.of(given)
    random, traits = np.random.default_rng((seed, 22)), signature.traits
    batch = int(random.integers(1, 4))
    queries, keys = int(random.integers(1, 4 * config.m0)), int(random.integers(1, 2 * config.n0 + config.n0 // 2))

    def lengths(most: int, *, own: bool) -> tuple[int, ...]:
        found = tuple(int(one) for one in random.integers(0, most + 1, batch))
        return (most, *found[1:]) if own else (most,) * batch

    heads_k = int(random.integers(1, 3))
    group = int(random.integers(1, 4)) if config.grouped else 1
    steps = range(config.pad, config.hdim + 1, config.pad) if config.pad else (config.hdim,)
    hdim_q, hdim_v = (int(one) for one in random.choice(np.array(steps), 2))
    corner = FmhaCorner.BOTTOM_RIGHT if random.random() < 0.5 else FmhaCorner.TOP_LEFT
    left, right = -1, 0
    if random.random() < 0.5:
        left, right = (int(one) for one in random.integers(-1, config.n0, 2))
    if traits.bias is FmhaBias.ALIBI and not config.ours:
        corner = FmhaCorner.BOTTOM_RIGHT
    shared, tokens = (False, False, False), 0
    if config.ours:
        tokens = int(random.integers(0, 9)) if traits.masked and random.random() < 0.5 else 0
        of_rows = bool(random.random() < 0.5)
        shared = (of_rows if traits.varlen else bool(random.random() < 0.5), bool(random.random() < 0.5), of_rows)
    if traits.bias is not FmhaBias.ELEMENTWISE:
        shared = (False, False, False)
    return FmhaProblem(
        lengths(queries, own=traits.varlen), lengths(keys, own=traits.varlen or random.random() < 0.3),
        heads_k * group, heads_k, hdim_q, hdim_v, corner, left, right, tokens,
        spare=int(random.integers(0, 6)) if random.random() < 0.3 else 0,
        head_first=bool(random.random() < 0.3), seed=seed, data=Data.RANDOM, shared_bias=shared,
    )  # fmt: skip


def _cases(signature: FmhaSignature, config: _Kernel) -> Iterator[FmhaProblem]:
    traits, m0, n0 = signature.traits, config.m0, config.n0
    heads = (4, 2) if config.grouped else (2, 2)
    one = FmhaProblem((m0,), (n0,), 1, 1, config.hdim, config.hdim, data=Data.RANDOM)
    yield one
    yield replace(one, lengths_q=(2 * m0 + 5,) * 2, lengths_k=(n0 + 9,) * 2, heads_q=heads[0], heads_k=heads[1], seed=1)
    yield replace(one, lengths_q=(3,), lengths_k=(2 * n0 + 1,), head_first=True, seed=2)
    if config.ordered:
        of_four = replace(one, lengths_q=(m0 + 9,) * 2, lengths_k=(3 * n0 + 1, n0), seed=10)
        yield replace(of_four, heads_q=heads[0], heads_k=heads[1])
    yield replace(one, lengths_q=(m0 + 1,) * 2, lengths_k=(n0 - 3, 7), spare=4, seed=3)
    if config.pad:
        yield replace(one, hdim_q=config.hdim - config.pad, hdim_v=config.hdim - 2 * config.pad, seed=4)
    if traits.masked:
        masked = replace(one, lengths_q=(3 * m0 + 2,), lengths_k=(2 * n0 - 5,), seed=5)
        for corner in (FmhaCorner.TOP_LEFT, FmhaCorner.BOTTOM_RIGHT):
            if corner is FmhaCorner.TOP_LEFT and traits.bias is FmhaBias.ALIBI and not config.ours:
                continue
            yield replace(masked, corner=corner)
            alone = config.ours and corner is FmhaCorner.TOP_LEFT
            yield replace(masked, corner=corner, window_left=n0 // 2, window_right=9, seed=6, qkv_only=alone)
            yield replace(masked, corner=corner, lengths_q=(4 * m0,), lengths_k=(m0,), seed=7)
    if traits.varlen:
        yield replace(one, lengths_q=(m0 + 7, 0, 2, m0), lengths_k=(n0 + 1, 9, 0, n0), seed=8)
        yield replace(one, lengths_q=(0, 5), lengths_k=(n0 + 3, 4), spare=3, heads_q=heads[0], heads_k=heads[1], seed=9)
    if config.ours and traits.masked:
        many = replace(one, lengths_q=(3 * m0 + 2,), lengths_k=(4 * n0 - 5,), window_left=n0 // 2, seed=11)
        yield replace(many, sink_tokens=3)
        yield replace(many, sink_tokens=n0 + 1, corner=FmhaCorner.TOP_LEFT)
    if config.ours and traits.bias is FmhaBias.ELEMENTWISE:
        several = replace(one, lengths_q=(m0 + 3,) * 2, lengths_k=(n0 + 1, 5), heads_q=4, heads_k=2, seed=12)
        for of_batch, of_heads, of_rows in product((False, True), repeat=3):
            if not traits.varlen or of_batch == of_rows:
                yield replace(several, shared_bias=(of_batch, of_heads, of_rows))
