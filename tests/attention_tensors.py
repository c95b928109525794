"""Operands of attention's definition as the tensors of a call."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ckgen.families.common.storage import encode
from ckgen.families.fmha.operands import FmhaOperands
from ckgen.families.fmha.page_form import PageForm, cache_sizes
from ckgen.families.fmha.pages import block_table, store_pages


def attention_tensors(operands: FmhaOperands) -> dict[str, Any]:
    """The tensors and numbers of a call."""
    signature, lengths = operands.signature, operands.lengths
    traits = signature.traits
    q, k, v = (encode(one, signature.a) for one in (operands.q, operands.k, operands.v))
    given: dict[str, Any] = {"q": q, "k": k, "v": v, "scale": operands.scale}
    if traits.varlen:
        given["q"] = np.concatenate([q[b, :n] for b, n in enumerate(lengths.q)])
        for name, rows in (("k", k), ("v", v)):
            given[name] = np.concatenate([rows[b, :n] for b, n in enumerate(lengths.k)])
        for name, each in (("seqstart_q", lengths.q), ("seqstart_k", lengths.k)):
            given[name] = np.cumsum([0, *each]).astype(np.int32)
        given |= {"max_q": operands.shape.seqlen_q, "max_k": operands.shape.seqlen_k}
    if traits.is_paged:
        shape = operands.shape
        for name, rows in (("k", k), ("v", v)):
            form = PageForm(shape.page_size, traits.kv_layout, of_v=name == "v")
            sizes = cache_sizes(shape.pages, shape.heads_k, rows.shape[-1], rows.itemsize, form)
            given[name] = np.zeros(sizes, rows.dtype)
            store_pages(rows, operands.pages, given[name], form)
        table = np.maximum(block_table(operands.pages), 0)
        given |= {"block_table": table, "seqlen_k": np.asarray(lengths.k, np.int32), "max_k": shape.seqlen_k}
    if operands.bias is not None:
        is_alibi = operands.bias.ndim == 2
        bias = operands.bias.astype(np.float32) if is_alibi else encode(operands.bias, signature.a)
        given["bias"] = np.ascontiguousarray(
            np.broadcast_to(bias, (operands.shape.batch, bias.shape[1])) if is_alibi else bias
        )
    if operands.sink is not None:
        given["sink"] = operands.sink.astype(np.float32)
    if operands.dropout is not None:
        given |= {name: getattr(operands.dropout, name) for name in ("seed", "offset")}
        given["dropout"] = operands.dropout.p_drop
    return given | ({"softcap": operands.softcap} if operands.softcap else {})


def rows_of(values: Any, ends: Any) -> Any:
    """[batch, rows, …] of what lies one after the other; zeros behind a length."""
    found = np.zeros((len(ends) - 1, int(np.diff(ends).max()), *values.shape[1:]))
    for b, (first, last) in enumerate(pairwise(ends)):
        found[b, : last - first] = values[first:last].astype(np.float64)
    return found
