"""Measured GEMMs of one signature and target: ladders of M per (N, K, batch), and the rows behind them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from ckgen.families.common.device.unit import Use
from ckgen.families.common.ladder import EMPTY_LADDER, Ladder
from ckgen.families.common.query import ExternalKernel
from ckgen.families.common.unit import Measured, UnitPlan
from ckgen.families.gemm.problem_rules import Constraints
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.config import Config
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape, TunedRow

GroupKey = tuple[int, int, int]
"""(N, K, batch); batch is 0 where the signature is not batched."""


@dataclass(frozen=True, slots=True, order=True)
class Choice:
    """An instance of the unit, by index, and its K splits; 0 splits mean that the kernel decides."""

    instance: int
    k_batch: int


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """One (N, K, batch): what can run and what is external, and the row behind each measured M.

    A kernel of a provider may stand at the M of one that can run: `rows` has the latter's.
    """

    runnable: Ladder
    external: Ladder
    rows: Mapping[int, TunedRow]
    external_rows: Mapping[int, TunedRow]


@dataclass(frozen=True, slots=True)
class TablePlan:
    """All rows of one (signature, target). Rungs index `choices` and `externals`.

    `one_order` remembers what one_order.py found, by unit: several may share a table.
    """

    target: Target
    groups: Mapping[GroupKey, GroupPlan]
    choices: tuple[Choice, ...]
    externals: tuple[ExternalKernel, ...]
    one_order: dict[tuple[str, GroupKey], Choice | None] = field(default_factory=dict, compare=False, repr=False)

    def measured(self) -> Iterator[Measured]:
        """What instances answer, then the rest, each by key and M."""
        for (n, k, batch), group in self.groups.items():
            for m, at in group.runnable.sizes():
                choice = self.choices[at]
                yield Measured(Shape(batch, m, n, k), choice.instance, choice.k_batch or None)
        for (n, k, batch), group in self.groups.items():
            for m, at in group.external.sizes():
                one = self.externals[at]
                yield Measured(Shape(batch, m, n, k), None, library=one.library, kernel=one.name)

    def uses(self) -> Iterator[tuple[int, Use]]:
        """The measured problems that can run, each with its instance."""
        for (n, k, batch), group in self.groups.items():
            for m, at in group.runnable.sizes():
                choice = self.choices[at]
                yield choice.instance, Use(Shape(batch, m, n, k), max(choice.k_batch, 1))


GemmUnit = UnitPlan[GemmSignature, Config, Constraints, TablePlan]

_Measured = tuple[TunedRow, int]
"""A row and the number of its instance."""


def ladder_on(unit: GemmUnit | None, target: Target, shape: Shape) -> tuple[TablePlan, GroupPlan] | None:
    """The ladder of the shape's (N, K, batch) that answers a device, and its table."""
    for table in unit.tables_on(target) if unit is not None else ():
        group = table.groups.get(key_of(shape))
        if group is not None:
            return table, group
    return None


def tables_of_other_cus(unit: GemmUnit, target: Target) -> list[TablePlan]:
    """Those of the arch at other CU counts, of all products."""
    every = (table for table in unit.tables if table.target.gfx == target.gfx and not table.target.sku)
    return [table for table in every if table.target.cu_num != target.cu_num]


def table_of(target: Target, selected: Iterable[_Measured], external: Iterable[TunedRow]) -> TablePlan:
    """The table of these rows: of a measured size one of each side at most."""
    chosen: dict[GroupKey, list[tuple[TunedRow, Choice]]] = {}
    for row, number in selected:
        choice = Choice(number, 0 if row.k_batch is None else row.k_batch)
        chosen.setdefault(key_of(row.shape), []).append((row, choice))
    foreign: dict[GroupKey, list[tuple[TunedRow, ExternalKernel]]] = {}
    for row in external:
        foreign.setdefault(key_of(row.shape), []).append((row, ExternalKernel(row.library, row.kernel)))
    choices = {choice: at for at, choice in enumerate(sorted({one for of in chosen.values() for _, one in of}))}
    externals = {kernel: at for at, kernel in enumerate(sorted({one for of in foreign.values() for _, one in of}))}
    groups = {
        key: GroupPlan(
            runnable=_ladder([(row.shape.m, choices[choice]) for row, choice in chosen.get(key, ())]),
            external=_ladder([(row.shape.m, externals[kernel]) for row, kernel in foreign.get(key, ())]),
            rows={row.shape.m: row for side in (foreign, chosen) for row, _ in side.get(key, ())},
            external_rows={row.shape.m: row for row, _ in foreign.get(key, ())},
        )
        for key in sorted(chosen.keys() | foreign.keys())
    }
    return TablePlan(target, groups, tuple(choices), tuple(externals))


def key_of(shape: Shape) -> GroupKey:
    """The ladder of a problem."""
    return shape.n, shape.k, shape.batch


def _ladder(measured: Sequence[tuple[int, int]]) -> Ladder:
    return Ladder.from_measured(measured) if measured else EMPTY_LADDER
