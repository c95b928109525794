"""What is planned for one signature: its instances, and what chooses among them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from ckgen.families.common.decision_rule import DecisionRule
from ckgen.families.common.device.unit import Use
from ckgen.families.common.instance import Instance
from ckgen.families.common.naming import Canonical
from ckgen.model.arch import levels_of
from ckgen.model.config import Config
from ckgen.model.diagnostic import Location
from ckgen.model.target import Target

NOWHERE = Location("registry document")
"""Where rows stand that a document tells: it does not know who measured them."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A problem of a table and what won it: an instance of the unit by number, or another library's kernel.

    `shape` is what its operation calls one. `k_batch` None: the kernel decides; of an external one nothing is told.
    """

    shape: Any
    instance: int | None
    k_batch: int | None = None
    library: str = ""
    kernel: str = ""


class Table(Protocol):
    """All measured rows of one signature and target."""

    @property
    def target(self) -> Target:
        """Whose rows they are; those of a product hold what its ladders share with all products too."""
        ...

    def uses(self) -> Iterable[tuple[int, Use]]:
        """The measured problems that device kernels are chosen for, each with its instance of the unit, by number."""
        ...

    def measured(self) -> Iterable[Measured]:
        """All measured problems, as many as there are rows."""
        ...


S = TypeVar("S", bound=Canonical)
C = TypeVar("C", bound=Config)
K = TypeVar("K")
T = TypeVar("T", bound=Table)


@dataclass(frozen=True, slots=True)
class HeuristicPlan:
    """A decision rule; `leaves` are the unit's instance indices, one per leaf of the rule, None where the
    leaf has no answer because nothing of it is built."""

    arch: str
    rule: DecisionRule
    leaves: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class UnitPlan(Generic[S, C, K, T]):
    """Everything about one signature: what is emitted into one folder.

    C are its Configs, K its constraints, T its tables.

    `module` is that of its tables, empty where none speaks of it. `defaults` are, per arch, the instances that answer
    where no table does, by number; `predicted` those that predicted times choose among.
    """

    signature: S
    instances: tuple[Instance[S, C, K], ...]
    defaults: Mapping[str, tuple[int, ...]]
    module: str = ""
    tables: tuple[T, ...] = ()
    heuristics: tuple[HeuristicPlan, ...] = ()
    predicted: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The canonical signature: folder, namespace and file names follow it."""
        return self.signature.canonical()

    def default_indices(self, gfx: str) -> tuple[int, ...]:
        """The arch's own defaults; on a CPU those of the highest level at or below it that has any."""
        return next((self.defaults[arch] for arch in reversed(levels_of(gfx)) if self.defaults.get(arch)), ())

    def table(self, target: Target) -> T | None:
        """The table of exactly that target."""
        return next((table for table in self.tables if table.target == target), None)

    def tables_on(self, target: Target) -> tuple[T, ...]:
        """The tables that answer a device, that of its own product before the one of all: the first that has a row of a
        problem's ladder has all of them."""
        found = (self.table(one) for one in dict.fromkeys((target, target.any_sku)))
        return tuple(table for table in found if table is not None)

    def measured_on(self, target: Target) -> list[Measured]:
        """What these tables measured, a problem once."""
        found: dict[Any, Measured] = {}
        for one in (one for table in self.tables_on(target) for one in table.measured()):
            found.setdefault(one.shape, one)
        return list(found.values())
