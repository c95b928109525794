"""Which problems the tables send to each instance: what decides the device kernels that it needs."""

from __future__ import annotations

from collections.abc import Mapping

from ckgen.families.common.device.unit import Use
from ckgen.families.registry import family_of
from ckgen.plan.model import AnyInstance, GenerationPlan

Uses = Mapping[AnyInstance, Mapping[str, frozenset[Use]]]
"""By instance, then by arch."""


def uses_of(plan: GenerationPlan) -> Uses:
    """The measured problems of every instance, per arch; instances that only answer by default have none.

    A part of another instance has those of the whole, as the sizes of its own product.
    """
    found: dict[AnyInstance, dict[str, set[Use]]] = {instance: {} for instance in plan.instances}
    for unit in plan.units:
        for table in unit.tables:
            for number, use in table.uses():
                found[unit.instances[number]].setdefault(table.target.gfx, set()).add(use)
    named = {instance.name: instance for instance in found}
    for whole, by_arch in found.items():
        for part in whole.parts:
            family, signature = family_of(part.signature), part.signature
            for arch, uses in by_arch.items():
                of_part = found[named[part.name]].setdefault(arch, set())
                of_part.update(family.part_use(signature, use) for use in uses)
    return {instance: {arch: frozenset(uses) for arch, uses in by_arch.items()} for instance, by_arch in found.items()}
