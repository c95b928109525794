"""Sizes of an attention case, and where each sequence's rows begin."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from ckgen.families.fmha.append_problem import appends, rotated_rows
from ckgen.families.fmha.enums import FmhaBias, FmhaDropout, FmhaRope
from ckgen.families.fmha.operands import Lengths
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.fuzz.case import Case
from ckgen.model.fmha_shape import FmhaShape

_MOST = 2**63 - 1
_SPARE_PAGES = 3
_MOST_SEQUENCES = 1 << 20
"""More are never run."""


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of all sequences of one side. Of varlen `starts` says where each begins, and where the last one's room ends;
    else each of the batch has `pitch` of them."""

    pitch: int
    starts: tuple[int, ...] = ()

    @property
    def total(self) -> int:
        """Behind one another in one batch entry."""
        return self.starts[-1] if self.starts else self.pitch


def shape_of(signature: FmhaSignature, case: Case) -> FmhaShape:
    """M and N are the lengths, K is hdim_q; total_q is what the lengths take."""
    if appends(signature.traits):
        return append_shape(signature, case)
    shape = FmhaShape(
        case.batch, case.heads_q, case.heads_k, case.m, case.n, case.k, case.hdim_v, case.corner, case.window_left,
        case.window_right, case.sink_tokens,
    )  # fmt: skip
    shape = _with_pages(signature, case, shape)
    if not signature.traits.varlen or not are_drawn(case):
        return shape
    found = lengths_of(signature, case)
    total = sum(found.q) + case.spare * len(found.q)
    return replace(shape, total_q=total, gaps_q=case.spare > 0)


def lengths_of(signature: FmhaSignature, case: Case) -> Lengths:
    """What counts of each sequence: random where the signature, or the case, lets sequences differ."""
    random = Random(case.seed)
    longest = random.randrange(max(case.batch, 1))

    def drawn(most: int) -> tuple[int, ...]:
        some = (min(random.choice((0, 1, most, random.randint(0, most))), most) for _ in range(case.batch))
        return tuple(most if index == longest else one for index, one in enumerate(some))

    of_q, of_k = drawn(case.m), drawn(case.n)
    varlen = signature.traits.varlen
    own_k = varlen or case.own_lengths or signature.traits.is_paged
    return Lengths(of_q if varlen else (case.m,) * case.batch, of_k if own_k else (case.n,) * case.batch)


def rows_of(signature: FmhaSignature, case: Case, lengths: tuple[int, ...], most: int) -> Rows:
    """Of a small case; `spare` rows stand behind each sequence of varlen."""
    if not signature.traits.varlen:
        return Rows(most)
    starts = [0]
    for length in lengths:
        starts.append(starts[-1] + length + case.spare)
    return Rows(most, tuple(starts))


def dense_refusal(signature: FmhaSignature, shape: FmhaShape) -> str:
    """Why no plan is made of a legal problem: a tensor without gaps that 64-bit integers cannot count."""
    for name, bits, (inner, *axes) in _tensors(signature, shape):
        elements = inner
        for axis in axes:
            elements *= max(axis, 1)
        if elements > _MOST or elements * bits > _MOST:
            return f"{name} has more bits than 64-bit integers count"
    return ""


_Tensors = list[tuple[str, int, tuple[int, ...]]]


def _tensors(signature: FmhaSignature, shape: FmhaShape) -> _Tensors:
    """As C++ asks them, one by one; gradients have the sizes of what they are of."""
    return _append_tensors(signature, shape) if appends(signature.traits) else _forward_tensors(signature, shape)


