"""The GenerationPlan: everything that is emitted, looked up and explained; frozen and sorted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ckgen.families.common.m_policy import Rounded
from ckgen.families.common.policy import MPolicy
from ckgen.families.common.query import AnyInstance as AnyInstance
from ckgen.families.common.query import AnyUnit as AnyUnit
from ckgen.families.common.signature import Signature
from ckgen.families.common.unit import UnitPlan
from ckgen.families.robust import robust
from ckgen.families.tables import rounded_module
from ckgen.model.diagnostic import Diagnostic
from ckgen.model.fate import Fate, FateKind
from ckgen.model.row import Row
from ckgen.model.target import Target
from ckgen.tables.load import TableFile

S = TypeVar("S", bound=Signature)


@dataclass(frozen=True, slots=True)
class FileReport:
    """One input file and how its rows ended; `fates` sums to `rows`."""

    path: str
    module: str | None
    rows: int
    fates: Mapping[FateKind, int]
    findings: tuple[Diagnostic, ...]


@dataclass(frozen=True, slots=True)
class GenerationPlan:
    """What to generate and why. `selected` counts rows per target; an ERROR among `diagnostics` forbids writing.

    `units` are by name. `left_out` counts, by source, the kernels per signature and arch that no table names and the
    profiles leave out.
    """

    targets: tuple[Target, ...]
    m_policy: MPolicy
    units: tuple[AnyUnit, ...]
    fates: tuple[Fate, ...] = ()
    reports: tuple[FileReport, ...] = ()
    files: tuple[TableFile, ...] = ()
    selected: Mapping[Target, int] = field(default_factory=dict)
    diagnostics: tuple[Diagnostic, ...] = ()
    left_out: Mapping[str, int] = field(default_factory=dict)
    _by_signature: dict[Signature, AnyUnit] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._by_signature.update((unit.signature, unit) for unit in reversed(self.units))

    def unit(self, signature: Signature) -> AnyUnit | None:
        """The unit of exactly that signature."""
        return self._by_signature.get(signature)

    def units_of(self, kind: type[S]) -> tuple[UnitPlan[S, Any, Any, Any], ...]:
        """The units whose signatures are of that kind, by name."""
        return tuple(unit for unit in self.units if isinstance(unit.signature, kind))

    def why_absent(self, signature: Signature, gfx: str) -> str:
        """Why a library has no kernel of a signature on an arch, whoever asks for it; empty where one can be had."""
        return robust(signature, gfx).why

    def place(self, row: Row) -> str:
        """`file:line` where the user finds a row."""
        places = {(file.layer, file.path): file.display for file in self.files}
        return f"{places[row.layer, row.location.file]}:{row.location.line}"

    def policy_of(self, module: str) -> MPolicy:
        """How tables of a module answer: those that are of none of the peer's go by the ladder."""
        return self.m_policy if module else MPolicy.LADDER

    def rounded(self, module: str) -> Rounded:
        """How the peer rounds M for tables of a module."""
        return rounded_module(module)

    @property
    def instances(self) -> tuple[AnyInstance, ...]:
        """All instances, by unit, then name."""
        return tuple(instance for unit in self.units for instance in unit.instances)
