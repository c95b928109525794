"""The split-KV planner's cost model of attention on a device, simulated, and how near its plans come to a bound.

A workgroup costs the columns that its rows attend to, rounded up to tiles, and constants per row of its tile. A device
has `slots` workgroups at a time and starts the next one in order wherever one has finished.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import log2

from ckgen.runtime.fmha_split import FmhaSplitPlanner, FmhaSplitProblem


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


@dataclass(frozen=True)
class Case:
    """A causal batch, and what the planner is asked for it."""

    problem: FmhaSplitProblem
    queries: tuple[int, ...]
    keys: tuple[int, ...]


def cases(count: int, seed: int) -> Iterator[Case]:
    """Serving batches, the same ones for the same seed: lengths of 1 to 64k keys and sizes of 1 to 256 requests, both
    even in their logarithms; a query each, or a quarter of the requests with up to all of theirs; pages of 16."""
    source = random.Random(seed)
    for index in range(count):
        decode, grouped = index % 2 == 0, index // 2 % 2 == 0
        cu_num, occupancy = source.choice((80, 228, 256, 304)), source.choice((1, 2))
        keys = tuple(int(2 ** source.uniform(0, 16)) for _ in range(round(2 ** source.uniform(0, 8))))
        queries = tuple(1 if decode else _queries(source, k) for k in keys)
        m0, heads = 16 if decode else 64, (64, 8) if grouped else (32, 32)
        problem = FmhaSplitProblem(*heads, 128, m0, 64, cu_num, occupancy, merge_heads=True, page_size=16, masked=True)
        yield Case(problem, queries, keys)


def _queries(source: random.Random, keys: int) -> int:
    return int(2 ** source.uniform(0, log2(keys))) if source.random() < 0.25 else 1


def over_bound(planner: FmhaSplitPlanner, case: Case) -> float:
    """The makespan of the planner's own plan under its cost model, over the lower bound of the batch."""
    cost, problem = planner.cost, case.problem
    model = Model(problem.m0, problem.n0, cost.item_row, cost.partial_row)
    group, slots = problem.heads_q // problem.heads_k, problem.cu_num * problem.occupancy
    lengths = zip(case.queries, case.keys, strict=True)
    tiles = [columns for q, k in lengths for columns in tiles_of(q, k, group, model.m0)]
    plan = planner.plan(problem, case.queries, case.keys)
    workgroups = (
        (model.cost(int(item["kv_end"] - item["kv_begin"]), partial=bool(item["splits"] > 1)), plan.sizes.heads)
        for item in plan.items
    )
    return makespan(workgroups, slots) / lower_bound(model, tiles, problem.heads_k, slots)
