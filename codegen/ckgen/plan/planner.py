"""Rows + families + rules → GenerationPlan: the only place that joins tables and families."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path

from ckgen.families.fmha.signature import OP as FMHA
from ckgen.families.gemm.kernel_set import OPS
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.arch import ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.collector import collector_paused
from ckgen.model.diagnostic import Diagnostic, Severity, sort_key
from ckgen.model.errors import InputError
from ckgen.model.fate import Fate, FateKind
from ckgen.model.fmha_row import FmhaRow
from ckgen.model.target import Target
from ckgen.model.tuned_row import TunedRow
from ckgen.plan.defaults import Profiled, SetYields, heuristics_for, kernel_defaults
from ckgen.plan.entry import Entry
from ckgen.plan.fate_findings import fate_findings
from ckgen.plan.fates import LeftOut, resolve
from ckgen.plan.fmha_rows import FmhaRequest, FmhaRows, resolve_fmha
from ckgen.plan.fmha_units import fmha_units
from ckgen.plan.model import FileReport, FmhaUnit, GenerationPlan, UnitPlan
from ckgen.plan.options import PlanOptions
from ckgen.plan.profile import TABLES, Profile, admitted_backends
from ckgen.plan.profile_file import read_profile
from ckgen.plan.survey import Survey, fits_globs, survey
from ckgen.plan.units import Kernel, build_unit, gather, parts_of
from ckgen.tables.load import LoadedTables


def make_plan(options: PlanOptions, archs: Mapping[str, ArchSpec]) -> GenerationPlan:
    """The whole plan; errors of the input are in `diagnostics`, nothing is raised for them.

    UsageError for a path that is not there, a module or op that does not exist.
    """
    return plan_of(survey(options, archs), options.profiles)


@collector_paused()
def plan_of(known: Survey, profiles: Sequence[Path]) -> GenerationPlan:
    """The plan with these files of profiles in place of those of the survey's options."""
    options, context, loaded, targets = known.options, known.context, known.loaded, known.targets
    profiled, profile_findings = _profiled(profiles)
    resolved = resolve(context, known.entries, _left_out(profiled.profiles))
    findings = [*context.findings, *fate_findings(options, context, resolved)]
    request = FmhaRequest(options, known.archs, context.targets, known.offers.keep, profiled.profiles, loaded.place)
    measured = resolve_fmha(request, list(loaded.of(FmhaRow)))
    yields = SetYields()
    units, set_findings = _units(known, resolved, profiled, yields)
    fmha, fmha_findings = _fmha_units(known, profiled, yields, measured)
    set_findings = (*set_findings, *fmha_findings, *measured.findings, *yields.findings())
    diagnostics = (*loaded.diagnostics, *findings, *profile_findings, *set_findings)
    return GenerationPlan(
        targets=targets,
        m_policy=options.m_policy,
        units=units,
        fates=(*(fate for _, fate in resolved), *measured.fates),
        reports=tuple(_reports(loaded, resolved, measured, diagnostics)),
        files=loaded.files,
        selected=_selected(targets, resolved, measured),
        diagnostics=tuple(sorted(diagnostics, key=sort_key)),
        left_out={source: count for source, count in sorted(profiled.left_out.items()) if count},
        fmha=fmha,
    )


def has_errors(plan: GenerationPlan) -> bool:
    """Whether anything forbids writing."""
    return any(diagnostic.severity is Severity.ERROR for diagnostic in plan.diagnostics)


def _profiled(files: Iterable[Path]) -> tuple[Profiled, tuple[Diagnostic, ...]]:
    """The profiles, and what is wrong with their files."""
    profiles: list[Profile] = []
    findings: list[Diagnostic] = []
    for path in files:
        try:
            profiles.append(read_profile(path))
        except InputError as error:
            findings += error.diagnostics
    return Profiled(tuple(profiles)), tuple(findings)


def _left_out(profiles: Sequence[Profile]) -> LeftOut:
    admitted: dict[int, frozenset[Backend]] = {}
    reason = f"not in {' or '.join(profile.name for profile in profiles)}"

    def answer(entry: Entry) -> str | None:
        if not profiles:
            return None
        if entry.number not in admitted:
            found = (admitted_backends(profiles, signature, TABLES) for signature in entry.signatures)
            admitted[entry.number] = frozenset(chain.from_iterable(found))
        kept = admitted[entry.number]
        return None if kept and (entry.kernel is None or entry.kernel.backend in kept) else reason

    return answer


def _units(
    known: Survey, resolved: Sequence[tuple[Entry, Fate]], profiled: Profiled, yields: SetYields
) -> tuple[tuple[UnitPlan, ...], tuple[Diagnostic, ...]]:
    options, keep = known.options, known.offers.keep
    if not options.ops & set(OPS):
        return (), ()
    by_signature = gather(resolved, profiled.profiles)
    defaults, findings = kernel_defaults(known.offers, options.kernel_sets, profiled, yields, options.ops)

    def built(signature: GemmSignature, parts: Sequence[Kernel] = ()) -> UnitPlan:
        rows, default = by_signature.get(signature), defaults.get(signature)
        module = rows.module if rows else default.module if default else ""
        heuristics = heuristics_for(signature, module, known.targets, known.archs, keep, profiled)
        return build_unit(signature, module, rows, default, heuristics, parts)

    wanted = (signature for signature in by_signature.keys() | defaults.keys() if fits_globs(options, signature))
    units = {signature: built(signature) for signature in wanted}
    units |= {signature: built(signature, kernels) for signature, kernels in parts_of(units.values()).items()}
    return tuple(units[signature] for signature in sorted(units, key=GemmSignature.canonical)), findings


def _fmha_units(
    known: Survey, profiled: Profiled, yields: SetYields, measured: FmhaRows
) -> tuple[tuple[FmhaUnit, ...], tuple[Diagnostic, ...]]:
    if FMHA not in known.options.ops:
        return (), ()
    return fmha_units(known.offers, known.options.kernel_sets, profiled, yields, measured)


def _selected(
    targets: Sequence[Target], resolved: Iterable[tuple[Entry, Fate]], measured: FmhaRows
) -> dict[Target, int]:
    counts = Counter(entry.row.target for entry, fate in resolved if fate.kind is FateKind.SELECTED)
    for by_target in measured.selected.values():
        counts.update({target: len(rows) for target, rows in by_target.items()})
    return {target: counts[target] for target in targets}


def _reports(
    loaded: LoadedTables,
    resolved: Sequence[tuple[Entry, Fate]],
    measured: FmhaRows,
    diagnostics: Sequence[Diagnostic],
) -> Iterable[FileReport]:
    findings: dict[str, list[Diagnostic]] = {}
    for diagnostic in diagnostics:
        if diagnostic.location is not None:
            findings.setdefault(diagnostic.location.file, []).append(diagnostic)
    position = 0
    of_fmha = iter(measured.fates)
    for file in loaded.files:
        fates = Counter(fate.kind for fate in file.fates)
        tuned = sum(isinstance(row, TunedRow) for row in file.rows)
        fates.update(fate.kind for _, fate in resolved[position : position + tuned])
        position += tuned
        fates.update(fate.kind for fate in islice(of_fmha, len(file.rows) - tuned))
        if file.counted is not None and file.row_count:
            fates[file.counted] += file.row_count
        yield FileReport(file.path, file.module, file.row_count, fates, tuple(findings.get(file.display, ())))
