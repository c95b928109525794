"""Selected rows, decision rules and defaults, gathered per signature: instances once, tables over their indices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ckgen.families.gemm.config import GemmConfig
from ckgen.families.gemm.heuristic import DecisionRule
from ckgen.families.gemm.instance import Instance, make_instance
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.backend import Backend
from ckgen.model.fate import Fate, FateKind
from ckgen.model.target import Target
from ckgen.model.tuned_row import TunedRow
from ckgen.plan.entry import Entry
from ckgen.plan.ladder import EMPTY_LADDER, Ladder
from ckgen.plan.model import (
    Choice,
    ExternalKernel,
    GroupKey,
    GroupPlan,
    HeuristicPlan,
    TablePlan,
    UnitPlan,
)
from ckgen.plan.profile import TABLES, Profile, admitted_backends

KernelKey = tuple[Backend, GemmConfig]


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel that must be built for one signature: what it is, under which table name, for which archs."""

    backend: Backend
    config: GemmConfig
    table_kernel: str
    archs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SignatureDefaults:
    """The kernels of one signature that answer where no table does, per arch in order of preference."""

    signature: GemmSignature
    module: str
    kernels: Mapping[str, tuple[Kernel, ...]]


@dataclass(frozen=True, slots=True)
class SignatureHeuristic:
    """A decision rule and the kernels of its arms, one per arm."""

    rule: DecisionRule
    leaves: tuple[Kernel, ...]


@dataclass(slots=True)
class Rows:
    """The rows that one tuple of signatures is answered from; signatures that share rows share tables."""

    module: str
    selected: dict[Target, dict[GroupKey, list[Entry]]] = field(default_factory=dict)
    external: dict[Target, dict[GroupKey, list[Entry]]] = field(default_factory=dict)
    _tables: dict[tuple[KernelKey, ...], tuple[TablePlan, ...]] = field(default_factory=dict)

    def tables(self, index: Mapping[KernelKey, int]) -> tuple[TablePlan, ...]:
        """One table per target; made once for all signatures that number their instances alike."""
        order = tuple(index)
        if order not in self._tables:
            targets = sorted(self.selected.keys() | self.external.keys())
            self._tables[order] = tuple(_table(self, target, index) for target in targets)
        return self._tables[order]


def gather(resolved: Iterable[tuple[Entry, Fate]], profiles: Sequence[Profile] = ()) -> dict[GemmSignature, Rows]:
    """Selected and external rows by signature; signatures of one row that the profiles treat alike share one Rows."""
    by_part: dict[tuple[int, frozenset[Backend]], Rows] = {}
    alike: dict[int, tuple[tuple[frozenset[Backend], list[GemmSignature]], ...]] = {}
    found: dict[GemmSignature, Rows] = {}
    for entry, fate in resolved:
        if fate.kind not in (FateKind.SELECTED, FateKind.EXTERNAL) or entry.row.target is None:
            continue
        shape = entry.row.shape
        for part, signatures in entry.won:
            if part not in alike:
                alike[part] = _alike(signatures, profiles)
            for backends, same in alike[part]:
                if not backends or (entry.kernel is not None and entry.kernel.backend not in backends):
                    continue
                rows = by_part.get((part, backends))
                if rows is None:
                    rows = by_part[part, backends] = Rows(entry.row.module)
                    found |= dict.fromkeys(same, rows)
                side = rows.selected if fate.kind is FateKind.SELECTED else rows.external
                groups = side.setdefault(entry.row.target, {})
                groups.setdefault((shape.n, shape.k, shape.batch), []).append(entry)
    return found


def _alike(
    signatures: Iterable[GemmSignature], profiles: Sequence[Profile]
) -> tuple[tuple[frozenset[Backend], list[GemmSignature]], ...]:
    """The signatures by the backends whose kernels their tables may select."""
    classes: dict[frozenset[Backend], list[GemmSignature]] = {}
    for signature in signatures:
        classes.setdefault(admitted_backends(profiles, signature, TABLES), []).append(signature)
    return tuple(classes.items())


