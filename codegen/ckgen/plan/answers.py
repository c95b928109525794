"""Whether an arch has a kernel for a signature: in every library, where it is asked for by name, or none and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from typing import Any

from ckgen.families.registry import FAMILIES
from ckgen.families.robust import robust, why_codeless
from ckgen.model.arch import CPU_LEVELS, ArchKind, ArchSpec, levels_of
from ckgen.model.config import Config
from ckgen.model.dtype import Fp8Flavour
from ckgen.plan.defaults import Profiled, kernel_defaults
from ckgen.plan.filters import Filters
from ckgen.plan.legal import Offers
from ckgen.specs.archs import load_archs


class Answer(Enum):
    """Whose kernel answers: every library's, that of a library that asks for the signature by name, or none."""

    ALWAYS = "every library"
    BY_NAME = "asked for by name"
    NEVER = "none"


@dataclass(frozen=True, slots=True)
class Answered:
    """How a signature is answered on an arch; `why` says what is missing: a kernel, or where there is one GPU code."""

    answer: Answer
    why: str = ""


def answered(signature: Any, arch: ArchSpec) -> Answered:
    """How a signature, a plain fp8 in which is the arch's own or on a CPU OCP's, is answered."""
    resolved = signature.resolved(Fp8Flavour.OCP if arch.kind is ArchKind.CPU else arch.fp8_flavour)
    for level in levels_of(arch.name):
        if (resolved, level) in _defaults():
            return Answered(Answer.ALWAYS, _code_lacks(resolved, level))
    found = robust(resolved, arch.name)
    if not found.configs:
        return Answered(Answer.NEVER, found.why)
    return Answered(Answer.BY_NAME, found.codeless)


@cache
def _defaults() -> Mapping[tuple[Any, str], tuple[Config, ...]]:
    """The defaults of a library of all archs, by signature and arch."""
    offers = Offers(tuple(load_archs().values()), Filters())
    found, _ = kernel_defaults(offers, (), Profiled(), FAMILIES)
    return {
        (signature, arch): tuple(kernel.config for kernel in kernels)
        for signature, by_arch in found.items()
        for arch, kernels in by_arch.items()
        if kernels
    }


@cache
def _code_lacks(signature: Any, gfx: str) -> str:
    """Why none of the defaults has GPU code; empty where one has, and on a CPU."""
    if gfx in CPU_LEVELS:
        return ""
    lacks = [why_codeless(signature, config, gfx) for config in _defaults()[signature, gfx]]
    return "" if None in lacks else lacks[0] or ""
