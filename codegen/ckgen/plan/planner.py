"""Rows + families + rules → GenerationPlan: the only place that joins tables and families."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from ckgen.families.common.signature import Signature
from ckgen.families.registry import family_of
from ckgen.model.arch import ArchSpec
from ckgen.model.collector import collector_paused
from ckgen.model.diagnostic import Diagnostic, Severity, in_order
from ckgen.model.errors import InputError
from ckgen.model.fate import Fate, FateKind
from ckgen.plan.defaults import NOTHING_LEFT, Profiled, heuristics_for, kernel_defaults
from ckgen.plan.fate_findings import fate_findings
from ckgen.plan.fates import LeftOut, Outcome, Outcomes, resolve
from ckgen.plan.inputs import PlanInputs, named_in, plan_inputs
from ckgen.plan.legal import Kernel
from ckgen.plan.model import AnyUnit, FileReport, GenerationPlan
from ckgen.plan.options import PlanOptions
from ckgen.plan.profile import TABLES, Profile, admission, admitted_backends
from ckgen.plan.profile_file import read_profile
from ckgen.plan.rows import Entry
from ckgen.plan.units import SharedRows, build_unit, gather, parts_of
from ckgen.tables.load import LoadedTables


def make_plan(options: PlanOptions, archs: Mapping[str, ArchSpec]) -> GenerationPlan:
    """The whole plan; errors of the input are in `diagnostics`, nothing is raised for them.

    UsageError for a path that is not there, a module or op that does not exist, filters that fit or leave nothing.
    """
    known = plan_inputs(options, archs)
    plan = plan_of(known, options.profiles)
    if has_errors(plan):
        return plan
    unfit = known.offers.filters.demand_fits()
    known.offers.filters.demand_any(found=any(unit.instances or unit.tables for unit in plan.units))
    return replace(plan, diagnostics=(*plan.diagnostics, *unfit)) if unfit else plan


@collector_paused()
def plan_of(known: PlanInputs, profiles: Sequence[Path]) -> GenerationPlan:
    """The plan with these files of profiles in place of those of the inputs' options."""
    profiled, findings = _profiled(profiles)
    by_signature: dict[Any, SharedRows] = {}
    resolved: list[Outcomes] = []
    for of_family in known.rows:
        outcomes = resolve(of_family.context, of_family.entries, _left_out(profiled.profiles))
        findings += [*of_family.context.findings, *fate_findings(known.options, of_family.context, outcomes)]
        by_signature |= gather(outcomes, profiled.profiles)
        resolved.append(outcomes)
    units, set_findings = _units(known, by_signature, profiled)
    diagnostics = (*known.loaded.diagnostics, *findings, *set_findings)
    selected = Counter(entry.row.target for entry, fate in _pairs(resolved) if fate.kind is FateKind.SELECTED)
    return GenerationPlan(
        targets=known.targets,
        m_policy=known.options.m_policy,
        units=units,
        fates=tuple(_in_file_order(known.loaded, resolved)),
        reports=tuple(_reports(known.loaded, resolved, diagnostics)),
        files=known.loaded.files,
        selected={
            target: sum(count for of, count in selected.items() if of is not None and target.concerns(of))
            for target in known.targets
        },
        diagnostics=in_order(diagnostics),
        left_out={source: count for source, count in sorted(profiled.left_out.items()) if count},
    )


def demand_right(plan: GenerationPlan, unnamed: Container[str]) -> None:
    """InputError for what is wrong, but for kernel sets in the files `unnamed` of which nothing is left on the targets:
    nobody named them."""
    wrong = [
        one
        for one in plan.diagnostics
        if one.severity is Severity.ERROR
        and not (one.code == NOTHING_LEFT and one.location is not None and one.location.file in unnamed)
    ]
    if wrong:
        raise InputError(wrong)


def has_errors(plan: GenerationPlan) -> bool:
    """Whether anything forbids writing."""
    return any(diagnostic.severity is Severity.ERROR for diagnostic in plan.diagnostics)


