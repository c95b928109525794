"""Which fate each row gets: small predicates in order, the first that answers wins; and what is said of fates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ckgen.families.common.rows import row_text
from ckgen.model.diagnostic import Diagnostic, Location, Severity
from ckgen.model.fate import Fate, FateKind
from ckgen.plan.options import PlanOptions
from ckgen.plan.rows import Entry, RowContext

AMBIGUOUS = "ambiguous_target"
"""The reason of a row that does not tell its target."""

LeftOut = Callable[[Entry], str | None]
"""Why no profile keeps the row's kernel for any of its signatures, or None."""

Outcome = tuple[Entry, Fate]

_ANSWERING = (FateKind.OVERRIDDEN, FateKind.EXTERNAL, FateKind.UNAVAILABLE, FateKind.SELECTED)
_SELECTING_NOTHING = (FateKind.UNAVAILABLE, FateKind.REFUSED_MEASUREMENT)


def settle(context: RowContext, entries: Iterable[Entry]) -> None:
    """Finds the rows that answer for nothing, whatever the profiles are."""
    for entry in entries:
        entry.early_outcome = _first(context, entry, EARLY)


def resolve(context: RowContext, entries: Sequence[Entry], left_out: LeftOut) -> list[Outcome]:
    """Every row with its fate, in the order given; all must have been settled."""
    return [(entry, _fate(context, entry, left_out)) for entry in entries]


def fate_findings(options: PlanOptions, context: RowContext, resolved: Iterable[Outcome]) -> list[Diagnostic]:
    """Rows that a later layer overrides, then those that select nothing, then one note per file for open targets.

    In one walk, as there are many rows and few findings.
    """
    layers: list[Diagnostic] = []
    nothing: list[Diagnostic] = []
    open_targets: dict[tuple[str, int], list[Location]] = {}
    for entry, fate in resolved:
        if entry.overrider is not None and fate.kind in _ANSWERING:
            layers.append(_overridden(options, context, entry, entry.overrider, fate))
        if fate.kind not in _SELECTING_NOTHING:
            continue
        place = context.place(entry.row)
        if fate.reason == AMBIGUOUS:
            open_targets.setdefault((place.file, entry.row.cu_num), []).append(place)
        else:
            nothing.append(_selects_nothing(options, entry, fate, place))
    return [*layers, *nothing, *(_open_target(cu_num, places) for (_, cu_num), places in open_targets.items())]


def _fate(context: RowContext, entry: Entry, left_out: LeftOut) -> Fate:
    if entry.early_outcome is not None:
        return entry.early_outcome
    reason = left_out(entry)
    if reason is not None:
        return Fate(FateKind.LEFT_OUT, entry.row.location, reason)
    if entry.late_outcome is None:
        entry.late_outcome = _first(context, entry, LATE) or Fate(FateKind.SELECTED, entry.row.location)
    return entry.late_outcome


def _first(context: RowContext, entry: Entry, predicates: Iterable[tuple[FateKind, Predicate]]) -> Fate | None:
    for kind, predicate in predicates:
        reason = predicate(context, entry)
        if reason is not None:
            return Fate(kind, entry.row.location, reason)
    return None


def _is_invalid(_: RowContext, entry: Entry) -> str | None:
    return entry.invalid


def _is_ambiguous(_: RowContext, entry: Entry) -> str | None:
    return AMBIGUOUS if entry.row.target is None else None


def _is_of_other_target(context: RowContext, entry: Entry) -> str | None:
    other = context.targets is not None and entry.row.target not in context.targets
    return str(entry.row.target) if other else None


def _is_refused(_: RowContext, entry: Entry) -> str | None:
    return entry.refused


def _is_overridden(context: RowContext, entry: Entry) -> str | None:
    best = entry.best
    return str(context.place(best.row)) if best is not None and best.row.layer > entry.row.layer else None


