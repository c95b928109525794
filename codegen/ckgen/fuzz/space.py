"""What cases are drawn from: the signatures, instances and tables of one built library, on every target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.measured import GemmUnit, GroupKey
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.arch import ArchSpec, levels_of
from ckgen.model.backend import Backend
from ckgen.model.target import Target
from ckgen.plan.model import AnyInstance, GenerationPlan

ODD_COUNTS = (1, 2, 7, 33)
"""CU counts that no table names, beside those that some table of the arch does."""


@dataclass(frozen=True, slots=True)
class Measured:
    """The sizes M that a target's table measured of one (N, K, batch)."""

    target: Target
    key: GroupKey
    m: tuple[int, ...]


@dataclass(frozen=True)
class Space:
    """A plan and the archs that it was made for."""

    plan: GenerationPlan
    archs: Mapping[str, ArchSpec]
    _of_type: dict[type, tuple[Any, ...]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def units(self) -> tuple[GemmUnit, ...]:
        """Every signature of GEMMs, groups of them and experts that has an instance."""
        return self.units_of(GemmSignature)

    @cached_property
    def tabled(self) -> tuple[GemmUnit, ...]:
        """Those of `units` that have tables; all where none has."""
        return tuple(unit for unit in self.units if unit.tables) or self.units

    def units_of(self, signatures: type) -> tuple[Any, ...]:
        """Every signature of a type that has an instance."""
        if signatures not in self._of_type:
            found: tuple[Any, ...] = self.plan.units_of(signatures)
            self._of_type[signatures] = tuple(unit for unit in found if unit.instances)
        return self._of_type[signatures]

    @cached_property
    def instances(self) -> Mapping[str, Instance]:
        """By name, of `units`."""
        return {instance.name: instance for unit in self.units for instance in unit.instances}

    @cached_property
    def all_instances(self) -> Mapping[str, AnyInstance]:
        """By name."""
        return {instance.name: instance for instance in self.plan.instances}

    def apart(self, built: Mapping[str, int]) -> str:
        """The first instance that a library, by its names and ids, and the plan do not both have; empty: there is none.
        A library that was built of the plan as it is has all."""
        planned = {one.name: one.id for one in self.plan.instances}
        return min(name for name, _ in built.items() ^ planned.items()) if built != planned else ""

    @cached_property
    def decoding(self) -> tuple[tuple[GemmUnit, Instance], ...]:
        """The kernels for few rows, each with its signature's unit."""
        return tuple((unit, one) for unit in self.units for one in unit.instances if one.backend is Backend.HIP)

    @cached_property
    def targets(self) -> tuple[Target, ...]:
        """Every arch at several CU counts; on a CPU that is the number of cores."""
        return tuple(target for arch in sorted(self.archs) for target in self._targets_of(arch))

    @cached_property
    def by_arch(self) -> Mapping[str, tuple[Target, ...]]:
        """The same, by arch."""
        return {arch: self._targets_of(arch) for arch in self.archs}

    @cached_property
    def measured(self) -> Mapping[str, tuple[Measured, ...]]:
        """What the tables measured, by canonical signature."""
        return {
            unit.name: tuple(
                Measured(table.target, key, tuple(sorted(group.rows)))
                for table in unit.tables
                for key, group in sorted(table.groups.items())
            )
            for unit in self.units
        }

    def _targets_of(self, arch: str) -> tuple[Target, ...]:
        named = {target.cu_num for target in self.plan.targets if target.gfx == arch}
        counts = {*named, *ODD_COUNTS, self.archs[arch].default_cu_num}
        return tuple(Target(arch, count) for count in sorted(counts))


def runs_on(instance: AnyInstance, gfx: str) -> bool:
    """Whether the instance is built for the arch; a CPU also runs what is built for a lower level."""
    return not {*levels_of(gfx)}.isdisjoint(instance.archs)
