"""A kernel to emulate: its instance, what is compiled of it, and its entry in a library of its own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ckgen.build.device_code import variants_of
from ckgen.build.planned import Planned, PlannedHost, plan_host, plan_kernel
from ckgen.emit.render import render
from ckgen.families.common.device.unit import Use
from ckgen.families.common.policy import MPolicy
from ckgen.families.common.unit import UnitPlan
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.measured import GemmUnit
from ckgen.plan.model import GenerationPlan

LIBRARY = "ckgen_emulated"
DEVICE_LIBRARY = "ckgen_emulated_device"

_VISIBLE = "#pragma GCC visibility push(default)\n"  # HIP's compilers hide by default


@dataclass(frozen=True, slots=True)
class GemmKernel:
    """An instance on an arch; `uses` are the tables' problems that choose it, none where it answers by default."""

    instance: Instance
    arch: str
    uses: tuple[Use, ...]


@dataclass(frozen=True, slots=True)
class KernelUnits:
    """What is compiled: device code, its host unit, and the constants that register both; the second of two parts."""

    device: Planned
    host: PlannedHost
    registry: str
    second: KernelUnits | None = None

    @property
    def pieces(self) -> tuple[KernelUnits, ...]:
        """Each with device code of its own."""
        return (self,) if self.second is None else (self, self.second)


def units_of(kernel: GemmKernel, problems: Iterable[Use]) -> KernelUnits:
    """In the variants that the tables reach where those do for `problems`, as a build has them; else in theirs."""
    instance, asked = kernel.instance, tuple(problems)
    if kernel.arch not in instance.archs:
        instance = replace(instance, archs=(kernel.arch,))
    if instance.parts:
        gate_up, down = (replace(part, archs=(kernel.arch,)) for part in instance.parts)
        turned = tuple(Use(replace(use.shape, n=use.shape.k, k=use.shape.n), use.k_batch) for use in asked)
        first = units_of(GemmKernel(gate_up, kernel.arch, asked), asked)
        second = units_of(GemmKernel(down, kernel.arch, turned), turned)
        return replace(first, registry=_registry(instance), second=second)
    uses: tuple[Use, ...] = kernel.uses
    if not set(variants_of(instance, asked)) <= set(variants_of(instance, uses)):
        uses = asked
    return KernelUnits(
        plan_kernel(instance, kernel.arch, uses), plan_host(instance, {kernel.arch: uses}), _registry(instance)
    )


def _registry(instance: Instance) -> str:
    held = (*instance.parts, instance)
    units: tuple[GemmUnit, ...] = tuple(UnitPlan(one.signature, (one,), {}, one.module) for one in held)
    return registry_source(GenerationPlan((), MPolicy.LADDER, units))


def registry_source(plan: GenerationPlan) -> str:
    """One source of LIBRARY: the descriptors of the plan's units, and the functions that RuntimeLibrary looks for."""
    texts = render(plan, LIBRARY)
    header = f"include/{LIBRARY}/register.hpp"
    units = [text for path, text in texts.items() if path.endswith("/unit.cpp")]
    left_out = ("#pragma once\n", f"#include <{LIBRARY}/register.hpp>\n")
    source = "\n".join([_VISIBLE, texts[header], *units, texts["register.cpp"]])
    for line in left_out:
        source = source.replace(line, "")
    return source
