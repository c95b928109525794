"""Exact values of one problem that appends to a cache, and what must come out, sequence by sequence."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ckgen.families.common.comparison import Expected
from ckgen.families.common.storage import Values, decode, encode
from ckgen.families.fmha.append import Rotary, make_rotary, rotate, stored
from ckgen.families.fmha.enums import FmhaQuant, FmhaRope
from ckgen.families.fmha.page_form import PageForm, cache_sizes
from ckgen.families.fmha.pages import store_pages
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.model.fmha_shape import FmhaShape

Integers = np.ndarray[tuple[int, ...], np.dtype[np.int64]]
NOT_NEW = -1


@dataclass(frozen=True, slots=True)
class AppendOperands:
    """Per sequence `before` rows in the cache and `added` new ones; `rotated` rows of Q.

    q [batch, seqlen_q, heads_q, hdim_q], k_new and v_new [batch, seqlen_new, heads_k, hdim_q and hdim_v]; rows behind a
    sequence's own do not count. Descales are [1], or of pages [pages, heads_k]. pages: page numbers of each sequence,
    for its rows with the new ones. is_exact: the data are those of `exact_append_operands`.
    """

    signature: FmhaSignature
    shape: FmhaShape
    before: tuple[int, ...]
    added: tuple[int, ...]
    rotated: tuple[int, ...]
    q: Values
    k_new: Values
    v_new: Values
    rotary: Rotary | None = None
    k_descale: Values | None = None
    v_descale: Values | None = None
    pages: tuple[tuple[int, ...], ...] = ()
    is_exact: bool = False

    @property
    def after(self) -> tuple[int, ...]:
        """Rows of each sequence in the cache, with the new ones."""
        return tuple(old + new for old, new in zip(self.before, self.added, strict=True))


@dataclass(frozen=True, slots=True)
class Appended:
    """What the rows of q, k_new and v_new become; rows that do not count may be anything."""

    q: Expected
    k: Expected
    v: Expected


def make_append_operands(
    signature: FmhaSignature, shape: FmhaShape, seed: int, before: tuple[int, ...], added: tuple[int, ...]
) -> AppendOperands:
    """Mixed-sign rows that their type holds exactly, descales near one, and pages in a random order.

    A batch's sequences all add the shape's seqlen_new; of varlen, rows of Q are as many as new ones, or none.
    """
    random, traits = np.random.default_rng(seed), signature.traits

    def values(*sizes: int) -> Values:
        return decode(encode(random.uniform(-2.0, 2.0, sizes), signature.a))

    batch, rows = shape.batch, shape.seqlen_q if traits.rope is not FmhaRope.NONE else 0
    of_new = (batch, shape.seqlen_new, shape.heads_k)
    found = AppendOperands(
        signature,
        shape,
        before,
        added,
        (rows,) * batch if not traits.varlen else tuple(one if rows else 0 for one in added),
        values(batch, rows, shape.heads_q, shape.hdim_q),
        values(*of_new, shape.hdim_q),
        values(*of_new, shape.hdim_v),
    )
    if traits.rope is not FmhaRope.NONE:
        found = replace(found, rotary=_rotary(signature, shape))
    if traits.quant is not FmhaQuant.NONE:
        sizes = (1,) if traits.quant is FmhaQuant.PER_TENSOR else (shape.pages, shape.heads_k)
        of_k, of_v = (random.uniform(0.25, 1.5, sizes).astype(np.float32).astype(np.float64) for _ in range(2))
        found = replace(found, k_descale=of_k, v_descale=of_v)
    if not traits.is_paged:
        return found
    order = [int(page) for page in random.permutation(shape.pages)]
    counts = [-(-length // shape.page_size) for length in found.after]
    starts = np.cumsum([0, *counts])
    pages = tuple(tuple(order[first : first + count]) for first, count in zip(starts, counts, strict=False))
    return replace(found, pages=pages)


def appended(operands: AppendOperands) -> Appended:
    """By the definition in `ckgen/fmha.hpp`; of exact data to the last bit."""
    q, k, v = (_nothing(x) for x in (operands.q, operands.k_new, operands.v_new))
    of, to = operands.signature.a, operands.signature.b
    for b, first in enumerate(operands.before):
        rows = slice(0, operands.rotated[b])
        if operands.rotary is not None:
            _put(q, b, rotate(operands.q[b, rows], first, operands.rotary, operands.signature.c))
        rows = slice(0, operands.added[b])
        of_k, of_v = (_descales(operands, b, one) for one in (operands.k_descale, operands.v_descale))
        _put(k, b, stored(operands.k_new[b, rows], first, operands.rotary, of_k, of, to))
        _put(v, b, stored(operands.v_new[b, rows], first, None, of_v, of, to))
    return Appended(*(_only(one) for one in (q, k, v))) if operands.is_exact else Appended(q, k, v)


def new_elements(operands: AppendOperands, dims: int) -> Integers:
    """[batch, seqlen_k, heads_k, dims]: the place of a new element of K or V among all of k_new's or v_new's, else
    NOT_NEW."""
    shape = operands.shape
    sizes = (shape.batch, shape.seqlen_new, shape.heads_k, dims)
    places = np.arange(np.prod(sizes)).reshape(sizes)
    found = np.full((shape.batch, shape.seqlen_k, shape.heads_k, dims), NOT_NEW)
    for b, (first, count) in enumerate(zip(operands.before, operands.added, strict=True)):
        found[b, first : first + count] = places[b, :count]
    return found


def paged_elements(operands: AppendOperands, dims: int, *, of_v: bool) -> Integers:
    """The same in the axes of a cache in pages."""
    shape, layout = operands.shape, operands.signature.traits.kv_layout
    form = PageForm(shape.page_size, layout, of_v)
    sizes = cache_sizes(shape.pages, shape.heads_k, dims, operands.signature.b.bits // 8, form)
    found = np.full(sizes, NOT_NEW)
    rows = [of[:length] for of, length in zip(new_elements(operands, dims), operands.after, strict=True)]
    store_pages(rows, operands.pages, found, form)
    return found


def _rotary(signature: FmhaSignature, shape: FmhaShape) -> Rotary:
    """Cosines and sines that the type of Q holds."""
    exact = make_rotary(signature.traits.rope, shape.seqlen_k, shape.rotary_dim)
    cos, sin = (decode(encode(table, signature.a)) for table in (exact.cos, exact.sin))
    return replace(exact, cos=cos, sin=sin)


def _descales(operands: AppendOperands, b: int, scales: Values | None) -> Values | None:
    """Those of each new row of a sequence, to broadcast with [rows, heads, D]."""
    if scales is None or operands.signature.traits.quant is FmhaQuant.PER_TENSOR:
        return scales
    positions = operands.before[b] + np.arange(operands.added[b])
    pages = np.array(operands.pages[b], np.int64)[positions // operands.shape.page_size]
    found: Values = scales[pages][..., None]
    return found


def _nothing(x: Values) -> Expected:
    return Expected(np.zeros_like(x), np.full_like(x, np.inf))


def _only(of: Expected) -> Expected:
    """Where elements count, equality."""
    return Expected(of.c, np.where(np.isfinite(of.bound), 0.0, of.bound))


def _put(into: Expected, b: int, rows: Expected) -> None:
    into.c[b, : len(rows.c)], into.bound[b, : len(rows.c)] = rows.c, rows.bound