def _is_duplicate(context: RowContext, entry: Entry) -> str | None:
    best = entry.best
    return str(context.place(best.row)) if best is not None and best is not entry else None


def _is_external(_: RowContext, entry: Entry) -> str | None:
    return None if entry.generated or entry.by_default else entry.row.library


def _is_unavailable(context: RowContext, entry: Entry) -> str | None:
    assert entry.row.target is not None
    if entry.row.target.gfx not in context.archs:
        return f"no spec of {entry.row.target.gfx}"
    reason = context.meanings.why_unavailable(entry.row, entry.signatures)
    if entry.by_default:
        return reason
    assert entry.kernel is not None
    reason = reason or context.keep(entry.signatures, entry.table_kernel or entry.kernel.config, entry.kernel.backend)
    if reason is not None:
        return reason
    findings = context.rule_findings(entry)
    if findings:
        return str(findings[0])
    problem = context.broken(entry, entry.kernel)
    return problem.text if problem is not None else None


def _is_by_default(_: RowContext, entry: Entry) -> str | None:
    return "" if entry.by_default else None


Predicate = Callable[[RowContext, Entry], str | None]

EARLY: tuple[tuple[FateKind, Predicate], ...] = (
    (FateKind.INVALID, _is_invalid),
    (FateKind.UNAVAILABLE, _is_ambiguous),
    (FateKind.OTHER_TARGET, _is_of_other_target),
    (FateKind.REFUSED_MEASUREMENT, _is_refused),
    (FateKind.OVERRIDDEN, _is_overridden),
    (FateKind.DUPLICATE_IDENTICAL, _is_duplicate),
)
"""Asked first: what makes a row answer for nothing. Whether profiles leave it out is asked next."""

LATE: tuple[tuple[FateKind, Predicate], ...] = (
    (FateKind.EXTERNAL, _is_external),
    (FateKind.UNAVAILABLE, _is_unavailable),
    (FateKind.DEFAULT, _is_by_default),
)
"""Asked last, of rows that a profile keeps; where neither holds, the row is selected."""


def _overridden(options: PlanOptions, context: RowContext, entry: Entry, by: Entry, fate: Fate) -> Diagnostic:
    """P001: a later layer's row answers instead; an error where layers are strict."""
    strict = options.strict_layers
    return Diagnostic(
        code="P001",
        message="row is overridden by a later layer",
        location=context.place(entry.row),
        related=(context.place(by.row),),
        detail=() if fate.kind is FateKind.OVERRIDDEN else ("for some of the output types that it stands for",),
        hint="leave out --strict-layers to allow it" if strict else None,
        severity=Severity.ERROR if strict else Severity.NOTE,
    )


def _selects_nothing(options: PlanOptions, entry: Entry, fate: Fate, place: Location) -> Diagnostic:
    """P002 of a row that nothing can run, an error where rows are strict; P003 of one that is not believed."""
    unavailable = fate.kind is FateKind.UNAVAILABLE
    severity = Severity.ERROR if options.strict else Severity.WARNING
    return Diagnostic(
        code="P002" if unavailable else "P003",
        message=f"row selects nothing: {fate}",
        location=place,
        detail=(f"{row_text(entry.row)}: {entry.row.kernel}",),
        severity=severity if unavailable else Severity.NOTE,
    )


def _open_target(cu_num: int, places: list[Location]) -> Diagnostic:
    """One note for all rows of a file whose CU count, or the lack of one, leaves their arch open."""
    return Diagnostic(
        code="P004",
        message=f"no target: {f'no single known arch has {cu_num} CUs' if cu_num else 'there is no CU count'}",
        location=places[0],
        detail=(f"{len(places)} row{'' if len(places) == 1 else 's'} of this kind select nothing",),
        hint=f"say which: --assume-gfx {cu_num}=GFX" if cu_num else "add the columns gfx and cu_num",
        severity=Severity.NOTE,
    )