def _forward_tensors(signature: FmhaSignature, shape: FmhaShape) -> _Tensors:
    """Name, bits of an element, and sizes."""
    traits = signature.traits
    queries, keys, batch = shape.seqlen_q, shape.seqlen_k, shape.batch
    if traits.varlen:
        queries, keys, batch = shape.total_q or batch * queries, batch * keys, 1
    of_v = (shape.seqlen_k, shape.hdim_v) if traits.v_column else (shape.hdim_v, keys)
    of_k: tuple[int, ...] = (shape.hdim_q, keys, shape.heads_k, batch)
    if traits.is_paged:
        of_k = (shape.hdim_q, shape.page_size, shape.heads_k, shape.pages)
        of_v = (shape.hdim_v, shape.page_size)
    tensors: list[tuple[str, int, tuple[int, ...]]] = [
        ("Q", signature.a.bits, (shape.hdim_q, queries, shape.heads_q, batch)),
        ("K", signature.b.bits, of_k),
        ("V", signature.b.bits, (*of_v, *of_k[2:])),
        ("O", signature.c.bits, (shape.hdim_v, queries, shape.heads_q, batch)),
        ("lse", 32, (queries, 1, shape.heads_q, batch)),
    ]
    plane = (shape.seqlen_k, queries, shape.heads_q, batch)
    if traits.bias is FmhaBias.ELEMENTWISE:
        tensors.append(("bias", signature.a.bits, plane))
    if traits.dropout is FmhaDropout.RANDVAL:
        tensors.append(("rand_val", 8, plane))
    return tensors


def _append_tensors(signature: FmhaSignature, shape: FmhaShape) -> _Tensors:
    traits, of_q = signature.traits, signature.a.bits
    rows, added, batch, keys = rotated_rows(traits, shape), shape.seqlen_new, shape.batch, shape.seqlen_k
    if traits.varlen:
        total = shape.total_q or batch * added
        rows, added, batch, keys = total if rows else 0, total if added else 0, 1, batch * keys
    found: _Tensors = []
    if rows:
        plane = (shape.hdim_q, rows, shape.heads_q, batch)
        found += [("Q", of_q, plane), ("O", signature.c.bits, plane)]
    if not shape.seqlen_new:
        return found
    for name, hdim in (("K", shape.hdim_q), ("V", shape.hdim_v)):
        cache = (hdim, shape.page_size, shape.heads_k, shape.pages)
        if not traits.is_paged:
            is_column = traits.v_column and name == "V"
            cache = (shape.seqlen_k, hdim, shape.heads_k, batch) if is_column else (hdim, keys, shape.heads_k, batch)
        found.append((f"the cache of {name}", signature.b.bits, cache))
    for name, hdim in (("k_new", shape.hdim_q), ("v_new", shape.hdim_v)):
        found.append((name, of_q, (hdim, added, shape.heads_k, batch)))
    return found


def _with_pages(signature: FmhaSignature, case: Case, shape: FmhaShape) -> FmhaShape:
    """With as many pages as the longest sequence takes in each batch entry, and some more, where KV has pages."""
    if not signature.traits.is_paged:
        return shape
    pages = max(case.batch, 0) * -(-case.n // max(case.page_size, 1)) + _SPARE_PAGES
    return replace(shape, page_size=case.page_size, pages=min(pages, 2**31 - 1) if pages > 0 else 0)


def append_shape(signature: FmhaSignature, case: Case) -> FmhaShape:
    """As shape_of: N is the room of each sequence."""
    shape = FmhaShape(
        case.batch, case.heads_q, case.heads_k, case.m, case.n, case.k, case.hdim_v, seqlen_new=case.new,
        rotary_dim=case.rotary_dim,
    )  # fmt: skip
    shape = _with_pages(signature, case, shape)
    if not signature.traits.varlen or not are_drawn(case):
        return shape
    _, added = append_lengths(signature, case)
    return replace(shape, total_q=sum(added) + case.spare * len(added), gaps_q=case.spare > 0)


def append_lengths(signature: FmhaSignature, case: Case) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Rows of each sequence before, and new ones; they fit."""
    random = Random(case.seed)
    longest = random.randrange(max(case.batch, 1))
    added, before = [], []
    for b in range(case.batch):
        drawn = min(random.choice((0, 1, case.new, random.randint(0, max(case.new, 0)))), case.new)
        added.append(drawn if signature.traits.varlen and b != longest else case.new)
        rotated = case.m if not signature.traits.varlen and signature.traits.rope is not FmhaRope.NONE else 0
        room = max(case.n - max(added[-1], rotated), 0)
        before.append(random.choice((0, room, random.randint(0, room), random.randint(0, room))))
    return tuple(before), tuple(added)


def are_drawn(case: Case) -> bool:
    """Whether there are so few sequences, of lengths so small, that each can have its own."""
    return 0 < case.batch <= _MOST_SEQUENCES and 0 <= case.m < 2**31 and 0 <= case.n < 2**31 and 0 <= case.new < 2**31