def build_unit(
    signature: GemmSignature,
    module: str,
    rows: Rows | None,
    defaults: SignatureDefaults | None,
    heuristics: Sequence[SignatureHeuristic],
    parts: Sequence[Kernel] = (),
) -> UnitPlan:
    """Everything about one signature; what a tier can return is among `instances` by construction.

    `parts` are kernels that instances of other signatures are made of: no tier needs to return them.
    """
    kernels = _Kernels()
    if rows is not None:
        for target, groups in rows.selected.items():
            for entries in groups.values():
                for entry in entries:
                    kernels.add_row(entry, target.gfx)
    chosen = [kernel for of_arch in (defaults.kernels.values() if defaults else ()) for kernel in of_arch]
    chosen += [leaf for heuristic in heuristics for leaf in heuristic.leaves]
    chosen += parts
    for kernel in chosen:
        for arch in kernel.archs:
            kernels.add(kernel.backend, kernel.config, kernel.table_kernel, arch)
    instances = kernels.instances(signature, module)
    index = {(instance.backend, instance.config): number for number, instance in enumerate(instances)}
    return UnitPlan(
        signature=signature,
        module=module,
        instances=instances,
        tables=rows.tables(index) if rows is not None else (),
        heuristics=tuple(
            HeuristicPlan(h.rule.arch, h.rule, tuple(index[k.backend, k.config] for k in h.leaves)) for h in heuristics
        ),
        defaults={
            arch: tuple(index[kernel.backend, kernel.config] for kernel in of_arch)
            for arch, of_arch in sorted((defaults.kernels if defaults else {}).items())
        },
    )


def parts_of(units: Iterable[UnitPlan]) -> dict[GemmSignature, list[Kernel]]:
    """By signature, the kernels of which instances of these units are made."""
    found: dict[GemmSignature, list[Kernel]] = {}
    for unit in units:
        for part in (part for instance in unit.instances for part in instance.parts):
            kernel = Kernel(part.backend, part.config, part.table_kernel, part.archs)
            found.setdefault(part.signature, []).append(kernel)
    return found


@dataclass(slots=True)
class _Kernels:
    """Distinct kernels of a signature, with the archs that ask for them."""

    archs: dict[KernelKey, set[str]] = field(default_factory=dict)
    names: dict[KernelKey, str] = field(default_factory=dict)
    _seen: set[tuple[int, str]] = field(default_factory=set)

    def add_row(self, entry: Entry, arch: str) -> None:
        kernel = entry.kernel
        assert kernel is not None
        if (id(kernel), arch) not in self._seen:
            self._seen.add((id(kernel), arch))
            self.add(kernel.backend, kernel.config, entry.row.kernel, arch)

    def add(self, backend: Backend, config: GemmConfig, table_kernel: str, arch: str) -> None:
        key = (backend, config)
        self.archs.setdefault(key, set()).add(arch)
        if table_kernel:
            self.names[key] = table_kernel

    def instances(self, signature: GemmSignature, module: str) -> tuple[Instance, ...]:
        made = (self._instance(signature, module, *key) for key in self.archs)
        return tuple(sorted(made, key=lambda instance: instance.name))

    def _instance(self, signature: GemmSignature, module: str, backend: Backend, config: GemmConfig) -> Instance:
        key = (backend, config)
        return make_instance(
            signature, *key, module=module, table_kernel=self.names.get(key, ""), archs=self.archs[key]
        )


def _table(rows: Rows, target: Target, index: Mapping[KernelKey, int]) -> TablePlan:
    selected = rows.selected.get(target, {})
    external = rows.external.get(target, {})
    choices: dict[Choice, int] = {}
    externals: dict[ExternalKernel, int] = {}
    numbers: dict[int, int] = {}
    runnable = {
        key: [(entry.row.shape.m, _choice(entry, index, numbers)) for entry in entries]
        for key, entries in selected.items()
    }
    foreign = {
        key: [(entry.row.shape.m, ExternalKernel(entry.row.library, entry.row.kernel)) for entry in entries]
        for key, entries in external.items()
    }
    for choice in sorted({choice for entries in runnable.values() for _, choice in entries}):
        choices[choice] = len(choices)
    for kernel in sorted({kernel for entries in foreign.values() for _, kernel in entries}):
        externals[kernel] = len(externals)
    groups = {
        key: GroupPlan(
            runnable=_ladder([(m, choices[choice]) for m, choice in runnable.get(key, ())]),
            external=_ladder([(m, externals[kernel]) for m, kernel in foreign.get(key, ())]),
            rows=_by_m(selected.get(key, ()), external.get(key, ())),
        )
        for key in sorted(selected.keys() | external.keys())
    }
    return TablePlan(target, groups, tuple(choices), tuple(externals))


def _choice(entry: Entry, index: Mapping[KernelKey, int], numbers: dict[int, int]) -> Choice:
    """`numbers` remembers an identified kernel's index: hashing its Config once per kernel, not once per row."""
    kernel = entry.kernel
    assert kernel is not None
    number = numbers.get(id(kernel))
    if number is None:
        number = numbers[id(kernel)] = index[kernel.backend, kernel.config]
    return Choice(number, 0 if entry.row.k_batch is None else entry.row.k_batch)


def _ladder(measured: list[tuple[int, int]]) -> Ladder:
    return Ladder.from_measured(measured) if measured else EMPTY_LADDER


def _by_m(*sides: Iterable[Entry]) -> dict[int, TunedRow]:
    return {entry.row.shape.m: entry.row for side in sides for entry in side}
