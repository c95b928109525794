"""K and V of an attention problem in pages, with what must not be read beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckgen.families.fmha.enums import FmhaKv, FmhaKvLayout
from ckgen.families.fmha.operands import FmhaOperands
from ckgen.families.fmha.page_form import PageForm, cache_sizes
from ckgen.families.fmha.pages import block_table, page_list, store_pages

SPARE_PAGES = 3
_NO_PAGE = 2**30


def paged_kv(
    operands: FmhaOperands, dtype: np.dtype[Any], *, head_first: bool, unused: float = np.nan
) -> Mapping[str, Any]:
    """By names of FmhaArgs; rows and pages that nobody has are `unused`, entries of a table behind its pages name none.

    head_first: a linear page is [heads_k, page_size, D], not [page_size, heads_k, D].
    """
    args: dict[str, Any] = _tables(operands)
    layout, size = operands.signature.traits.kv_layout, operands.shape.page_size
    vectors = layout is FmhaKvLayout.VECTORIZED
    for name, rows in (("k", operands.k), ("v", operands.v)):
        heads, columns = rows.shape[2:]
        form = PageForm(size, layout, of_v=name == "v")
        cache = np.full(cache_sizes(operands.shape.pages, heads, columns, dtype.itemsize, form), unused)
        own = [one[:length] for one, length in zip(rows, operands.lengths.k, strict=True)]
        store_pages(own, operands.pages, cache, form)
        args[name] = _flat(cache, dtype, head_first and not vectors)
        row, head = (columns, size * columns) if head_first or vectors else (heads * columns, columns)
        args[f"{name}_strides"] = (row, head, size * heads * columns)
    return args


def behind(args: Mapping[str, Any], pages: int, descales: int) -> dict[str, Any]:
    """The same with so many pages of zeros before, in memory that is not touched, and `descales` of each page."""
    found = dict(args)
    sizes = {name: args[f"{name}_strides"][2] for name in ("k", "v")}
    if descales:
        sizes |= dict.fromkeys(("k_descale", "v_descale"), descales)
    for name, size in sizes.items():
        own = args[name].reshape(-1)
        found[name] = np.zeros(pages * size + own.size, own.dtype)
        found[name][-own.size :] = own
    return found | {name: args[name] + np.int32(pages) for name in ("kv_pages", "block_table") if name in args}


def page_count(lengths: tuple[int, ...], page_size: int) -> int:
    """Pages of a cache for sequences of these lengths, with some that nobody has."""
    return sum(-(-length // page_size) for length in lengths) + SPARE_PAGES


def _tables(operands: FmhaOperands) -> dict[str, Any]:
    lengths, pages = operands.lengths.k, operands.pages
    if operands.signature.traits.kv is FmhaKv.PAGE_LIST:
        found = page_list(pages, lengths, operands.shape.page_size)
        return {"kv_indptr": found.indptr, "kv_pages": found.pages, "kv_last_page": found.last_page}
    table = block_table(pages, max(map(len, pages)) + 1)
    table[table < 0] = _NO_PAGE
    own = np.array(lengths, np.int32)
    return {"block_table": table, "block_table_stride": table.shape[1], "seqlen_k": own}


def _flat(cache: NDArray[Any], dtype: np.dtype[Any], head_first: bool) -> NDArray[Any]:
    ordered = cache.transpose(0, 2, 1, 3) if head_first else cache
    return np.ascontiguousarray(ordered).reshape(-1).astype(np.float32).astype(dtype)
