"""Rows + families + rules → GenerationPlan: the only place that joins tables and families."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

from ckgen.families.fmha.signature import OP as FMHA
from ckgen.families.gemm.grammar import fits
from ckgen.families.gemm.kernel_set import OPS
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.registry import Signature
from ckgen.families.tables import table_modules
from ckgen.model.arch import ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.collector import collector_paused
from ckgen.model.diagnostic import Diagnostic, Location, Severity, sort_key
from ckgen.model.errors import InputError
from ckgen.model.fate import Fate, FateKind
from ckgen.model.target import Target
from ckgen.plan.defaults import Keep, Profiled, SetYields, heuristics_for, kernel_defaults
from ckgen.plan.fates import AMBIGUOUS, Entry, RowContext, resolve
from ckgen.plan.fmha_units import fmha_units
from ckgen.plan.identify import Identifier, Signatures
from ckgen.plan.model import FileReport, FmhaUnit, GenerationPlan, UnitPlan
from ckgen.plan.options import PlanOptions
from ckgen.plan.profile import TABLES, Profile, admitted_backends
from ckgen.plan.profile_file import read_profile
from ckgen.plan.units import Kernel, build_unit, gather, parts_of
from ckgen.specs.archs import arch_of_cu_num
from ckgen.tables.load import LoadedTables, LoadOptions, TableFile, load_tables

_ANSWERING = (FateKind.OVERRIDDEN, FateKind.EXTERNAL, FateKind.UNAVAILABLE, FateKind.SELECTED)


@collector_paused()
def make_plan(options: PlanOptions, archs: Mapping[str, ArchSpec]) -> GenerationPlan:
    """The whole plan; errors of the input are in `diagnostics`, nothing is raised for them.

    UsageError for a path that is not there, a module or op that does not exist.
    """
    loaded = load_tables(options.tuning, load_options(options, archs))
    wanted = _wanted(options, loaded)
    profiled, profile_findings = _profiled(options)
    context = RowContext(
        identifier=Identifier(table_modules(), archs),
        archs=archs,
        targets=frozenset(wanted) if wanted is not None else None,
        keep=_filter(options),
        place=loaded.place,
        left_out=_left_out(profiled.profiles),
    )
    resolved = resolve(context, list(loaded.rows))
    findings = [
        *context.findings,
        *_layer_findings(options, context, resolved),
        *_strict_findings(options, context, resolved),
        *_target_findings(context, resolved),
    ]
    targets = wanted if wanted is not None else _targets_of(resolved, archs)
    yields = SetYields()
    units, set_findings = _units(options, archs, targets, resolved, profiled, yields)
    fmha, fmha_findings = _fmha_units(options, archs, targets, profiled, yields)
    set_findings = (*set_findings, *fmha_findings, *yields.findings())
    diagnostics = (*loaded.diagnostics, *findings, *profile_findings, *set_findings)
    return GenerationPlan(
        targets=targets,
        m_policy=options.m_policy,
        units=units,
        fates=tuple(fate for _, fate in resolved),
        reports=tuple(_reports(loaded, resolved, diagnostics)),
        files=loaded.files,
        selected=_selected(targets, resolved),
        diagnostics=tuple(sorted(diagnostics, key=sort_key)),
        left_out={source: count for source, count in sorted(profiled.left_out.items()) if count},
        fmha=fmha,
    )


def has_errors(plan: GenerationPlan) -> bool:
    """Whether anything forbids writing."""
    return any(diagnostic.severity is Severity.ERROR for diagnostic in plan.diagnostics)


def load_options(options: PlanOptions, archs: Mapping[str, ArchSpec]) -> LoadOptions:
    """What reading the tables of `options` needs to know of families and specs."""
    return LoadOptions(
        ops=options.ops,
        module=options.module,
        modules=table_modules(),
        fits=fits,
        gfx_of_cu=gfx_of_cu(archs, options.targets or (), options.assume_gfx),
    )


def gfx_of_cu(
    archs: Mapping[str, ArchSpec], targets: Sequence[Target], assumed: Mapping[int, str]
) -> Callable[[int], str | None]:
    """The one arch with that CU count: as assumed, else among the requested targets, else among all known products."""

    def answer(cu_num: int) -> str | None:
        if cu_num in assumed:
            return assumed[cu_num]
        requested = {target.gfx for target in targets if target.cu_num == cu_num}
        if len(requested) == 1:
            return next(iter(requested))
        return arch_of_cu_num(archs, cu_num)

    return answer


def _profiled(options: PlanOptions) -> tuple[Profiled, tuple[Diagnostic, ...]]:
    """The profiles of the options, and what is wrong with their files."""
    profiles: list[Profile] = []
    findings: list[Diagnostic] = []
    for path in options.profiles:
        try:
            profiles.append(read_profile(path))
        except InputError as error:
            findings += error.diagnostics
    return Profiled(tuple(profiles)), tuple(findings)


def _left_out(profiles: Sequence[Profile]) -> Callable[[Signatures, Backend | None], str | None]:
    admitted: dict[GemmSignature, frozenset[Backend]] = {}

    def answer(signatures: Signatures, backend: Backend | None) -> str | None:
        for signature in signatures if profiles else ():
            if signature not in admitted:
                admitted[signature] = admitted_backends(profiles, signature, TABLES)
            if admitted[signature] and (backend is None or backend in admitted[signature]):
                return None
        return f"not in {' or '.join(profile.name for profile in profiles)}" if profiles else None

    return answer


def _filter(options: PlanOptions) -> Keep:
    def keep(signatures: Iterable[Signature], kernel: str, backend: Backend) -> str | None:
        if options.backends and str(backend) not in options.backends:
            return f"--backend leaves out {backend}"
        if options.kernels and not any(fnmatchcase(kernel, glob) for glob in options.kernels):
            return "no --kernels glob fits"
        if options.signatures and not any(_fits_globs(options, signature) for signature in signatures):
            return "no --signatures glob fits"
        return None

    return keep


def _fits_globs(options: PlanOptions, signature: Signature) -> bool:
    name = signature.canonical()
    return not options.signatures or any(fnmatchcase(name, glob) for glob in options.signatures)


def _wanted(options: PlanOptions, loaded: LoadedTables) -> tuple[Target, ...] | None:
    """The requested targets and, with `every_count`, those of their archs at every CU count that a row names."""
    if options.targets is None or not options.every_count:
        return options.targets
    archs = {target.gfx for target in options.targets}
    named = {row.target for row in loaded.rows if row.target is not None and row.target.gfx in archs}
    return tuple(sorted({*options.targets, *named}))


def _targets_of(resolved: Iterable[tuple[Entry, Fate]], archs: Mapping[str, ArchSpec]) -> tuple[Target, ...]:
    """Every target of a known arch that a row names."""
    named = {entry.row.target for entry, _ in resolved if entry.row.target is not None}
    return tuple(sorted(target for target in named if target.gfx in archs))


def _units(
    options: PlanOptions,
    archs: Mapping[str, ArchSpec],
    targets: Sequence[Target],
    resolved: Sequence[tuple[Entry, Fate]],
    profiled: Profiled,
    yields: SetYields,
) -> tuple[tuple[UnitPlan, ...], tuple[Diagnostic, ...]]:
    if not options.ops & set(OPS):
        return (), ()
    by_signature = gather(resolved, profiled.profiles)
    keep = _filter(options)
    defaults, findings = kernel_defaults(targets, archs, keep, options.kernel_sets, profiled, yields, options.ops)

    def built(signature: GemmSignature, parts: Sequence[Kernel] = ()) -> UnitPlan:
        rows, default = by_signature.get(signature), defaults.get(signature)
        module = rows.module if rows else default.module if default else ""
        heuristics = heuristics_for(signature, module, targets, archs, keep, profiled)
        return build_unit(signature, module, rows, default, heuristics, parts)

    wanted = (signature for signature in by_signature.keys() | defaults.keys() if _fits_globs(options, signature))
    units = {signature: built(signature) for signature in wanted}
    units |= {signature: built(signature, kernels) for signature, kernels in parts_of(units.values()).items()}
    return tuple(units[signature] for signature in sorted(units, key=GemmSignature.canonical)), findings


def _fmha_units(
    options: PlanOptions,
    archs: Mapping[str, ArchSpec],
    targets: Sequence[Target],
    profiled: Profiled,
    yields: SetYields,
) -> tuple[tuple[FmhaUnit, ...], tuple[Diagnostic, ...]]:
    if FMHA not in options.ops:
        return (), ()
    return fmha_units(targets, archs, _filter(options), options.kernel_sets, profiled, yields)


def _selected(targets: Sequence[Target], resolved: Iterable[tuple[Entry, Fate]]) -> dict[Target, int]:
    counts = Counter(entry.row.target for entry, fate in resolved if fate.kind is FateKind.SELECTED)
    return {target: counts[target] for target in targets}


def _layer_findings(
    options: PlanOptions, context: RowContext, resolved: Iterable[tuple[Entry, Fate]]
) -> list[Diagnostic]:
    severity = Severity.ERROR if options.strict_layers else Severity.NOTE
    return [
        Diagnostic(
            code="P001",
            message="row is overridden by a later layer",
            location=context.place(entry.row),
            related=(context.place(entry.overrider.row),),
            detail=() if fate.kind is FateKind.OVERRIDDEN else ("for some of the output types that it stands for",),
            hint="leave out --strict-layers to allow it" if options.strict_layers else None,
            severity=severity,
        )
        for entry, fate in resolved
        if fate.kind in _ANSWERING and entry.overrider is not None
    ]


def _strict_findings(
    options: PlanOptions, context: RowContext, resolved: Iterable[tuple[Entry, Fate]]
) -> list[Diagnostic]:
    severity = Severity.ERROR if options.strict else Severity.WARNING
    return [
        Diagnostic(
            code="P002" if fate.kind is FateKind.UNAVAILABLE else "P003",
            message=f"row selects nothing: {fate}",
            location=context.place(entry.row),
            detail=(f"{entry.row.target} {entry.row.module} {entry.row.sizes}: {entry.row.kernel}",),
            severity=severity if fate.kind is FateKind.UNAVAILABLE else Severity.NOTE,
        )
        for entry, fate in resolved
        if fate.kind in (FateKind.UNAVAILABLE, FateKind.REFUSED_MEASUREMENT) and fate.reason != AMBIGUOUS
    ]


def _target_findings(context: RowContext, resolved: Iterable[tuple[Entry, Fate]]) -> list[Diagnostic]:
    """One note for all rows of a file whose CU count, or the lack of one, leaves their arch open."""
    places: dict[tuple[str, int], list[Location]] = {}
    for entry, fate in resolved:
        if fate.kind is FateKind.UNAVAILABLE and fate.reason == AMBIGUOUS:
            place = context.place(entry.row)
            places.setdefault((place.file, entry.row.cu_num), []).append(place)
    return [
        Diagnostic(
            code="P004",
            message=f"no target: {f'no single known arch has {cu_num} CUs' if cu_num else 'there is no CU count'}",
            location=found[0],
            detail=(f"{len(found)} row{'' if len(found) == 1 else 's'} of this kind select nothing",),
            hint=f"say which: --assume-gfx {cu_num}=GFX" if cu_num else "add the columns gfx and cu_num",
            severity=Severity.NOTE,
        )
        for (_, cu_num), found in places.items()
    ]


def _reports(
    loaded: LoadedTables, resolved: Sequence[tuple[Entry, Fate]], diagnostics: Sequence[Diagnostic]
) -> Iterable[FileReport]:
    position = 0
    for file in loaded.files:
        fates = Counter(fate.kind for fate in file.fates)
        fates.update(fate.kind for _, fate in resolved[position : position + len(file.rows)])
        position += len(file.rows)
        if file.counted is not None and file.row_count:
            fates[file.counted] += file.row_count
        yield FileReport(file.path, file.module, file.row_count, fates, _findings_of(file, diagnostics))


def _findings_of(file: TableFile, diagnostics: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    return tuple(d for d in diagnostics if d.location is not None and d.location.file == file.display)
