"""What the tables of a unit offer for a shape: the rungs that the walk tries, in order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ckgen.families.common.ladder import Ladder
from ckgen.families.common.m_policy import Rounded, kernel_sizes, split_sizes
from ckgen.families.common.policy import NearGap
from ckgen.families.common.query import TableWinner
from ckgen.families.gemm.config import HostConfig, strategy_of
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.measured import GroupPlan, TablePlan
from ckgen.families.gemm.partition import stream_k_cost, tile_cost
from ckgen.model.selection import Tier
from ckgen.model.tuned_row import Shape


@dataclass(frozen=True, slots=True)
class RungHit:
    """A measured size that answers m: its tier, and the choice or external kernel that won it."""

    tier: Tier
    m: int
    choice: int


def rounded_up(ladder: Ladder, m: int, gap: NearGap) -> RungHit | None:
    """The exact or near rung of a ladder."""
    above = ladder.at_or_above(m)
    if above is None:
        return None
    measured, choice = above
    if measured == m:
        return RungHit(Tier.EXACT, measured, choice)
    return RungHit(Tier.NEAR, measured, choice) if gap.holds(m, measured) else None


def far_rungs(ladder: Ladder, m: int, gap: NearGap) -> Iterator[RungHit]:
    """The sizes beyond the near gap, the nearer in ratio first: up where up * down <= m * m."""
    above = ladder.at_or_above(m)
    if above is not None and (above[0] == m or gap.holds(m, above[0])):
        above = None
    yield from far_hits(above, ladder.below(m), m)


def far_hits(above: tuple[int, int] | None, below: tuple[int, int] | None, m: int) -> Iterator[RungHit]:
    """Those of two sizes, with their choices, that there are, the nearer in ratio first."""
    hits = [RungHit(Tier.FAR, *hit) for hit in (above, below) if hit is not None]
    if above is not None and below is not None and above[0] * below[0] > m * m:
        hits.reverse()
    yield from hits


def table_winner(group: GroupPlan, table: TablePlan, m: int, gap: NearGap) -> TableWinner | None:
    """The rung that exact, near and far would pick if both kinds of rungs were one ladder; external ones win ties."""
    tiers = ((rounded_up(ladder, m, gap), external) for ladder, external in _kinds(group))
    up = [(hit, external) for hit, external in tiers if hit is not None]
    if up:
        hit, external = min(up, key=lambda pair: (pair[0].m, not pair[1]))
        return _winner(group, table, hit, external)
    far = [(hit, external) for ladder, external in _kinds(group) for hit in far_rungs(ladder, m, gap)]
    above = min((pair for pair in far if pair[0].m > m), key=lambda pair: (pair[0].m, not pair[1]), default=None)
    below = max((pair for pair in far if pair[0].m < m), key=lambda pair: (pair[0].m, pair[1]), default=None)
    if above is not None and (below is None or above[0].m * below[0].m <= m * m):
        return _winner(group, table, *above)
    return _winner(group, table, *below) if below is not None else None


def aiter_winner(
    module: Rounded, group: GroupPlan, table: TablePlan, shape: Shape
) -> tuple[TableWinner, RungHit] | None:
    """The row that AITER's own rounding finds, as a table's winner and as a rung."""
    for m in kernel_sizes(module, shape.m, shape.n):
        if m in group.rows:
            tier = Tier.EXACT if m == shape.m else Tier.NEAR
            for ladder, external in _kinds(group):
                above = ladder.at_or_above(m)
                if above is not None and above[0] == m:
                    hit = RungHit(tier, m, above[1])
                    return _winner(group, table, hit, external), hit
    return None


def aiter_k_batch(module: Rounded, group: GroupPlan, table: TablePlan, shape: Shape) -> int | None:
    """The K splits of the row that AITER's Python side finds, or None where it finds none that can run."""
    for m in split_sizes(module, shape.m, shape.n):
        if m in group.rows:
            above = group.runnable.at_or_above(m)
            return table.choices[above[1]].k_batch if above is not None and above[0] == m else None
    return None


def recomputed_k_batch(instance: Instance, shape: Shape, cu_num: int) -> int:
    """K splits for another CU count, as in docs/selection.md; the caller still halves it until it is supported."""
    tile = instance.config.macro_tile
    tiles = -(-shape.m // tile.m) * -(-shape.n // tile.n) * max(shape.batch, 1)
    k_batch = 1
    while (
        tiles * 2 * k_batch <= cu_num
        and 2 * k_batch * 2 * tile.k <= shape.k
        and 2 * k_batch <= instance.constraints.max_k_batch
    ):
        k_batch *= 2
    return k_batch


def default_cost(instance: Instance, shape: Shape, cu_num: int) -> int:
    """Waves of workgroups (on a CPU: register tiles per core) times the cost of one, as in docs/selection.md.

    Stream-K has no waves. Tile instructions cost a quarter: of dot products they do sixteen times the work at once.
    """
    config = instance.config
    if strategy_of(config).is_stream_k:
        return stream_k_cost(config, shape, cu_num)
    tile_m, tile_n = (
        (config.mr, config.nr) if isinstance(config, HostConfig) else (config.macro_tile.m, config.macro_tile.n)
    )
    tiles = -(-shape.m // tile_m) * -(-shape.n // tile_n) * max(shape.batch, 1)
    cost = -(-tiles // cu_num) * tile_cost(tile_m, tile_n)
    return cost // 4 if isinstance(config, HostConfig) and config.has_tiles else cost


def _kinds(group: GroupPlan) -> tuple[tuple[Ladder, bool], tuple[Ladder, bool]]:
    return (group.runnable, False), (group.external, True)


def _winner(group: GroupPlan, table: TablePlan, hit: RungHit, external: bool) -> TableWinner:
    if external:
        return TableWinner(group.external_rows[hit.m], hit.tier, table.externals[hit.choice])
    return TableWinner(group.rows[hit.m], hit.tier, None)
