"""Which order of additions answers all M of a ladder, where a batch-invariant result is asked for."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from ckgen.families.common.order import ORDER_M, OrderIn
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.measured import Choice, GemmUnit, GroupKey, TablePlan, key_of, ladder_on
from ckgen.families.gemm.partition import tile_cost
from ckgen.families.gemm.problem_rules import Constraints
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape

_LOST = 1.05
"""What a kernel takes at least over the winner of a size that it did not win."""
_Sizes = Sequence[tuple[int, Choice]]


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
    orders = list(dict.fromkeys(order_in(unit.instances, choice) for _, choice in sizes))
    if len(orders) <= 1:
        return sizes[0][1] if sizes else None
    known = [order for order in orders if order.number]
    if not known:
        return sizes[0][1]
    best = min(known, key=lambda order: _rank(unit, table.target, key, sizes, order))
    won = Counter(choice for _, choice in sizes if order_in(unit.instances, choice) == best)
    return max(won, key=lambda choice: won[choice])


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


def _rank(unit: GemmUnit, target: Target, key: GroupKey, sizes: _Sizes, order: OrderIn) -> tuple[bool, float]:
    alike = list(dict.fromkeys(one for _, one in sizes if order_in(unit.instances, one) == order))
    partial = not any(takes_every_batch(unit.instances[one.instance].constraints) for one in alike)
    loss = 0.0
    for m, winner in sizes:
        if winner in alike:
            continue
        costs = {one: _cost(unit.instances, one, Shape(key[2], m, key[0], key[1]), target.cu_num) for one in alike}
        least = min(costs.values())
        loss += math.log(max(least / _cost(unit.instances, winner, Shape(key[2], m, *key[:2]), target.cu_num), _LOST))
    return partial, round(loss, 6)


def _cost(instances: Sequence[Instance], choice: Choice, shape: Shape, cu_num: int) -> float:
    """Waves of workgroups times the cost of one, per element of K, where splits share a tile's K."""
    tile, splits = instances[choice.instance].config.macro_tile, max(choice.k_batch, 1)
    tiles = -(-shape.m // tile.m) * -(-shape.n // tile.n)
    return -(-tiles * splits // cu_num) * tile_cost(tile.m, tile.n) / splits


def ladder_orders(unit: GemmUnit, table: TablePlan) -> Mapping[GroupKey, tuple[OrderIn, ...]]:
    """The orders of each ladder that has rungs, in the order of their first M."""
    found = {}
    for key, group in table.groups.items():
        orders = dict.fromkeys(order_in(unit.instances, table.choices[at]) for _, at in group.runnable.sizes())
        if orders:
            found[key] = tuple(orders)
    return found
