"""Rows of attention's tables: which fate each gets, and the tables that the selected ones make per signature."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ckgen.families.fmha.constraints import constraints_of
from ckgen.families.fmha.cost import mean_columns
from ckgen.families.fmha.enums import FmhaEntry
from ckgen.families.fmha.grammar import AnyFmhaConfig, parse_instance_name
from ckgen.families.fmha.problem import check_problem, has_lengths, supports
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.families.rules import judge
from ckgen.model.arch import ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.fate import Fate, FateKind
from ckgen.model.fmha_row import FmhaRow
from ckgen.model.fmha_shape import FmhaShape
from ckgen.model.target import Target
from ckgen.plan.fmha_table import FmhaRung, FmhaTable, fmha_key
from ckgen.plan.options import PlanOptions
from ckgen.plan.profile import TABLES, Admission, Profile
from ckgen.plan.profile_fmha import fmha_admission
from ckgen.plan.row_findings import SELECTING_NOTHING, beyond_peak, no_time, overridden, selects_nothing
from ckgen.tables.read import quoted


@dataclass(frozen=True, slots=True)
class Measured:
    """A selected row, and the kernel that its name spells."""

    row: FmhaRow
    signature: FmhaSignature
    config: AnyFmhaConfig


@dataclass(frozen=True, slots=True)
class FmhaRows:
    """What became of all rows, in their order; the selected ones by signature and target; what is wrong."""

    fates: tuple[Fate, ...] = ()
    selected: Mapping[FmhaSignature, Mapping[Target, Sequence[Measured]]] = field(default_factory=dict)
    findings: tuple[Diagnostic, ...] = ()

    def configs(self, signature: FmhaSignature) -> dict[AnyFmhaConfig, list[str]]:
        """The kernels that the signature's rows name, each with the archs that they are needed on."""
        found: dict[AnyFmhaConfig, list[str]] = {}
        for target, measured in self.selected.get(signature, {}).items():
            for one in measured:
                archs = found.setdefault(one.config, [])
                if target.gfx not in archs:
                    archs.append(target.gfx)
        return found

    def tables(self, signature: FmhaSignature, index: Mapping[AnyFmhaConfig, int]) -> tuple[FmhaTable, ...]:
        """The signature's tables over instances that are numbered so."""
        return tuple(
            FmhaTable(target, tuple(sorted((_rung(one, index) for one in measured), key=lambda rung: rung.key)))
            for target, measured in sorted(self.selected.get(signature, {}).items())
        )


@dataclass(frozen=True, slots=True)
class FmhaRequest:
    """What a run asks of rows, as RowContext has it of GEMMs."""

    options: PlanOptions
    archs: Mapping[str, ArchSpec]
    targets: frozenset[Target] | None
    keep: Callable[[Iterable[FmhaSignature], str, Backend], str | None]
    profiles: Sequence[Profile]
    place: Callable[[FmhaRow], Location]

    def left_out(self, signature: FmhaSignature, config: AnyFmhaConfig) -> str | None:
        """Why no profile keeps a kernel, or None."""
        if fmha_admission(self.profiles, signature, config, TABLES) is not Admission.OUT:
            return None
        return f"not in {' or '.join(profile.name for profile in self.profiles)}"


def resolve_fmha(request: FmhaRequest, rows: Sequence[FmhaRow]) -> FmhaRows:
    """Every row's fate: the first that applies, in the order of the rows of GEMMs."""
    named = [parse_instance_name(row.kernel) for row in rows]
    entries = [_Entry(row, *found) if found else None for row, found in zip(rows, named, strict=True)]
    findings = [_unparsable(request, row) for row, entry in zip(rows, entries, strict=True) if entry is None]
    for entry in entries:
        if entry is not None and (problem := _mismatch(request, entry)) is not None:
            findings.append(problem)
            entry.invalid = problem.code
    known = [entry for entry in entries if entry is not None]
    for entry in known:
        entry.refused = _refusal(request, entry)
    findings += _find_contradictions(request, known)
    _find_best(known)
    fates = [
        _fate(request, entry) if entry is not None else Fate(FateKind.INVALID, row.location, "T012")
        for row, entry in zip(rows, entries, strict=True)
    ]
    selected: dict[FmhaSignature, dict[Target, list[Measured]]] = {}
    for entry, fate in zip(entries, fates, strict=True):
        if entry is not None and fate.kind is FateKind.SELECTED:
            of_target = selected.setdefault(entry.signature, {}).setdefault(entry.row.target, [])
            of_target.append(Measured(entry.row, entry.signature, entry.config))
    findings += _layer_findings(request, entries, fates) + _strict_findings(request, rows, fates)
    return FmhaRows(tuple(fates), selected, tuple(findings))


@dataclass(slots=True, eq=False)
class _Entry:
    """A row whose name parses, and what answers in its place, if not itself."""

    row: FmhaRow
    signature: FmhaSignature
    backend: Backend
    config: AnyFmhaConfig
    invalid: str | None = None
    refused: str | None = None
    best: _Entry | None = None

    @property
    def key(self) -> tuple[object, ...]:
        return (self.row.target, self.signature, *fmha_key(self.signature.traits, self.row.shape))


