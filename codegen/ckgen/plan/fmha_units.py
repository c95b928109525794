"""Kernel sets → the units of attention: what is valid on the requested archs and kept by filters and profiles."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ckgen.families.fmha.grammar import AnyFmhaConfig
from ckgen.families.fmha.instance import make_fmha_instance
from ckgen.families.fmha.kernel_set import FmhaCandidate, load_fmha_set, read_fmha_set
from ckgen.families.fmha.signature import OP, FmhaSignature
from ckgen.families.gemm.kernel_set import SHIPPED, kernel_set_files
from ckgen.model.arch import ArchKind, ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.diagnostic import Diagnostic
from ckgen.model.errors import InputError
from ckgen.model.finding import Finding
from ckgen.model.target import Target
from ckgen.plan.defaults import Keep, Profiled, SetYields, of_flavour
from ckgen.plan.model import FmhaUnit
from ckgen.plan.profile import Admission
from ckgen.plan.profile_fmha import covering_fmha, fmha_admission, fmha_sources
from ckgen.rules import judge


@dataclass(slots=True)
class _Kept:
    """The set that asked first for a kernel, and whether it may give way to one that takes its problems."""

    source: str
    admission: Admission


_ByConfig = dict[AnyFmhaConfig, _Kept]


@dataclass(slots=True)
class _Gathered:
    """By signature and arch, the kernels in order of preference."""

    names: Sequence[str]
    archs: Mapping[str, ArchSpec]
    keep: Keep
    profiled: Profiled
    found: dict[FmhaSignature, dict[str, _ByConfig]]

    def add(self, candidates: Iterable[FmhaCandidate], *, asked: bool = True) -> list[Finding] | None:
        """Adds what is valid on the archs; the findings that refused all of it, None where anything was taken.

        Of a set that nobody `asked` for but profiles, what they leave out is not looked at.
        """
        rejected: list[Finding] = []
        taken = False
        for candidate in candidates:
            for arch in (self.archs[name] for name in self.names):
                if not _concerns(candidate, arch):
                    continue
                signature = candidate.signature.resolved(arch.fp8_flavour)
                for config in candidate.configs(arch.name):
                    if self.keep((signature,), config.text(), candidate.backend) is not None:
                        continue
                    admitted = fmha_admission(self.profiled.profiles, signature, config, candidate.set_name)
                    if admitted is Admission.OUT and not asked:
                        continue
                    findings = judge(signature, config, candidate.backend, arch)
                    rejected += findings
                    taken = taken or not findings
                    if not findings and admitted is Admission.OUT:
                        self.profiled.left_out[candidate.set_name] += 1
                    elif not findings:
                        kept = self.found.setdefault(signature, {}).setdefault(arch.name, {})
                        known = kept.setdefault(config, _Kept(candidate.set_name, admitted))
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
    targets: Sequence[Target],
    archs: Mapping[str, ArchSpec],
    keep: Keep,
    sets: Sequence[Path],
    profiled: Profiled,
    yields: SetYields,
) -> tuple[tuple[FmhaUnit, ...], tuple[Diagnostic, ...]]:
    """The units by name: of the shipped defaults, the sets that profiles choose from, and the users' own."""
    names = sorted({target.gfx for target in targets})
    gathered = _Gathered(names, archs, keep, profiled, {})
    findings: list[Diagnostic] = []
    chosen = fmha_sources(profiled.profiles)
    for name in SHIPPED:
        if name == "default" or name in chosen:
            for file in kernel_set_files(Path(name), (OP,)):
                text = file.read_text(encoding="utf-8")
                gathered.add(load_fmha_set(text, f"{OP}/kernel_sets/{file.name}"), asked=name == "default")
    for path in sets:
        try:
            candidates = read_fmha_set(path)
        except InputError as error:
            findings += error.diagnostics
            continue
        yields.add(path, candidates, gathered.add(candidates))
    units = (_unit(gathered, signature, by_arch) for signature, by_arch in gathered.found.items())
    return tuple(sorted(units, key=lambda unit: unit.name)), tuple(findings)


def _unit(gathered: _Gathered, signature: FmhaSignature, by_arch: Mapping[str, _ByConfig]) -> FmhaUnit:
    needed = {arch: gathered.needed(signature, kernels) for arch, kernels in sorted(by_arch.items())}
    on: dict[AnyFmhaConfig, list[str]] = {}
    for arch, configs in needed.items():
        for config in configs:
            on.setdefault(config, []).append(arch)
    made = (make_fmha_instance(signature, config, names) for config, names in on.items())
    instances = tuple(sorted(made, key=lambda instance: instance.name))
    index = {instance.config: number for number, instance in enumerate(instances)}
    defaults = {arch: tuple(index[config] for config in configs) for arch, configs in needed.items()}
    return FmhaUnit(signature, instances, defaults)


def _concerns(candidate: FmhaCandidate, arch: ArchSpec) -> bool:
    """Whether the candidate is asked for on the arch, and its fp8 is of the arch's flavour."""
    on_cpu = candidate.backend is Backend.HOST
    if not candidate.is_for(arch.name) or on_cpu != (arch.kind is ArchKind.CPU):
        return False
    return on_cpu or of_flavour(candidate.signature, arch.fp8_flavour)
