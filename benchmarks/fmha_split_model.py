"""The cost model of attention on a device, simulated; knows nothing of any planner.

A workgroup costs the columns that its rows attend to, rounded up to tiles, and constants per row of its tile. A device
has `slots` workgroups at a time and starts the next one in order wherever one has finished.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Model:
    """Costs in columns of a tile of m0 rows; `item_row` and `partial_row` as ckgen/fmha_split.hpp says."""

    m0: int
    n0: int
    item_row: int
    partial_row: int

    def cost(self, columns: int, *, partial: bool) -> int:
        """Of a workgroup with so many columns, and whether it is one of several of its tile."""
        return -(-columns // self.n0) * self.n0 + (self.item_row + self.partial_row * partial) * self.m0


def causal_columns(length_q: int, length_k: int, last: int) -> int:
    """Columns that queries up to `last` see where the last query sees the last key."""
    return max(0, min(length_k, last + 1 + length_k - length_q))


def tiles_of(length_q: int, length_k: int, group: int, m0: int) -> list[int]:
    """The columns of each query tile of a request, causal; `group` rows per query."""
    rows = length_q * group
    lasts = (min(row + m0, rows) - 1 for row in range(0, rows, m0))
    return [causal_columns(length_q, length_k, last // group) for last in lasts]


def makespan(workgroups: Iterable[tuple[int, int]], slots: int) -> int:
    """The end of the last of the workgroups, started in order; pairs of a cost and how many follow each other."""
    free = [(0, slots)]  # (time, how many slots are free from then on)
    end = 0
    for cost, count in workgroups:
        left = count
        while left:
            time, width = heapq.heappop(free)
            some = min(left, width)
            left -= some
            if width > some:
                heapq.heappush(free, (time, width - some))
            heapq.heappush(free, (time + cost, some))
            end = max(end, time + cost)
    return end


def lower_bound(model: Model, tiles: Iterable[int], heads: int, slots: int) -> float:
    """No schedule is shorter: all work unsplit over all slots, or the longest of the items that cannot be split."""
    total, longest = 0, 0
    for columns in tiles:
        whole = model.cost(columns, partial=False)
        total += whole
        longest = max(longest, min(whole, model.cost(min(columns, model.n0), partial=True)))
    return max(total * heads / slots, longest)


def startup_bound(model: Model, tiles: Iterable[int], heads: int, slots: int) -> float:
    """No schedule is shorter: a slot that does anything has the constants of one item before its share of columns."""
    columns = sum(model.cost(c, partial=False) - model.cost(0, partial=False) for c in tiles)
    return columns * heads / slots + model.cost(0, partial=False)