def _fate(request: FmhaRequest, entry: _Entry) -> Fate:
    row, best = entry.row, entry.best

    def fate(kind: FateKind, reason: str) -> Fate:
        return Fate(kind, row.location, reason)

    if entry.invalid is not None:
        return fate(FateKind.INVALID, entry.invalid)
    if request.targets is not None and row.target not in request.targets:
        return fate(FateKind.OTHER_TARGET, str(row.target))
    if entry.refused is not None:
        return fate(FateKind.REFUSED_MEASUREMENT, entry.refused)
    if best is not None and best is not entry:
        later = best.row.layer > row.layer
        return fate(FateKind.OVERRIDDEN if later else FateKind.DUPLICATE_IDENTICAL, str(request.place(best.row)))
    left_out = request.left_out(entry.signature, entry.config)
    if left_out is not None:
        return fate(FateKind.LEFT_OUT, left_out)
    unavailable = _why_unavailable(request, entry)
    return fate(FateKind.SELECTED if unavailable is None else FateKind.UNAVAILABLE, unavailable or "")


def _why_unavailable(request: FmhaRequest, entry: _Entry) -> str | None:
    arch = request.archs.get(entry.row.target.gfx)
    if arch is None:
        return f"no spec of {entry.row.target.gfx}"
    filtered = request.keep((entry.signature,), entry.config.text(), entry.backend)
    if filtered is not None:
        return filtered
    findings = judge(entry.signature, entry.config, entry.backend, arch)
    if findings:
        return str(findings[0])
    signature, shape = entry.signature, _promised(entry.row.shape)
    constraints, splits = constraints_of(signature, entry.config), entry.row.k_batch or 1
    problem = check_problem(signature, shape) or supports(constraints, signature.traits, shape, splits)
    return problem.text if problem is not None else None


def _promised(shape: FmhaShape) -> FmhaShape:
    """With all that a caller may promise beside the sizes of a row."""
    return replace(shape, pages=1 if shape.page_size else 0, min_seqlen_k=1, finite_kv=bool(shape.page_size))


def _refusal(request: FmhaRequest, entry: _Entry) -> str | None:
    """Why a measurement is not believed: no time, or faster than the chip. What varlen and pages hold is not known."""
    us, target, traits, shape = entry.row.us, entry.row.target, entry.signature.traits, entry.row.shape
    refused = no_time(us)
    arch = request.archs.get(target.gfx)
    if refused is not None or arch is None or has_lengths(traits):
        return refused
    rows = shape.batch * shape.heads_q * shape.seqlen_q
    operations = 2 * rows * mean_columns(traits, shape) * (shape.hdim_q + shape.hdim_v)
    return beyond_peak(operations, us, arch.peak_ops(entry.signature.a, entry.signature.b, target.cu_num))


def _mismatch(request: FmhaRequest, entry: _Entry) -> Diagnostic | None:
    """A row whose columns are not of its kernel's signature."""
    traits, row = entry.signature.traits, entry.row
    if traits.entry is FmhaEntry.APPEND:
        return _wrong(request, row, "T015", "tables are of forward attention, not of append")
    if row.masked != traits.masked:
        whose, other = ("kernel", "row") if traits.masked else ("row", "kernel")
        return _wrong(request, row, "T015", f"the {whose} has a mask, the {other} none")
    if bool(row.shape.page_size) != traits.is_paged:
        return _wrong(request, row, "T015", "page_size goes with blocktable and pagelist, and with nothing else")
    return None


def _find_contradictions(request: FmhaRequest, entries: Iterable[_Entry]) -> list[Diagnostic]:
    """T007 for rows of one layer with one key and different answers."""
    first: dict[tuple[object, ...], _Entry] = {}
    found = []
    for entry in entries:
        if entry.invalid is not None:
            continue
        known = first.setdefault((entry.row.layer, entry.key), entry)
        if known.row.answer != entry.row.answer:
            known.invalid = entry.invalid = "T007"
            found.append(
                Diagnostic(
                    "T007",
                    "same key, different kernels",
                    request.place(known.row),
                    (f"{entry.row.target}: {known.row.kernel} / {entry.row.kernel}",),
                    "keep one",
                    (request.place(entry.row),),
                )
            )
    return found


def _find_best(entries: Sequence[_Entry]) -> None:
    """Per key the row that answers: the last layer's, and there the first; none that is invalid or not believed."""
    best: dict[tuple[object, ...], _Entry] = {}
    for entry in entries:
        if entry.invalid is None and entry.refused is None:
            known = best.get(entry.key)
            if known is None or entry.row.layer > known.row.layer:
                best[entry.key] = entry
    for entry in entries:
        entry.best = best.get(entry.key)


def _layer_findings(request: FmhaRequest, entries: Sequence[_Entry | None], fates: Sequence[Fate]) -> list[Diagnostic]:
    strict = request.options.strict_layers
    return [
        overridden(request.place(entry.row), request.place(entry.best.row), strict=strict)
        for entry, fate in zip(entries, fates, strict=True)
        if fate.kind is FateKind.OVERRIDDEN and entry is not None and entry.best is not None
    ]


def _strict_findings(request: FmhaRequest, rows: Sequence[FmhaRow], fates: Sequence[Fate]) -> list[Diagnostic]:
    strict = request.options.strict
    return [
        selects_nothing(fate, request.place(row), f"{row.target} {row.sizes}: {row.kernel}", strict=strict)
        for row, fate in zip(rows, fates, strict=True)
        if fate.kind in SELECTING_NOTHING
    ]


def _rung(one: Measured, index: Mapping[AnyFmhaConfig, int]) -> FmhaRung:
    return FmhaRung(fmha_key(one.signature.traits, one.row.shape), index[one.config], one.row.k_batch, one.row)


def _unparsable(request: FmhaRequest, row: FmhaRow) -> Diagnostic:
    return _wrong(request, row, "T012", f"kernel name does not parse: {quoted(row.kernel)}")


def _wrong(request: FmhaRequest, row: FmhaRow, code: str, message: str) -> Diagnostic:
    hint = "see `ckgen list instances --ops fmha` for names"
    return Diagnostic(code, message, request.place(row), (f"kernelName {quoted(row.kernel)}",), hint)
