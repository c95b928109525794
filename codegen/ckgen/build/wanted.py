"""Which kernels a build is for, and their texts; kept between runs, as reading all tables takes seconds."""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from ckgen.build.device_code import BACKENDS
from ckgen.build.kept import keep, kept
from ckgen.build.planned import Planned, PlannedHost, plan_host, plan_kernel
from ckgen.emit.manifest import generator_digest
from ckgen.families.common.device.unit import Use
from ckgen.families.common.signature import of_flavour
from ckgen.families.kernel_sets import shipped_set_files
from ckgen.families.rules import judge
from ckgen.model.arch import ArchSpec
from ckgen.model.document import YAML, DocumentError, read_bytes
from ckgen.model.errors import UsageError
from ckgen.plan.model import AnyInstance, GenerationPlan
from ckgen.plan.options import PlanOptions
from ckgen.plan.planner import demand_right, make_plan
from ckgen.plan.uses import uses_of
from ckgen.tables.load import find_tables

_SCHEMA = "ckgen.build_plan/2"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to build: device code by kernel and arch, and one host unit for every kernel with device code."""

    kernels: tuple[Planned, ...]
    hosts: tuple[PlannedHost, ...]


@dataclass(frozen=True, slots=True)
class KernelFilter:
    """Of the plan's instances: those whose name or table name fits a glob (none: all), the first `limit` by name."""

    globs: tuple[str, ...]
    limit: int | None

    @property
    def explicit(self) -> bool:
        """Whether kernels are chosen: then also from the search spaces, and for every target where they are legal."""
        return bool(self.globs) or self.limit is not None


def wanted_kernels(
    options: PlanOptions, kernel_filter: KernelFilter, archs: Mapping[str, ArchSpec], cache: Path
) -> Wanted:
    """The kernels of tables, kernel sets and defaults, and where a glob names them of the search spaces.

    InputError for tables or sets that are wrong; UsageError where nothing is left.
    """
    options, spaces = with_spaces(options, kernel_filter)
    place = cache / "plans" / f"{plan_digest(options, kernel_filter)}.json"
    found = _read(place)
    if found is None:
        found = _plan(options, kernel_filter, archs, spaces)
        _write(place, found)
    if not found.kernels:
        raise UsageError("no GPU kernel is asked for: see `ckgen list instances`, --kernels, --backend and --targets")
    return found


def with_spaces(options: PlanOptions, kernel_filter: KernelFilter) -> tuple[PlanOptions, frozenset[str]]:
    """The options with the search spaces where globs may name kernels of them, and the files that this adds."""
    shipped = frozenset(shipped_set_files(options.ops) if kernel_filter.globs else ())
    spaces = shipped - set(options.kernel_sets)
    return replace(options, kernel_sets=(*options.kernel_sets, *sorted(spaces))), frozenset(map(str, spaces))


def chosen_instances(
    options: PlanOptions, kernel_filter: KernelFilter, archs: Mapping[str, ArchSpec], spaces: Container[str]
) -> tuple[GenerationPlan, tuple[AnyInstance, ...]]:
    """The plan, and of its instances those that the filter takes, by name; of a layer in parts, its parts.

    `spaces` are files that nobody named: one of which nothing is valid here is no error. InputError for tables or sets
    that are wrong.
    """
    plan = make_plan(options, archs)
    demand_right(plan, spaces)
    named = {i.name: i for i in plan.instances}
    fitting = (i for i in plan.instances if i.backend in BACKENDS and _fits(i, kernel_filter.globs))
    chosen = {part.name for instance in fitting for part in instance.parts or (instance,)}
    return plan, tuple(named[name] for name in sorted(chosen))[: kernel_filter.limit]


def _plan(
    options: PlanOptions, kernel_filter: KernelFilter, archs: Mapping[str, ArchSpec], spaces: Container[str]
) -> Wanted:
    plan, chosen = chosen_instances(options, kernel_filter, archs, spaces)
    targets = sorted({target.gfx for target in options.targets or plan.targets})
    all_uses = uses_of(plan)
    kernels: list[Planned] = []
    hosts: list[PlannedHost] = []
    for instance in chosen:
        uses = all_uses.get(instance, {})
        available: dict[str, frozenset[Use]] = {}
        for arch in targets:
            if arch not in instance.archs and not (kernel_filter.explicit and is_legal(instance, archs[arch])):
                continue
            of_arch = uses.get(arch) or frozenset().union(*uses.values())
            planned = plan_kernel(instance, arch, of_arch)
            kernels.append(planned)
            if not planned.unavailable:
                available[arch] = of_arch
        if available:
            hosts.append(plan_host(instance, available))
    return Wanted(tuple(kernels), tuple(hosts))


def _fits(instance: AnyInstance, globs: Iterable[str]) -> bool:
    names = (instance.name, instance.table_kernel, instance.config.text())
    return not globs or any(name and fnmatchcase(name, glob) for glob in globs for name in names)


def is_legal(instance: AnyInstance, arch: ArchSpec) -> bool:
    """Whether the rules let the instance be built for the arch."""
    findings = judge(instance.signature, instance.config, instance.backend, arch)
    return of_flavour(instance.signature, arch.fp8_flavour) and not list(findings)


def plan_digest(options: PlanOptions, kernel_filter: KernelFilter) -> str:
    """One number for everything that decides the plan: this package, the options, the bytes of tables and sets."""
    total = hashlib.sha256()
    files = [table.source for table in find_tables(options.tuning)]
    asked: list[object] = [
        options.targets,
        sorted(options.ops),
        options.module,
        sorted(options.backends),
        options.signatures,
        options.named,
        options.kernels,
    ]
    asked += [sorted(options.assume_gfx.items()), options.every_count, options.m_policy.value, kernel_filter]
    asked += [options.assume_dtype, len(options.profiles)]
    for part in (_SCHEMA, generator_digest(), repr(asked)):
        total.update(f"{part}\0".encode())
    for path in files:
        total.update(hashlib.sha256(path.read_bytes()).digest())
    for path in (*options.kernel_sets, *options.profiles):
        with suppress(DocumentError):  # whoever plans with it says what is wrong
            total.update(hashlib.sha256(read_bytes(path, YAML)).digest())
    return total.hexdigest()


def _read(place: Path) -> Wanted | None:
    fields = kept(place, _SCHEMA)
    if fields is None:
        return None
    kernels = tuple(map(Planned.from_json, fields["kernels"]))
    return Wanted(kernels, tuple(map(PlannedHost.from_json, fields["hosts"])))


def _write(place: Path, wanted: Wanted) -> None:
    document = {
        "kernels": [kernel.to_json() for kernel in wanted.kernels],
        "hosts": [host.to_json() for host in wanted.hosts],
    }
    keep(place, _SCHEMA, document)
