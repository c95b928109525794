"""Which fate a row of a tuned table gets: small predicates in order, the first that answers wins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from ckgen.families.gemm.problem_rules import first_broken, supports
from ckgen.families.moe.tables import why_unavailable
from ckgen.model.fate import Fate, FateKind
from ckgen.model.moe_row import MoeRow
from ckgen.plan.entry import Entry, RowContext

AMBIGUOUS = "ambiguous_target"
"""The reason of a row that does not tell its target."""

LeftOut = Callable[[Entry], str | None]
"""Why no profile keeps the row's kernel for any of its signatures, or None."""


def settled(context: RowContext, entry: Entry) -> Fate | None:
    """The fate of a row that answers for nothing, whatever the profiles are; None of any other."""
    return _first(context, entry, SETTLING)


def resolve(context: RowContext, entries: Sequence[Entry], left_out: LeftOut) -> list[tuple[Entry, Fate]]:
    """Every row with its fate, in the order given."""
    return [(entry, entry.settled or _fate(context, entry, left_out)) for entry in entries]


def _fate(context: RowContext, entry: Entry, left_out: LeftOut) -> Fate:
    """Of a row that answers for something."""
    reason = left_out(entry)
    if reason is not None:
        return Fate(FateKind.LEFT_OUT, entry.row.location, reason)
    if entry.kept is None:
        entry.kept = _first(context, entry, ANSWERING) or Fate(FateKind.SELECTED, entry.row.location)
    return entry.kept


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
    return None if entry.generated else entry.row.library


def _is_unavailable(context: RowContext, entry: Entry) -> str | None:
    assert entry.kernel is not None and entry.row.target is not None
    if entry.row.target.gfx not in context.archs:
        return f"no spec of {entry.row.target.gfx}"
    if isinstance(entry.row, MoeRow) and (reason := why_unavailable(entry.row, entry.signatures)) is not None:
        return reason
    filtered = context.keep(entry.signatures, entry.row.kernel, entry.kernel.backend)
    if filtered is not None:
        return filtered
    findings = context.judged(entry)
    if findings:
        return str(findings[0])
    limits, constraints = context.demands(entry, entry.kernel)
    shape = replace(entry.row.shape, batch=0) if isinstance(entry.row, MoeRow) else entry.row.shape
    problem = first_broken(limits, shape) or supports(constraints, shape, entry.row.k_batch or 0)
    return problem.text if problem is not None else None


Predicate = Callable[[RowContext, Entry], str | None]

SETTLING: tuple[tuple[FateKind, Predicate], ...] = (
    (FateKind.INVALID, _is_invalid),
    (FateKind.UNAVAILABLE, _is_ambiguous),
    (FateKind.OTHER_TARGET, _is_of_other_target),
    (FateKind.REFUSED_MEASUREMENT, _is_refused),
    (FateKind.OVERRIDDEN, _is_overridden),
    (FateKind.DUPLICATE_IDENTICAL, _is_duplicate),
)
"""Asked first: what makes a row answer for nothing. Whether profiles leave it out is asked next."""

ANSWERING: tuple[tuple[FateKind, Predicate], ...] = (
    (FateKind.EXTERNAL, _is_external),
    (FateKind.UNAVAILABLE, _is_unavailable),
)
