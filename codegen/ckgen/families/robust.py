"""The kernels of a signature that no kernel set names: of its family's list, the first that rules let the arch have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from ckgen.families.common.signature import Signature, of_flavour
from ckgen.families.registry import family_of, make_instance
from ckgen.families.rules import judge
from ckgen.model.arch import ArchKind, ArchSpec
from ckgen.model.config import Config
from ckgen.model.finding import RuleFinding
from ckgen.specs.archs import load_arch


@dataclass(frozen=True, slots=True)
class Robust:
    """The Configs of its kernels, or none and why.

    `codeless` is why no GPU code can be made for the arch, where host twins compute it; empty where some can.
    """

    configs: tuple[Config, ...]
    why: str = ""
    codeless: str = ""


@cache
def robust(signature: Any, gfx: str) -> Robust:
    """The kernels of a signature, a plain fp8 in which is the arch's own, on an arch.

    Those without GPU code answer only on archs that no code is made for.
    """
    arch, family = load_arch(gfx), family_of(signature)
    resolved = signature.resolved(arch.fp8_flavour)
    if arch.kind is ArchKind.GPU and not of_flavour(resolved, arch.fp8_flavour):
        has = "are of the other flavour" if arch.fp8_flavour else "are none"
        return Robust((), f"8-bit floats of {gfx} {has}")
    refused: list[tuple[RuleFinding, ...]] = []
    lacking: list[tuple[tuple[Config, ...], str]] = []
    for of_all in family.robust_configs(resolved, arch):
        alternative = [config for config in of_all if config.backend.vendor in ("", str(arch.vendor))]
        findings = [judge(resolved, config, config.backend, arch) for config in alternative]
        legal = tuple(config for config, found in zip(alternative, findings, strict=True) if not found)
        refused += filter(None, findings)
        lacks = {config: lack for config in legal if (lack := _lacking(resolved, config, arch))}
        if built := tuple(config for config in legal if config not in lacks):
            return Robust(built)
        if legal:
            lacking.append((legal, lacks[legal[0]]))
    if not lacking:
        return Robust((), _reason(refused))
    configs, lack = lacking[0]
    return Robust((), lack) if family.makes_code_for(gfx) else Robust(configs, codeless=lack)


def _lacking(signature: Signature, config: Config, arch: ArchSpec) -> str | None:
    if arch.kind is ArchKind.CPU:
        return None
    return why_codeless(signature, config, arch.name)


def why_codeless(signature: Any, config: Config, gfx: str) -> str | None:
    """Why no code can be made for a GPU of a kernel, or of one that it is made of; None where it can."""
    instance, family = make_instance(signature, config, archs=(gfx,)), family_of(signature)
    lacks = (family.device_code(one).unavailable(gfx) for one in instance.parts or (instance,))
    return next((lack for lack in lacks if lack), None)


def _reason(refused: Sequence[tuple[RuleFinding, ...]]) -> str:
    """What most kernels break, as the one with the fewest findings says it."""
    if not refused:
        return "no kernel computes it"
    counts = Counter(rule for findings in refused for rule in {one.rule for one in findings})
    nearest = min(refused, key=lambda findings: len(findings))
    return str(max(nearest, key=lambda one: counts[one.rule]))
