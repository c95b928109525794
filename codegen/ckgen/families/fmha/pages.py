"""K and V in pages, as `ckgen/fmha.hpp` lays them out, and the lists that say which pages are whose."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ckgen.families.common.storage import Storage
from ckgen.families.fmha.enums import FmhaKvLayout
from ckgen.families.fmha.page_form import PageForm

Pages = Sequence[Sequence[int]]
Integers = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class PageList:
    """Sequence b has pages kv_pages[kv_indptr[b]] .. kv_pages[kv_indptr[b + 1] - 1], the last with that many rows."""

    indptr: Integers
    pages: Integers
    last_page: Integers


def store_pages(rows: Storage | Sequence[Storage], pages: Pages, cache: Storage, form: PageForm) -> None:
    """Writes rows, [batch, length, heads_k, D], into a cache with the axes of `cache_sizes`.

    A sequence's row j goes to row j % page_size of its page j / page_size; rows that it has no page for are left out.
    """
    for of_sequence, numbers in zip(rows, pages, strict=True):
        for place, page in enumerate(numbers):
            part = of_sequence[place * form.page_size : (place + 1) * form.page_size]
            whole = _rows_of(cache[page], form)
            whole[: len(part)] = part
            cache[page] = _page_of(whole, cache.shape[1:], form)


def read_pages(cache: Storage, pages: Pages, form: PageForm) -> list[Storage]:
    """The rows of each sequence, [its pages * page_size, heads_k, D]."""
    heads, dims = _rows_of(cache[0], form).shape[1:]
    empty = np.zeros((0, heads, dims), cache.dtype)
    return [np.concatenate([empty, *(_rows_of(cache[page], form) for page in numbers)]) for numbers in pages]


def block_table(pages: Pages, stride: int = 0) -> Integers:
    """[batch, stride]: each sequence's pages; what is behind them names no page."""
    width = max(stride, *(len(numbers) for numbers in pages), 0)
    table = np.full((len(pages), width), -1, np.int32)
    for row, numbers in zip(table, pages, strict=True):
        row[: len(numbers)] = numbers
    return table


def page_list(pages: Pages, lengths: Sequence[int], page_size: int) -> PageList:
    """The same as one list; a sequence without rows has no page and a last page of 0 rows."""
    counts = [len(numbers) for numbers in pages]
    last = [length - max(count - 1, 0) * page_size for length, count in zip(lengths, counts, strict=True)]
    return PageList(
        np.cumsum([0, *counts]).astype(np.int32),
        np.array([page for numbers in pages for page in numbers], np.int32),
        np.array(last, np.int32),
    )


def _rows_of(page: Storage, form: PageForm) -> Storage:
    """A page as [page_size, heads_k, D]; a copy."""
    if form.layout is FmhaKvLayout.LINEAR:
        return page.copy()
    # K [heads, D / vec, page, vec], V [heads, page / vec, D, vec].
    axes = (1, 3, 0, 2) if form.of_v else (2, 0, 1, 3)
    return np.ascontiguousarray(page.transpose(axes)).reshape(form.page_size, page.shape[0], -1)


def _page_of(rows: Storage, sizes: tuple[int, ...], form: PageForm) -> Storage:
    """The inverse."""
    if form.layout is FmhaKvLayout.LINEAR:
        return rows
    heads, outer, inner, vector = sizes
    if form.of_v:
        return rows.reshape(outer, vector, heads, inner).transpose(2, 0, 3, 1)
    return rows.reshape(inner, heads, outer, vector).transpose(1, 2, 0, 3)
