"""The GenerationPlan: everything that is emitted, looked up and explained; frozen and sorted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ckgen.families.fmha.instance import FmhaInstance
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.families.gemm.heuristic import DecisionRule
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.diagnostic import Diagnostic
from ckgen.model.fate import Fate, FateKind
from ckgen.model.target import Target
from ckgen.model.tuned_row import TunedRow
from ckgen.plan.fmha_table import FmhaTable
from ckgen.plan.ladder import Ladder
from ckgen.plan.policy import MPolicy
from ckgen.tables.load import TableFile

GroupKey = tuple[int, int, int]
"""(N, K, batch); batch is 0 where the signature is not batched."""


@dataclass(frozen=True, slots=True, order=True)
class Choice:
    """An instance of the unit, by index, and its K splits; 0 splits mean that the kernel decides."""

    instance: int
    k_batch: int


@dataclass(frozen=True, slots=True, order=True)
class ExternalKernel:
    """A kernel of a library that ckgen does not generate, under that library's name for it."""

    library: str
    name: str


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """One (N, K, batch): what can run and what is external, and the row behind each measured M."""

    runnable: Ladder
    external: Ladder
    rows: Mapping[int, TunedRow]


@dataclass(frozen=True, slots=True)
class TablePlan:
    """All rows of one (signature, target). Rungs index `choices` and `externals`."""

    target: Target
    groups: Mapping[GroupKey, GroupPlan]
    choices: tuple[Choice, ...]
    externals: tuple[ExternalKernel, ...]


@dataclass(frozen=True, slots=True)
class HeuristicPlan:
    """A decision rule for one arch; `leaves` are the unit's instance indices, one per arm."""

    arch: str
    rule: DecisionRule
    leaves: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class UnitPlan:
    """Everything about one signature: what is emitted into one folder."""

    signature: GemmSignature
    module: str
    instances: tuple[Instance, ...]
    tables: tuple[TablePlan, ...]
    heuristics: tuple[HeuristicPlan, ...]
    defaults: Mapping[str, tuple[int, ...]]

    @property
    def name(self) -> str:
        """The canonical signature: folder, namespace and file names follow it."""
        return self.signature.canonical()

    def table(self, target: Target) -> TablePlan | None:
        """The table of exactly that target."""
        return next((table for table in self.tables if table.target == target), None)


@dataclass(frozen=True, slots=True)
class FmhaUnit:
    """Everything about one signature of attention: its kernels, per arch those that answer where no table does."""

    signature: FmhaSignature
    instances: tuple[FmhaInstance, ...]
    defaults: Mapping[str, tuple[int, ...]]
    tables: tuple[FmhaTable, ...] = ()

    @property
    def name(self) -> str:
        """The canonical signature: folder, namespace and file names follow it."""
        return self.signature.canonical()

    def table(self, target: Target) -> FmhaTable | None:
        """The table of exactly that target."""
        return next((table for table in self.tables if table.target == target), None)


AnyUnit = UnitPlan | FmhaUnit
AnyInstance = Instance | FmhaInstance


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

    `units` are those of GEMMs and what is made of them, `fmha` those of attention.
    `left_out` counts, by source, the kernels per signature and arch that no table names and the profiles leave out.
    """

    targets: tuple[Target, ...]
    m_policy: MPolicy
    units: tuple[UnitPlan, ...]
    fates: tuple[Fate, ...]
    reports: tuple[FileReport, ...]
    files: tuple[TableFile, ...]
    selected: Mapping[Target, int]
    diagnostics: tuple[Diagnostic, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)
    fmha: tuple[FmhaUnit, ...] = ()

    def unit(self, signature: GemmSignature) -> UnitPlan | None:
        """The unit of exactly that signature."""
        return next((unit for unit in self.units if unit.signature == signature), None)

    def fmha_unit(self, signature: FmhaSignature) -> FmhaUnit | None:
        """The same of attention."""
        return next((unit for unit in self.fmha if unit.signature == signature), None)

    @property
    def instances(self) -> tuple[Instance, ...]:
        """All instances of `units`, by unit, then name."""
        return tuple(instance for unit in self.units for instance in unit.instances)

    @property
    def all_units(self) -> tuple[AnyUnit, ...]:
        """Units of every op, by name."""
        return (*self.fmha, *self.units)

    @property
    def all_instances(self) -> tuple[AnyInstance, ...]:
        """Instances of every op, by unit, then name."""
        return tuple(instance for unit in self.all_units for instance in unit.instances)
