"""A kernel to emulate: its instance, what is compiled of it, and its entry in a library of its own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ckgen.build.device_code import variants_of
from ckgen.build.planned import Planned, PlannedHost, plan_host, plan_kernel
from ckgen.emit.render import render
from ckgen.families.gemm.device.model import Use
from ckgen.families.gemm.instance import Instance
from ckgen.plan.model import GenerationPlan, UnitPlan
from ckgen.plan.policy import MPolicy

LIBRARY = "ckgen_emulated"
DEVICE_LIBRARY = "ckgen_emulated_device"

_VISIBLE = "#pragma GCC visibility push(default)\n"  # HIP's compilers hide by default
_DEVICE_ENTRY = f"""
#include <ckgen/device_code.hpp>

namespace {DEVICE_LIBRARY} {{
const ckgen::DeviceLibrary& device_library() noexcept;
}}
extern "C" const void* ckgen_{DEVICE_LIBRARY}_device_library() {{ return &{DEVICE_LIBRARY}::device_library(); }}
"""


@dataclass(frozen=True, slots=True)
class GemmKernel:
    """An instance on an arch; `uses` are the tables' problems that choose it, none where it answers by default."""

    instance: Instance
    arch: str
    uses: tuple[Use, ...]


@dataclass(frozen=True, slots=True)
class KernelUnits:
    """What is compiled: device code, its host unit, and the constants that register both."""

    device: Planned
    host: PlannedHost
    registry: str


def units_of(kernel: GemmKernel, problems: Iterable[Use]) -> KernelUnits:
    """In the variants that the tables reach where those do for `problems`, as a build has them; else in theirs."""
    instance = kernel.instance
    if kernel.arch not in instance.archs:
        instance = replace(instance, archs=(kernel.arch,))
    uses: tuple[Use, ...] = kernel.uses
    asked = tuple(problems)
    if not set(variants_of(instance, asked)) <= set(variants_of(instance, uses)):
        uses = asked
    return KernelUnits(
        plan_kernel(instance, kernel.arch, uses), plan_host(instance, {kernel.arch: uses}), _registry(instance)
    )


def _registry(instance: Instance) -> str:
    """One source: the instance's descriptor, and the functions that RuntimeLibrary looks for."""
    unit = UnitPlan(instance.signature, instance.module, (instance,), (), (), {})
    plan = GenerationPlan((), MPolicy.LADDER, (unit,), (), (), (), {}, ())
    texts = render(plan, LIBRARY)
    header = f"include/{LIBRARY}/register.hpp"
    parts = [texts[header], texts[f"{instance.signature.canonical()}/unit.cpp"], texts["register.cpp"]]
    left_out = ("#pragma once\n", f"#include <{LIBRARY}/register.hpp>\n")
    source = "\n".join([_VISIBLE, *parts, _DEVICE_ENTRY])
    for line in left_out:
        source = source.replace(line, "")
    return source
