"""Which order of additions answers all M of a ladder, where a batch-invariant result is asked for."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ckgen.families.common.order import ORDER_M, OrderIn
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.measured import Choice, GemmUnit, GroupKey, TablePlan, key_of, ladder_on
from ckgen.families.gemm.partition import tile_cost
from ckgen.families.gemm.problem_rules import Constraints
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape

_LOST = 1.05
"""What a kernel takes at least over the winner of a size that it did not win."""
_Rungs = Sequence[tuple[int, Choice, float]]
"""Sizes of M with their winners, and what these cost there."""


def takes_every_batch(constraints: Constraints) -> bool:
    """Whether an instance takes problems whatever their M, as gemm_takes_every_batch of C++."""
    routed = constraints.routed
    return (
        constraints.m_multiple <= 1
        and constraints.min_m <= 1
        and not (constraints.max_m or constraints.measured_only)
        and not (routed.max_routed or routed.few_experts or routed.presorted)
    )


def order_in(instances: Sequence[Instance], choice: Choice) -> OrderIn:
    """The order of a row's instance in its splits."""
    return instances[choice.instance].order_in(choice.k_batch)


def choice_of_ladder(unit: GemmUnit, table: TablePlan, key: GroupKey) -> Choice | None:
    """The choice whose order answers; None without rungs. Of a ladder in one order that of the first rung.

    Of several orders the one that costs least over the ladder: at a size that another order won, the least by waves of
    workgroups that a kernel of the order has there, over the winner's. Orders come first that a kernel has which takes
    every M; of equal ones the first that won.
    """
    if (unit.name, key) not in table.one_order:
        table.one_order[unit.name, key] = _choice_of_ladder(unit, table, key)
    return table.one_order[unit.name, key]


def _choice_of_ladder(unit: GemmUnit, table: TablePlan, key: GroupKey) -> Choice | None:
    group = table.groups[key]
    sizes = [(m, table.choices[at]) for m, at in group.runnable.sizes()]
    won = Counter(choice for _, choice in sizes)
    alike: dict[OrderIn, list[Choice]] = {}
    for choice in won:
        alike.setdefault(order_in(unit.instances, choice), []).append(choice)
    known = [choices for order, choices in alike.items() if order.number]
    if len(alike) <= 1 or not known:
        return sizes[0][1] if sizes else None
    works = {choice: _Work.of(unit.instances[choice.instance], choice, key[0]) for choice in won}
    cu_num = table.target.cu_num
    rungs = [(m, winner, _least(m, cu_num, (works[winner],))) for m, winner in sizes]
    best = min(known, key=lambda choices: _rank(unit, cu_num, rungs, works, choices))
    return max(best, key=lambda choice: won[choice])


def order_of_ladder(unit: GemmUnit | None, target: Target, shape: Shape) -> OrderIn:
    """The order of a shape's ladder in the target's own table; none where there is no ladder, or no order."""
    ladder = ladder_on(unit, target, shape)
    if unit is None or ladder is None:
        return OrderIn()
    choice = choice_of_ladder(unit, ladder[0], key_of(shape))
    return order_in(unit.instances, choice) if choice is not None else OrderIn()


def reference_shape(cost_shape: Shape, batch: int) -> Shape:
    """What a default's cost is counted with where no ladder says the order."""
    return Shape(batch, ORDER_M, cost_shape.n, cost_shape.k)


class _Work(NamedTuple):
    """What decides the waves of workgroups that a choice has at an M of its ladder."""

    tile_m: int
    per_row: int
    """Workgroups of a row of tiles: its tiles along N, each in splits."""
    of_one: int
    splits: int

    @classmethod
    def of(cls, instance: Instance, choice: Choice, n: int) -> _Work:
        """Those of a ladder of that N."""
        tile, splits = instance.config.macro_tile, max(choice.k_batch, 1)
        return cls(tile.m, -(-n // tile.n) * splits, tile_cost(tile.m, tile.n), splits)


def _least(m: int, cu_num: int, works: Iterable[_Work]) -> float:
    """Of waves of workgroups times the cost of one, per element of K, where splits share a tile's K."""
    return min(
        [-(-(-(-m // tile_m) * per_row) // cu_num) * of_one / splits for tile_m, per_row, of_one, splits in works]
    )


def _rank(
    unit: GemmUnit, cu_num: int, rungs: _Rungs, works: Mapping[Choice, _Work], alike: Sequence[Choice]
) -> tuple[bool, float]:
    """Of the choices of one order."""
    partial = not any(takes_every_batch(unit.instances[one.instance].constraints) for one in alike)
    loss, winners, of_order = 0.0, {*alike}, [works[one] for one in alike]
    for m, winner, least in rungs:
        if winner not in winners:
            loss += math.log(max(_least(m, cu_num, of_order) / least, _LOST))
    return partial, round(loss, 6)


def ladder_orders(unit: GemmUnit, table: TablePlan) -> Mapping[GroupKey, tuple[OrderIn, ...]]:
    """The orders of each ladder that has rungs, in the order of their first M."""
    found = {}
    for key, group in table.groups.items():
        orders = dict.fromkeys(order_in(unit.instances, table.choices[at]) for _, at in group.runnable.sizes())
        if orders:
            found[key] = tuple(orders)
    return found
