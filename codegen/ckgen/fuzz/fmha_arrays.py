"""What attention is given beside its tensors, by names of FmhaArgs: small arrays in guarded memory, and numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from ckgen.families.elements import Storage
from ckgen.families.fmha.enums import FmhaBias, FmhaKv
from ckgen.families.fmha.operands import FmhaOperands
from ckgen.families.fmha.pages import block_table, page_list
from ckgen.fuzz.arguments import UNREAD, raw
from ckgen.fuzz.case import Case
from ckgen.fuzz.fmha_schedule import FmhaSchedule
from ckgen.fuzz.fmha_sizes import Rows
from ckgen.fuzz.memory import Matrix, plain
from ckgen.runtime.fmha import FmhaStridesStruct
from ckgen.runtime.fmha_split import FmhaSplitPlanner

_NO_PADDING = 0x01
"""Beside a schedule lies what no request is: other items might pass for padding."""


def small_arrays(operands: FmhaOperands, case: Case, of_q: Rows, of_k: Rows) -> dict[str, Matrix]:
    """What tells of heads and sequences: factors, lengths, pages."""
    found = _per_head(operands) | _lengths(operands, case, of_q, of_k) | _pages(operands)
    return {name: plain(raw(np.ascontiguousarray(values).reshape(-1)), UNREAD) for name, values in found.items()}


def schedule_arrays(schedule: FmhaSchedule | None, planner: FmhaSplitPlanner) -> dict[str, Matrix]:
    """Items and what is combined; empty ones are not given."""
    if schedule is None:
        return {}
    made = schedule.plan(planner)
    found = {"split_items": made.items, "split_combines": made.combine_items}
    return {name: plain(raw(items), _NO_PADDING) for name, items in found.items() if len(items)}


def _per_head(operands: FmhaOperands) -> dict[str, Storage]:
    single = np.dtype(np.float32)
    found: dict[str, Storage] = {}
    for name in ("q", "k", "v"):
        scales = getattr(operands.descales, name)
        if scales is not None:
            found[f"{name}_descale"] = scales.astype(single)
    if operands.sink is not None:
        found["sink"] = operands.sink.astype(single)
    if operands.signature.traits.bias is FmhaBias.ALIBI and operands.bias is not None:
        found["bias"] = operands.bias.astype(single)
    return found


def _lengths(operands: FmhaOperands, case: Case, of_q: Rows, of_k: Rows) -> dict[str, Storage]:
    lengths, paged = operands.lengths, operands.signature.traits.is_paged
    found: dict[str, Storage] = {}
    if of_q.starts:
        found["seqstart_q"] = np.array(of_q.starts, np.int32)
        if case.spare:
            found["seqlen_q"] = np.array(lengths.q, np.int32)
        if not paged:
            found["seqstart_k"] = np.array(of_k.starts, np.int32)
    if not paged and (case.spare if of_q.starts else case.own_lengths):
        found["seqlen_k"] = np.array(lengths.k, np.int32)
    return found


def _pages(operands: FmhaOperands) -> dict[str, Storage]:
    """Which pages are whose."""
    lengths, pages = operands.lengths.k, operands.pages
    match operands.signature.traits.kv:
        case FmhaKv.BLOCK_TABLE:
            return {"block_table": block_table(pages, _most_pages(operands)), "seqlen_k": np.array(lengths, np.int32)}
        case FmhaKv.PAGE_LIST:
            found = page_list(pages, lengths, operands.shape.page_size)
            return {"kv_indptr": found.indptr, "kv_pages": found.pages, "kv_last_page": found.last_page}
    return {}


def _most_pages(operands: FmhaOperands) -> int:
    """Of one sequence."""
    return -(-operands.shape.seqlen_k // operands.shape.page_size)


def numbers(operands: FmhaOperands) -> dict[str, Any]:
    """What FmhaArgs has beside tensors and their strides."""
    found: dict[str, Any] = {"scale": operands.scale, "softcap": operands.softcap}
    if operands.signature.traits.bias is FmhaBias.ALIBI and operands.bias is not None:
        shared = operands.bias.shape[0] == 1
        found["bias_strides"] = FmhaStridesStruct(0, 1, 0 if shared else operands.shape.heads_q)
    if operands.signature.traits.kv is FmhaKv.BLOCK_TABLE:
        found["block_table_stride"] = _most_pages(operands)
    if operands.dropout is not None:
        dropout = operands.dropout
        found |= {"p_drop": dropout.p_drop, "seed": dropout.seed, "offset": dropout.offset}
    return found
