"""How other libraries split the keys of a batch, as far as their rules are public, as schedules that our kernels run.

Both get the benefit of the doubt: a tile with one chunk writes O directly, chunks that see no key are not started, and
the number of chunks is of the very grid that runs here: a workgroup for each item.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil

import numpy as np

from ckgen.runtime.fmha_split import COMBINE_ITEM, ITEM, FmhaSplitPlan, FmhaSplitProblem, FmhaSplitSizes

_FLASHINFER_LEAST = 128
"""Keys of FlashInfer's shortest chunk."""


def tile_columns(problem: FmhaSplitProblem, q: int, k: int) -> list[tuple[int, int]]:
    """Rows of each query tile of a request, and the columns that its last query sees."""
    group = problem.heads_q // problem.heads_k if problem.merge_heads else 1
    found = []
    for first in range(0, q * group, problem.m0):
        rows = min(problem.m0, q * group - first)
        last = (first + rows - 1) // group
        found.append((rows, max(0, min(k, last + 1 + k - q)) if problem.masked else k))
    return found


def flashinfer(problem: FmhaSplitProblem, q: Sequence[int], k: Sequence[int]) -> FmhaSplitPlan:
    """The smallest chunk of keys whose workgroups are resident at once; at least 128 keys; none where tiles are many.

    Chunks are of the whole keys of a request, whatever a tile sees of them.
    """
    heads = problem.heads_k if problem.workgroup_heads == 1 else 1
    limit = max(problem.cu_num * problem.occupancy // heads, 1)
    tiles = [len(tile_columns(problem, *lengths)) for lengths in zip(q, k, strict=True)]
    low, high = _FLASHINFER_LEAST, max(*k, _FLASHINFER_LEAST)
    if sum(tiles) >= limit:
        low = high
    while low < high:
        middle = (low + high) // 2
        if sum(t * ceil(n / middle) for t, n in zip(tiles, k, strict=True)) > limit:
            low = middle + 1
        else:
            high = middle
    return _chunked(problem, q, k, lambda _: low)


def composable_kernel(problem: FmhaSplitProblem, q: Sequence[int], k: Sequence[int]) -> FmhaSplitPlan:
    """One number of splits for all requests, by how full the last wave is; keys' lengths do not count."""
    heads = problem.heads_k if problem.workgroup_heads == 1 else 1
    blocks = sum(len(tile_columns(problem, *lengths)) for lengths in zip(q, k, strict=True)) * heads
    slots, splits = problem.cu_num * problem.occupancy, 1
    if blocks < 0.8 * slots:
        waves = [blocks * n / slots for n in range(1, min(128, slots) + 1)]
        filled = [w / ceil(w) for w in waves]
        splits = next(n for n, f in enumerate(filled, start=1) if f >= 0.85 * max(filled))
    return _chunked(problem, q, k, lambda keys: ceil(keys / splits))


def _chunked(
    problem: FmhaSplitProblem, q: Sequence[int], k: Sequence[int], chunk_of: Callable[[int], int]
) -> FmhaSplitPlan:
    """Requests in their order; chunks are whole tiles of n0."""
    items, combines, splits, starts, partial = [], [], [], [0], 0
    for request, (queries, keys) in enumerate(zip(q, k, strict=True)):
        chunk = max(ceil(chunk_of(keys) / problem.n0) * problem.n0, problem.n0)
        most = 0
        for tile, (rows, columns) in enumerate(tile_columns(problem, queries, keys)):
            begins = range(0, max(columns, 1), chunk)
            cut, most = len(begins) > 1, max(most, len(begins))
            for split, begin in enumerate(begins):
                row = partial + split * rows if cut else -1
                items.append((request, tile, split, len(begins), begin, min(begin + chunk, columns), row))
            if cut:
                combines.append((request, tile, len(begins), rows, partial))
                partial += len(begins) * rows
        splits.append(most)
        starts.append(partial)
    sizes = FmhaSplitSizes(len(items), len(combines), partial, max(splits, default=1), problem.heads_k)
    arrays = np.array(items, ITEM), np.array(combines, COMBINE_ITEM)
    return FmhaSplitPlan(sizes, *arrays, np.array(splits, np.int32), np.array(starts, np.int64))
