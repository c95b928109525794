"""Cases of AITER's attention, forward and gradients, run and held against the definition with its derived bounds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from aiter_op_cases import Attention, Columns, Paged, Varlen
from ckgen.families.common.comparison import Expected, compare
from ckgen.families.fmha.backward_operands import BackwardOperands
from ckgen.families.fmha.dropout import Dropout
from ckgen.families.fmha.enums import FmhaBias
from ckgen.families.fmha.operands import FmhaOperands, Lengths, make_operands
from ckgen.families.fmha.reference import expect
from ckgen.families.fmha.reference_backward import expect_backward
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.model.dtype import DType
from ckgen.model.fmha_shape import FmhaShape
from ckgen.torch import aiter

_TYPES = {"float16": DType.FP16, "bfloat16": DType.BF16}
_PADDING = 20
"""Rows of a sequence of a varlen case that are padding are fewer."""


def run_attention(case: Attention) -> bool:
    """Whether flash_attn_func and its gradients are what the definition says."""
    window = tuple(torch.randint(0, case.seqlen_k, (2,)).tolist()) if case.local else (-1, -1)
    kind = {"no": FmhaBias.NONE, "bias": FmhaBias.ELEMENTWISE, "alibi": FmhaBias.ALIBI}[case.bias]
    shape = FmhaShape(
        case.batch, case.heads, case.heads // case.gqa_ratio, case.seqlen_q, case.seqlen_k, case.hdim_q, case.hdim_v
    )
    operands = made(case, shape, kind, window)
    if kind is FmhaBias.ELEMENTWISE and operands.bias is not None:
        operands = replace(operands, bias=operands.bias[:1, :1])
    q, k, v = inputs_of(operands, case.dtype)
    bias = (
        tensor(operands.bias[0, 0], case.dtype) if kind is FmhaBias.ELEMENTWISE and operands.bias is not None else None
    )
    operands = drawn(operands, case.dropout_p)

    def call(with_lse: bool) -> Any:
        return aiter.flash_attn_func(
            q, k, v, case.dropout_p, None, case.causal, window, bias, slopes_of(operands), return_lse=with_lse
        )

    return judged(operands, call, (q, k, v), bias, None)


def run_varlen(case: Varlen) -> bool:
    """Whether flash_attn_varlen_func and its gradients are, of sequences with random padding."""
    window = tuple(torch.randint(0, case.seqlen_k, (2,)).tolist()) if case.local else (-1, -1)
    lengths = Lengths(*(
        tuple(torch.randint(max(1, most - _PADDING), most + 1, (case.batch,)).tolist())
        for most in (case.seqlen_q, case.seqlen_k)
    ))  # fmt: skip
    shape = FmhaShape(case.batch, case.heads, case.heads_k, case.seqlen_q, case.seqlen_k, case.hdim, case.hdim)
    operands = made(case, shape, FmhaBias.ALIBI if case.alibi else FmhaBias.NONE, window, lengths)
    q, k, v = inputs_of(operands, case.dtype)
    starts = [torch.tensor([0, *each]).cumsum(0).int() for each in (lengths.q, lengths.k)]
    operands = drawn(operands, case.dropout_p)

    def call(with_lse: bool) -> Any:
        return aiter.flash_attn_varlen_func(
            q, k, v, *starts, max(lengths.q), max(lengths.k), 0, case.dropout_p, causal=case.causal,
            window_size=window, alibi_slopes=slopes_of(operands), return_lse=with_lse,
        )  # fmt: skip

    return judged(operands, call, (q, k, v), None, starts)


@torch.no_grad()
def run_paged(case: Paged) -> bool:
    """Whether paged_attention_v1 is, over pages in random order."""
    signature = FmhaSignature.of(
        _TYPES[case.dtype],
        masked=bool(case.window),
        bias=FmhaBias.ALIBI if case.alibi else FmhaBias.NONE,
        softcap=bool(case.softcap),
    )
    shape = FmhaShape(
        case.batch, case.heads, case.heads_k, 1, case.context, case.hdim, case.hdim,
        window_left=case.window - 1 if case.window else -1,
    )  # fmt: skip
    operands = make_operands(signature, shape, 1)
    if case.alibi and operands.bias is not None:
        operands = replace(operands, bias=operands.bias[:1])
    if case.softcap:
        operands = replace(operands, softcap=case.softcap)
    count = -(-case.context // case.block)
    table = torch.randperm(count * case.batch, dtype=torch.int32).reshape(case.batch, count)
    caches = []
    for rows in (operands.k, operands.v):
        padded = torch.zeros(case.batch, count * case.block, case.heads_k, case.hdim, dtype=getattr(torch, case.dtype))
        padded[:, : case.context] = tensor(rows, case.dtype)
        cache = torch.empty(count * case.batch, case.block, case.heads_k, case.hdim, dtype=padded.dtype)
        cache[table.long()] = padded.unflatten(1, (count, case.block))
        caches.append(cache if case.layout == "NHD" else cache.transpose(1, 2).contiguous())
    query = tensor(operands.q[:, 0], case.dtype)
    lengths = torch.full((case.batch,), case.context, dtype=torch.int32)
    slopes = None if operands.bias is None else torch.from_numpy(operands.bias[0]).float()
    found = aiter.paged_attention_v1(
        torch.empty_like(query), None, query, caches[0], caches[1], operands.scale, table, None, lengths, case.context,
        slopes, "auto", case.layout, case.softcap, None, None, sliding_window=case.window,
    )  # fmt: skip
    return right(expect(operands).o, found[:, None].double().numpy())


@torch.no_grad()
def run_columns(case: Columns) -> bool:
    """Whether paged_attention_rocm is, over pages that sequences may share; each query sees the whole context."""
    count = case.context // case.block
    shape = FmhaShape(case.batch, case.heads, case.heads_k, case.queries, case.context, case.hdim, case.hdim)
    operands = make_operands(FmhaSignature.of(DType.BF16), shape, 1)
    table = torch.randint(count * case.batch, (case.batch, count), dtype=torch.int32)
    k, v = (torch.randn(count * case.batch, case.block, case.heads_k, case.hdim).bfloat16() for _ in "kv")
    given = {name: one[table.long()].flatten(1, 2).double().numpy() for name, one in (("k", k), ("v", v))}
    query = tensor(operands.q, "bfloat16").flatten(0, 1)
    vectors = k.unflatten(3, (case.hdim // 8, 8)).permute(0, 2, 3, 1, 4).contiguous()
    lengths = torch.full((case.batch,), case.context, dtype=torch.int32)
    found = aiter.paged_attention_rocm(
        torch.empty_like(query), None, None, None, query, vectors, v.permute(0, 2, 3, 1).contiguous(), case.heads_k,
        operands.scale, table, lengths, case.block, case.context, None, "auto", None, None, mtp=case.queries,
    )  # fmt: skip
    return right(expect(replace(operands, **given)).o, found.unflatten(0, (case.batch, -1)).double().numpy())


def made(
    case: Attention | Varlen, shape: FmhaShape, bias: FmhaBias, window: tuple[int, ...], lengths: Lengths | None = None
) -> FmhaOperands:
    """Operands of a case, whose signature has lse."""
    left, right = window
    shape = replace(shape, window_left=left, window_right=0 if case.causal else right)
    masked = case.causal or case.local
    signature = FmhaSignature.of(_TYPES[case.dtype], varlen=lengths is not None, masked=masked, bias=bias, lse=True)
    return make_operands(signature, shape, int(torch.randint(2**31, ())), lengths)


def drawn(operands: FmhaOperands, p_drop: float) -> FmhaOperands:
    """With the dropout that the next call draws of torch's generator, which is set back."""
    if not p_drop:
        return operands
    state = torch.get_rng_state()
    seed = int(torch.randint(2**63 - 1, ()))
    torch.set_rng_state(state)
    return replace(operands, dropout=Dropout(float(np.float32(p_drop)), seed))


