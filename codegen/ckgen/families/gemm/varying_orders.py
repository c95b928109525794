"""Where tables choose another order of additions for another M."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ckgen.families.gemm.measured import GemmUnit, GroupKey, TablePlan
from ckgen.families.gemm.one_order import ladder_orders


@dataclass(frozen=True, slots=True)
class VaryingOrders:
    """Groups are the rows of one N and K (and batch or routing) of a target, module and type of A.

    `splits`: of so many groups rows say different splits of K. `runnable`: so many have rows that kernels of ckgen
    answer, and in `orders` of these their order of additions is not the same for all, or not known.
    """

    target: str
    module: str
    dtype: str
    groups: int
    splits: int
    runnable: int
    orders: int

    def to_json(self) -> dict[str, object]:
        """All fields."""
        return {name: getattr(self, name) for name in self.__slots__}


def varying_orders(units: Iterable[Any]) -> tuple[VaryingOrders, ...]:
    """By target, module and type, in the order of the units; of attention nothing is said."""
    found: dict[tuple[str, str, str], dict[GroupKey, _Group]] = {}
    for unit in units:
        for table in unit.tables:
            if isinstance(table, TablePlan):
                of = found.setdefault((str(table.target), unit.module, str(unit.signature.a)), {})
                for key, group in _groups(unit, table).items():
                    of[key] = group | of.get(key, group)
    return tuple(
        VaryingOrders(
            *key,
            groups=len(groups),
            splits=sum(one.splits for one in groups.values()),
            runnable=sum(one.runnable for one in groups.values()),
            orders=sum(one.orders for one in groups.values()),
        )
        for key, groups in found.items()
    )


@dataclass(frozen=True, slots=True)
class _Group:
    splits: bool
    runnable: bool
    orders: bool

    def __or__(self, other: _Group) -> _Group:
        return _Group(self.splits or other.splits, self.runnable or other.runnable, self.orders or other.orders)


def _groups(unit: GemmUnit, table: TablePlan) -> Mapping[GroupKey, _Group]:
    orders = ladder_orders(unit, table)
    found = {}
    for key, group in table.groups.items():
        said = {row.k_batch for row in group.rows.values() if row.k_batch is not None}
        own = orders.get(key, ())
        differ = len(own) > 1 or any(order.number == 0 for order in own)
        found[key] = _Group(len(said) > 1, bool(own), differ)
    return found
