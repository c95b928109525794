"""How other libraries split the keys of a batch, as far as their rules are public; each returns workgroups in order.

Both are given the benefit of the doubt: a tile with one chunk writes its output directly, and workgroups of a padded
grid that have nothing to do cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil

from fmha_split_model import Model, tiles_of

Workgroups = Iterator[tuple[int, int]]


@dataclass(frozen=True)
class Batch:
    """Lengths of queries and keys per request, causal."""

    queries: tuple[int, ...]
    keys: tuple[int, ...]
    heads_q: int
    heads_k: int

    @property
    def group(self) -> int:
        """Query heads that are rows of a tile."""
        return self.heads_q // self.heads_k

    def tiles(self, m0: int) -> list[list[int]]:
        """Columns of each tile of each request."""
        return [tiles_of(q, k, self.group, m0) for q, k in zip(self.queries, self.keys, strict=True)]


@dataclass(frozen=True)
class Device:
    """Compute units, and workgroups that each holds."""

    cu_num: int
    occupancy: int

    @property
    def slots(self) -> int:
        """Workgroups at a time."""
        return self.cu_num * self.occupancy


def unsplit(model: Model, batch: Batch, device: Device) -> Workgroups:
    """A workgroup per tile and head, request by request."""
    del device
    costs = [model.cost(columns, partial=False) for tiles in batch.tiles(model.m0) for columns in tiles]
    return ((cost, 1) for _ in range(batch.heads_k) for cost in costs)


def flashinfer(model: Model, batch: Batch, device: Device, page: int) -> Workgroups:
    """The smallest chunk of keys whose workgroups are resident at once; at least 128 keys; none where tiles are many.

    Chunks are of the whole keys of a request, whatever a tile sees of them.
    """
    limit = max(device.slots // batch.heads_k, 1)
    tiles = batch.tiles(model.m0)
    pages = [ceil(k / page) for k in batch.keys]
    low, high = max(128 // page, 1), max(*pages, 1)
    if sum(map(len, tiles)) >= limit:
        low = high
    while low < high:
        middle = (low + high) // 2
        if sum(len(t) * ceil(n / middle) for t, n in zip(tiles, pages, strict=True)) > limit:
            low = middle + 1
        else:
            high = middle
    return _chunked(model, batch, tiles, lambda _: low * page)


def composable_kernel(model: Model, batch: Batch, device: Device) -> Workgroups:
    """One number of splits for all requests, by how full the last wave is; keys' lengths do not count."""
    most = max(batch.queries)
    decode = most == 1 and batch.group > 1
    heads, rows = (batch.heads_k, batch.group) if decode else (batch.heads_q, most)
    blocks, sms = len(batch.queries) * heads * ceil(rows / 64), 2 * device.cu_num
    splits = 1
    if blocks < 0.8 * sms:
        waves = [blocks * n / sms for n in range(1, min(128, sms) + 1)]
        filled = [w / ceil(w) for w in waves]
        splits = next(n for n, f in enumerate(filled, start=1) if f >= 0.85 * max(filled))
    return _chunked(model, batch, batch.tiles(model.m0), lambda k: ceil(ceil(k / splits) / model.n0) * model.n0)


def _chunked(model: Model, batch: Batch, tiles: Sequence[list[int]], chunk_of: Callable[[int], int]) -> Workgroups:
    costs = []
    for keys, of_request in zip(batch.keys, tiles, strict=True):
        chunk = max(chunk_of(keys), 1)
        starts = range(0, max(keys, 1), chunk)
        costs += [
            model.cost(min(max(columns - start, 0), chunk), partial=len(starts) > 1)
            for columns in of_request
            for start in starts
        ]
    return ((cost, 1) for _ in range(batch.heads_k) for cost in costs)