def judged(
    operands: FmhaOperands, call: Any, inputs: tuple[Tensor, ...], bias: Tensor | None, starts: list[Tensor] | None
) -> bool:
    """O and lse, and the gradients of what gave them, each element within its bound."""
    state = torch.get_rng_state()  # of which both calls draw what they drop
    with torch.no_grad():
        out, lse = call(True)
    expected = expect(operands)
    of_q, of_k = (starts[0], starts[1]) if starts is not None else (None, None)
    if not right(expected.o, rows(out, of_q, operands.shape.seqlen_q)):
        return False
    each = lse if starts is None else rows(lse.T, of_q, operands.shape.seqlen_q)
    lse_rows = lse.double().numpy() if starts is None else np.moveaxis(each, 1, 2)
    if not expected.excess_of_lse(lse_rows) <= 1:
        return False
    dout = torch.randn(out.shape).to(out.dtype)
    torch.set_rng_state(state)
    call(False).backward(dout)
    q_rows = operands.shape.seqlen_q
    gradients = expect_backward(BackwardOperands(operands, rows(out, of_q, q_rows), lse_rows, rows(dout, of_q, q_rows)))
    wanted = [
        (gradients.dq, inputs[0], of_q, q_rows),
        (gradients.dk, inputs[1], of_k, operands.shape.seqlen_k),
        (gradients.dv, inputs[2], of_k, operands.shape.seqlen_k),
    ]
    fine = all(right(exact, rows(one.grad, of, most)) for exact, one, of, most in wanted)
    if bias is None or gradients.dbias is None:
        return fine
    assert bias.grad is not None
    return fine and right(gradients.dbias, bias.grad.double().numpy()[None, None])


def inputs_of(operands: FmhaOperands, dtype: str) -> tuple[Tensor, ...]:
    """Q, K and V with gradients; of varlen one sequence behind the other."""
    found = []
    for values, each in ((operands.q, operands.lengths.q), (operands.k, operands.lengths.k), (operands.v, None)):
        lengths = each or operands.lengths.k
        if operands.signature.traits.varlen:
            values = np.concatenate([values[b, :n] for b, n in enumerate(lengths)])
        found.append(tensor(values, dtype))
    return tuple(found)


def tensor(values: Any, dtype: str) -> Tensor:
    """Of values that the type holds, with a gradient."""
    return torch.from_numpy(np.ascontiguousarray(values)).to(getattr(torch, dtype)).requires_grad_()


def slopes_of(operands: FmhaOperands) -> Tensor | None:
    """Of alibi, [batch, heads]."""
    if operands.signature.traits.bias is not FmhaBias.ALIBI or operands.bias is None:
        return None
    slopes = np.broadcast_to(operands.bias, (operands.shape.batch, operands.shape.heads_q))
    return torch.from_numpy(np.ascontiguousarray(slopes)).float()


def rows(found: Tensor | None, starts: Tensor | None, most: int) -> Any:
    """[batch, rows, …] in fp64; of varlen with zeros behind a length."""
    assert found is not None
    values = found.detach().double().numpy()
    if starts is None:
        return values
    ends = starts.tolist()
    whole = np.zeros((len(ends) - 1, most, *values.shape[1:]))
    for b in range(len(ends) - 1):
        whole[b, : ends[b + 1] - ends[b]] = values[ends[b] : ends[b + 1]]
    return whole


def right(expected: Expected, found: Any) -> bool:
    """Each element within its bound."""
    return bool(compare(expected, found).ok)
