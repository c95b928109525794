"""Attention, registered with torch.library: forward, its gradients, and what both give without running.

`torch.ops.ckgen.attention` and `attention_backward`; arguments mean what the methods of `ckgen.Library` say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ckgen.model.errors import UsageError
from ckgen.torch.ops import result_type
from ckgen.torch.register import register
from ckgen.torch.state import current

_TENSORS = 9
"""Of the arguments of forward, the first are tensors."""


def _attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    bias: Tensor | None,
    sink: Tensor | None,
    seqstart_q: Tensor | None,
    seqstart_k: Tensor | None,
    seqlen_k: Tensor | None,
    block_table: Tensor | None,
    scale: float | None,
    causal: bool,
    window: Sequence[int] | None,
    softcap: float,
    max_q: int,
    max_k: int,
    with_lse: bool,
    dropout: float,
    seed: int,
    offset: int,
) -> tuple[Tensor, Tensor]:
    found = current().attention(
        q,
        k,
        v,
        bias=bias,
        sink=sink,
        seqstart_q=seqstart_q,
        seqstart_k=seqstart_k,
        seqlen_k=seqlen_k,
        block_table=block_table,
        scale=scale,
        causal=causal,
        window=_pair(window),
        softcap=softcap,
        max_q=max_q,
        max_k=max_k,
        with_lse=with_lse,
        dropout=dropout,
        seed=seed % 2**64,
        offset=offset % 2**64,
    )
    return (found[0], found[1]) if with_lse else (found, q.new_empty(0, dtype=torch.float32))


def _attention_shape(
    q: Tensor, v: Tensor, seqstart_q: Tensor | None, block_table: Tensor | None, with_lse: bool
) -> tuple[Tensor, Tensor]:
    has_vectors = block_table is not None and v.dim() == 5
    out = q.new_empty((*q.shape[:-1], v.shape[3 if has_vectors else -1]), dtype=result_type(q, None, None))
    rows: tuple[int, ...] = (0,)
    if with_lse:
        rows = (q.shape[1], q.shape[0]) if seqstart_q is not None else (q.shape[0], q.shape[2], q.shape[1])
    return out, q.new_empty(rows, dtype=torch.float32)


def _backward(
    dout: Tensor,
    q: Tensor,
    k: Tensor,
    v: Tensor,
    out: Tensor,
    lse: Tensor,
    bias: Tensor | None,
    sink: Tensor | None,
    seqstart_q: Tensor | None,
    seqstart_k: Tensor | None,
    scale: float | None,
    causal: bool,
    window: Sequence[int] | None,
    softcap: float,
    max_q: int,
    max_k: int,
    dropout: float,
    seed: int,
    offset: int,
    with_dbias: bool,
    with_dsink: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    dq, dk, dv, dbias, dsink = current().attention_backward(
        dout,
        q,
        k,
        v,
        out,
        lse,
        bias=bias,
        sink=sink,
        seqstart_q=seqstart_q,
        seqstart_k=seqstart_k,
        scale=scale,
        causal=causal,
        window=_pair(window),
        softcap=softcap,
        max_q=max_q,
        max_k=max_k,
        dropout=dropout,
        seed=seed % 2**64,
        offset=offset % 2**64,
        with_dbias=with_dbias,
        with_dsink=with_dsink,
    )
    nothing = (q.new_empty(0), q.new_empty(0, dtype=torch.float32))
    return dq, dk, dv, dbias if with_dbias else nothing[0], dsink if with_dsink else nothing[1]


def _backward_shape(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    bias: Tensor | None,
    sink: Tensor | None,
    with_dbias: bool,
    with_dsink: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    dbias = q.new_empty(bias.shape if with_dbias and bias is not None else (0,))
    dsink = q.new_empty(sink.shape if with_dsink and sink is not None else (0,), dtype=torch.float32)
    return q.new_empty(q.shape), k.new_empty(k.shape), v.new_empty(v.shape), dbias, dsink


def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    ctx.save_for_backward(*inputs[:_TENSORS], *output)
    ctx.said = inputs[_TENSORS:]
    ctx.set_materialize_grads(False)


def _gradients(ctx: Any, dout: Tensor | None, dlse: Tensor | None) -> tuple[Any, ...]:
    q, k, v, bias, sink, seqstart_q, seqstart_k, seqlen_k, block_table, out, lse = ctx.saved_tensors
    scale, causal, window, softcap, max_q, max_k, with_lse, dropout, seed, offset = ctx.said
    none = (None,) * (_TENSORS - 5 + len(ctx.said))
    if dlse is not None:
        raise UsageError("ckgen::attention has no gradient through lse: use its result alone in what is differentiated")
    if dout is None:
        return (*(None,) * 5, *none)
    if not with_lse:
        raise UsageError("ckgen::attention's backward reads lse: call ckgen.torch.attention, or say with_lse")
    if seqlen_k is not None or block_table is not None:
        raise UsageError("ckgen::attention has no backward through pages and lengths beside the sizes")
    needs_bias, needs_sink = ctx.needs_input_grad[3:5]
    if needs_bias and bias.dim() < 3:
        raise UsageError("ckgen::attention has no gradient by alibi's slopes")
    tensors = (dout.contiguous(), q, k, v, out, lse, bias, sink, seqstart_q, seqstart_k)
    said = (scale, causal, window, softcap, max_q, max_k, dropout, seed, offset, needs_bias, needs_sink)
    dq, dk, dv, dbias, dsink = _BACKWARD(*tensors, *said)
    return dq, dk, dv, dbias if needs_bias else None, dsink if needs_sink else None, *none


def _pair(window: Sequence[int] | None) -> tuple[int, int] | None:
    return None if window is None else (window[0], window[1])


_ATTENTION = register("attention", _attention, _attention_shape, _gradients, _keep)
_BACKWARD = register("attention_backward", _backward, _backward_shape)


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    bias: Tensor | None = None,
    sink: Tensor | None = None,
    seqstart_q: Tensor | None = None,
    seqstart_k: Tensor | None = None,
    seqlen_k: Tensor | None = None,
    block_table: Tensor | None = None,
    scale: float | None = None,
    causal: bool = False,
    window: tuple[int, int] | None = None,
    softcap: float = 0.0,
    max_q: int = 0,
    max_k: int = 0,
    with_lse: bool = False,
    dropout: float = 0.0,
    seed: int = 0,
    offset: int = 0,
) -> Tensor | tuple[Tensor, Tensor]:
    """softmax(scale · q kᵀ) v: `ckgen.Library.attention` for torch.compile and autograd; (out, lse) with `with_lse`.

    Gradients, on CPUs: of q, k, v, a bias of elements and sink, but for pages; none goes through lse. They ask the
    library for attention with lse, and for its backward. Dropout drops the same elements both ways, by seed and offset.
    """
    indices = (seqstart_q, seqstart_k, seqlen_k, block_table)
    differentiable = [one for one in (q, k, v, bias, sink) if one is not None]
    keeps_lse = with_lse or dropout > 0 or (torch.is_grad_enabled() and any(x.requires_grad for x in differentiable))
    if dropout > 0 and window is None and not causal:
        window = (-1, -1)  # kernels with dropout have a mask and lse
    drawn = (dropout, *(one - 2**64 if one >= 2**63 else one for one in (seed, offset)))  # torch has no unsigned ones
    out, lse = _ATTENTION(
        q, k, v, bias, sink, *indices, scale, causal, window, softcap, max_q, max_k, keeps_lse, *drawn
    )  # fmt: skip
    return (out, lse) if with_lse else out