def _profiled(files: Iterable[Path]) -> tuple[Profiled, list[Diagnostic]]:
    """The profiles, and what is wrong with their files."""
    profiles: list[Profile] = []
    findings: list[Diagnostic] = []
    for path in files:
        try:
            profiles.append(read_profile(path))
        except InputError as error:
            findings += error.diagnostics
    return Profiled(tuple(profiles)), findings


def _left_out(profiles: Sequence[Profile]) -> LeftOut:
    admitted: dict[tuple[int, int | None], bool] = {}
    reason = f"not in {' or '.join(profile.name for profile in profiles)}"

    def admits(entry: Entry, signature: Signature) -> bool:
        if entry.kernel is None:
            return bool(admitted_backends(profiles, signature, TABLES))
        return bool(admission(profiles, signature, entry.kernel.config, TABLES))

    def answer(entry: Entry) -> str | None:
        if not profiles:
            return None
        key = entry.number, id(entry.kernel) if entry.kernel is not None else None
        if key not in admitted:
            admitted[key] = any(admits(entry, signature) for signature in entry.signatures)
        return None if admitted[key] else reason

    return answer


def _units(
    known: PlanInputs, by_signature: Mapping[Any, SharedRows], profiled: Profiled
) -> tuple[tuple[AnyUnit, ...], tuple[Diagnostic, ...]]:
    options, filters = known.options, known.offers.filters
    defaults, findings = kernel_defaults(
        known.offers, options.kernel_sets, profiled, options.ops, named_in(options), searched=bool(options.kernels)
    )

    def built(signature: Signature, parts: Sequence[Kernel] = ()) -> AnyUnit:
        rows, default = by_signature.get(signature), defaults.get(signature)
        module = rows.module if rows else family_of(signature).module_of(signature) if default is not None else ""
        heuristics = heuristics_for(signature, module, known.targets, known.archs, filters, profiled, default or {})
        return build_unit(signature, module, rows, default or {}, heuristics, parts)

    wanted = (signature for signature in by_signature.keys() | defaults.keys() if filters.keeps(signature))
    units = {signature: built(signature) for signature in wanted}
    units |= {signature: built(signature, kernels) for signature, kernels in parts_of(units.values()).items()}
    return tuple(sorted(units.values(), key=lambda unit: unit.name)), findings


def _pairs(resolved: Iterable[Outcomes]) -> Iterator[Outcome]:
    return chain.from_iterable(outcomes.pairs() for outcomes in resolved)


def _in_file_order(loaded: LoadedTables, resolved: Iterable[Outcomes]) -> Iterator[Fate]:
    """The fates of all families in the order of their rows' files and lines, in which each family's are already."""
    by_op = {outcomes.entries[0].row.op: iter(outcomes.fates) for outcomes in resolved if outcomes.entries}
    return (next(by_op[row.op]) for row in loaded.rows)


def _reports(
    loaded: LoadedTables, resolved: Iterable[Outcomes], diagnostics: Sequence[Diagnostic]
) -> Iterable[FileReport]:
    findings: dict[str, list[Diagnostic]] = {}
    for diagnostic in diagnostics:
        if diagnostic.location is not None:
            findings.setdefault(diagnostic.location.file, []).append(diagnostic)
    of_file: dict[tuple[int, str], Counter[FateKind]] = {}
    for entry, fate in _pairs(resolved):
        of_file.setdefault((entry.row.layer, entry.row.location.file), Counter())[fate.kind] += 1
    for file in loaded.files:
        fates = Counter(fate.kind for fate in file.fates)
        fates.update(of_file.get((file.layer, file.path), Counter()))
        if file.counted is not None and file.row_count:
            fates[file.counted] += file.row_count
        if file.unasked:
            fates[FateKind.OTHER_TARGET] += file.unasked
        yield FileReport(file.path, file.module, file.row_count, fates, tuple(findings.get(file.display, ())))
