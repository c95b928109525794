"""Which problems the tables send to each instance: what decides the device kernels that it needs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from ckgen.families.common.device.unit import Use
from ckgen.families.gemm.enums import MoePart
from ckgen.families.gemm.instance import Instance
from ckgen.model.tuned_row import Shape
from ckgen.plan.model import GenerationPlan, TablePlan, UnitPlan

Uses = Mapping[Instance, Mapping[str, frozenset[Use]]]
"""By instance, then by arch."""


def uses_of(plan: GenerationPlan) -> Uses:
    """The measured problems of every instance, per arch; instances that only answer by default have none.

    A part of an MoE layer has those of its layers, as the sizes of its own product.
    """
    found: dict[Instance, dict[str, set[Use]]] = {instance: {} for instance in plan.instances}
    for unit in plan.units:
        for table in unit.tables:
            _gather(unit, table, found)
    _share_with_parts(found)
    return {instance: {arch: frozenset(uses) for arch, uses in by_arch.items()} for instance, by_arch in found.items()}


def _gather(unit: UnitPlan, table: TablePlan, found: Mapping[Instance, dict[str, set[Use]]]) -> None:
    by_choice: dict[int, set[Use]] = defaultdict(set)
    for (n, k, batch), group in table.groups.items():
        for rung in group.runnable.rungs:
            k_batch = max(table.choices[rung.choice].k_batch, 1)
            for m in range(rung.first, rung.last + 1, rung.step):
                by_choice[rung.choice].add(Use(Shape(batch, m, n, k), k_batch))
    for choice, uses in by_choice.items():
        instance = unit.instances[table.choices[choice].instance]
        found[instance].setdefault(table.target.gfx, set()).update(uses)


def _share_with_parts(found: Mapping[Instance, dict[str, set[Use]]]) -> None:
    named = {instance.name: instance for instance in found}
    for layer, by_arch in found.items():
        for part in layer.parts:
            for arch, uses in by_arch.items():
                found[named[part.name]].setdefault(arch, set()).update(_of_part(part.signature.moe.part, uses))


def _of_part(part: MoePart, uses: Iterable[Use]) -> Iterator[Use]:
    """What is N of gate_up is K of down."""
    for use in uses:
        shape = use.shape
        n, k = (shape.k, shape.n) if part is MoePart.DOWN else (shape.n, shape.k)
        yield Use(Shape(shape.batch, shape.m, n, k), use.k_batch)
