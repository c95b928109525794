"""Kernels that no table row names: the shipped defaults, the leaves of decision rules, users' kernel sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from ckgen.families.gemm.grammar import Identified, identify
from ckgen.families.gemm.heuristic import DecisionRule, heuristic_for
from ckgen.families.gemm.kernel_set import OPS, read_kernel_set, shipped_name, shipped_set
from ckgen.families.gemm.signature import GemmSignature, module_of
from ckgen.families.grouped_gemm.deepgemm import MODULE as DEEPGEMM
from ckgen.families.grouped_gemm.deepgemm import config_of, is_deepgemm
from ckgen.model.arch import ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.diagnostic import Diagnostic, Location, Severity
from ckgen.model.errors import InputError
from ckgen.model.finding import Finding
from ckgen.model.target import Target
from ckgen.plan.offers import GemmOffers, Keep, Offers, of_flavour
from ckgen.plan.profile import HEURISTICS, Admission, Profile, admission, covering
from ckgen.plan.units import Kernel, SignatureDefaults, SignatureHeuristic

Defaults = dict[GemmSignature, SignatureDefaults]


@dataclass(slots=True)
class SetYields:
    """Which of the users' kernel sets gave something, to any op, and what to say of one that gives nothing to all."""

    fruitful: set[str] = field(default_factory=set)
    empty: dict[str, Diagnostic] = field(default_factory=dict)

    def add(self, path: Path, asked: Sequence[Asked], rejected: Iterable[Finding] | None) -> None:
        """What was asked of a set for one op, and the findings that refused all of it; None where any was taken."""
        name = shipped_name(path) or str(path)
        if rejected is None:
            self.fruitful.add(name)
        elif asked:
            self.empty.setdefault(name, _yields_nothing(path, asked, rejected))

    def findings(self) -> tuple[Diagnostic, ...]:
        """An error for every set that gave nothing; a shipped set of several ops is one set."""
        return tuple(finding for name, finding in self.empty.items() if name not in self.fruitful)


class Asked(Protocol):
    """A kernel that a set asks for, and where it does."""

    @property
    def location(self) -> Location:
        """The place in the set."""
        ...


@dataclass(slots=True)
class Profiled:
    """The profiles, and how many kernels they left out so far, by source."""

    profiles: tuple[Profile, ...] = ()
    left_out: Counter[str] = field(default_factory=Counter)


def kernel_defaults(
    offers: Offers, sets: Sequence[Path], profiled: Profiled, yields: SetYields, ops: Iterable[str] = ("gemm",)
) -> tuple[Defaults, tuple[Diagnostic, ...]]:
    """The shipped defaults and, after them, the users' own kernels; `yields` hears what came of each set."""
    found: _Found = {}
    findings: list[Diagnostic] = []
    for op in OPS:
        if op in ops:
            _collect(found, offers.gemm(shipped_set("default", op)), profiled)
    for path in sets:
        try:
            candidates = read_kernel_set(path)
        except InputError as error:
            findings += error.diagnostics
            continue
        yields.add(path, candidates, _collect(found, offers.gemm(candidates), profiled))
    defaults = {
        signature: SignatureDefaults(
            signature,
            module_of(signature) or "",
            {arch: _needed(signature, kernels, profiled) for arch, kernels in by_arch.items()},
        )
        for signature, by_arch in found.items()
    }
    return defaults, tuple(findings)


def heuristics_for(
    signature: GemmSignature,
    module: str,
    targets: Sequence[Target],
    archs: Mapping[str, ArchSpec],
    keep: Keep,
    profiled: Profiled,
) -> tuple[SignatureHeuristic, ...]:
    """The decision rules of the signature's module on the requested archs, with the kernel of every arm."""
    found = []
    ruled = DEEPGEMM if is_deepgemm(signature) else module
    for arch in sorted({target.gfx for target in targets}):
        rule = heuristic_for(ruled, arch)
        if rule is None or not of_flavour(signature, archs[arch].fp8_flavour):
            continue
        leaves = []
        for arm in rule.arms:
            kernel = _identified(rule, arm.kernel, signature)
            if kernel is None:
                raise ValueError(f"heuristics/{arch}_{ruled}.json: '{arm.kernel}' does not parse")
            leaves.append(Kernel(kernel.backend, kernel.config, arm.kernel, (arch,)))
        if any(keep((signature,), leaf.table_kernel, leaf.backend) is not None for leaf in leaves):
            continue
        if all(admission(profiled.profiles, signature, leaf.backend, HEURISTICS) for leaf in leaves):
            found.append(SignatureHeuristic(rule, tuple(leaves)))
        else:
            profiled.left_out[HEURISTICS] += len(set(leaves))
    return tuple(found)


def _identified(rule: DecisionRule, name: str, signature: GemmSignature) -> Identified | None:
    if rule.module != DEEPGEMM:
        return identify(rule.module, rule.library, name)
    config = config_of(name, signature.a)
    return Identified(config, Backend.CK_TILE) if config is not None else None


@dataclass(slots=True)
class _Kept:
    """A kernel of a set, and whether it may give way to one that takes its problems."""

    kernel: Kernel
    source: str
    admission: Admission


_Found = dict[GemmSignature, dict[str, dict[Kernel, _Kept]]]


def _needed(signature: GemmSignature, kernels: Mapping[Kernel, _Kept], profiled: Profiled) -> tuple[Kernel, ...]:
    """All that are kept as they are, and of the others those that no other of them replaces; in order of preference."""
    giving = [kept for kept in kernels.values() if kept.admission is Admission.COVER]
    needed = {giving[at].kernel for at in covering(signature, [kept.kernel.config for kept in giving])}
    for kept in giving:
        profiled.left_out[kept.source] += kept.kernel not in needed
    return tuple(kernel for kernel, kept in kernels.items() if kept.admission is Admission.IN or kernel in needed)


def _collect(found: _Found, offers: Sequence[GemmOffers], profiled: Profiled) -> list[Finding] | None:
    """Adds what is valid on the requested archs; the findings that refused all of it, None where anything was valid."""
    for one in offers:
        if not one.valid:
            continue
        admitted = admission(profiled.profiles, one.signature, one.backend, one.source)
        if admitted is Admission.OUT:
            profiled.left_out[one.source] += len(one.valid)
            continue
        kept = found.setdefault(one.signature, {}).setdefault(one.arch, {})
        for offer in one.valid:
            kernel = Kernel(one.backend, offer.config, offer.candidate.table_kernel, (one.arch,))
            known = kept.setdefault(kernel, _Kept(kernel, one.source, admitted))
            known.admission = max(known.admission, admitted)
    if any(one.valid for one in offers):
        return None
    return [finding for one in offers for offer in one.offers for finding in offer.findings]


def _yields_nothing(path: Path, candidates: Sequence[Asked], rejected: Iterable[Finding]) -> Diagnostic:
    reasons = tuple(dict.fromkeys(str(finding) for finding in rejected))
    return Diagnostic(
        "K009",
        f"none of the {len(candidates)} kernels of this set is valid on the requested targets",
        candidates[0].location,
        detail=reasons[:8] or ("its targets and backends fit none of --targets",),
        hint=f"see `ckgen list rules`; the set is {path}",
        severity=Severity.ERROR,
    )
