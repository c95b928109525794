"""Kernel sets → the units of attention: what is valid on the requested archs and kept by filters and profiles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ckgen.families.fmha.grammar import AnyFmhaConfig
from ckgen.families.fmha.instance import make_fmha_instance
from ckgen.families.fmha.kernel_set import read_fmha_set
from ckgen.families.fmha.signature import OP, FmhaSignature
from ckgen.families.gemm.kernel_set import SHIPPED, kernel_set_files
from ckgen.model.diagnostic import Diagnostic
from ckgen.model.errors import InputError
from ckgen.model.finding import Finding
from ckgen.plan.defaults import Profiled, SetYields
from ckgen.plan.fmha_rows import FmhaRows
from ckgen.plan.model import FmhaUnit
from ckgen.plan.offers import FmhaOffers, Offers
from ckgen.plan.profile import Admission
from ckgen.plan.profile_fmha import admitted_by, clauses_about, covering_fmha, fmha_sources


@dataclass(slots=True)
class _Kept:
    """The set that asked first for a kernel, and whether it may give way to one that takes its problems."""

    source: str
    admission: Admission


_ByConfig = dict[AnyFmhaConfig, _Kept]


@dataclass(slots=True)
class _Gathered:
    """By signature and arch, the kernels in order of preference."""

    profiled: Profiled
    found: dict[FmhaSignature, dict[str, _ByConfig]] = field(default_factory=dict)

    def add(self, offers: Iterable[FmhaOffers], *, asked: bool = True) -> list[Finding] | None:
        """Adds what is valid on the archs; the findings that refused all of it, None where anything was taken.

        Of a set that nobody `asked` for but profiles, what they leave out is not looked at.
        """
        rejected: list[Finding] = []
        taken = False
        for one in offers:
            clauses = clauses_about(self.profiled.profiles, one.words, one.source)
            if not asked and not clauses:
                continue
            kept: _ByConfig | None = None
            for offer in one.offers:
                admitted = admitted_by(clauses, one.signature, offer.config) if clauses else Admission.OUT
                if admitted is Admission.OUT and not asked:
                    continue
                findings = offer.findings
                rejected += findings
                taken = taken or not findings
                if not findings and admitted is Admission.OUT:
                    self.profiled.left_out[one.source] += 1
                elif not findings:
                    if kept is None:
                        kept = self.found.setdefault(one.signature, {}).setdefault(one.arch, {})
                    known = kept.setdefault(offer.config, _Kept(one.source, admitted))
                    known.admission = max(known.admission, admitted)
        return None if taken else rejected

    def needed(self, signature: FmhaSignature, kernels: _ByConfig) -> tuple[AnyFmhaConfig, ...]:
        """All that are kept as they are, and of the others those that no other of them replaces."""
        giving = [config for config, kept in kernels.items() if kept.admission is Admission.COVER]
        needed = {giving[at] for at in covering_fmha(signature, giving)}
        for config in giving:
            self.profiled.left_out[kernels[config].source] += config not in needed
        return tuple(one for one, kept in kernels.items() if kept.admission is Admission.IN or one in needed)


def fmha_units(
    offers: Offers, sets: Sequence[Path], profiled: Profiled, yields: SetYields, rows: FmhaRows
) -> tuple[tuple[FmhaUnit, ...], tuple[Diagnostic, ...]]:
    """The units by name: of the shipped defaults, the sets that profiles choose from, the users' own, and of tables."""
    gathered = _Gathered(profiled)
    findings: list[Diagnostic] = []
    chosen = fmha_sources(profiled.profiles)
    for name in SHIPPED:
        if name == "default" or name in chosen:
            for file in kernel_set_files(Path(name), (OP,)):
                gathered.add(offers.fmha(read_fmha_set(file)), asked=name == "default")
    for path in sets:
        try:
            candidates = read_fmha_set(path)
        except InputError as error:
            findings += error.diagnostics
            continue
        yields.add(path, candidates, gathered.add(offers.fmha(candidates)))
    signatures = gathered.found.keys() | rows.selected.keys()
    units = (_unit(gathered, signature, gathered.found.get(signature, {}), rows) for signature in signatures)
    return tuple(sorted(units, key=lambda unit: unit.name)), tuple(findings)


def _unit(gathered: _Gathered, signature: FmhaSignature, by_arch: Mapping[str, _ByConfig], rows: FmhaRows) -> FmhaUnit:
    needed = {arch: gathered.needed(signature, kernels) for arch, kernels in sorted(by_arch.items())}
    on: dict[AnyFmhaConfig, list[str]] = {}
    for arch, configs in needed.items():
        for config in configs:
            on.setdefault(config, []).append(arch)
    for config, archs in rows.configs(signature).items():
        on.setdefault(config, []).extend(archs)
    made = (make_fmha_instance(signature, config, names) for config, names in on.items())
    instances = tuple(sorted(made, key=lambda instance: instance.name))
    index = {instance.config: number for number, instance in enumerate(instances)}
    defaults = {arch: tuple(index[config] for config in configs) for arch, configs in needed.items()}
    return FmhaUnit(signature, instances, defaults, rows.tables(signature, index))
