"""Which fate each row gets: small predicates in order, the first that answers wins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from ckgen.model.fate import Fate, FateKind
from ckgen.plan.rows import Entry, RowContext

AMBIGUOUS = "ambiguous_target"
"""The reason of a row that does not tell its target."""

LeftOut = Callable[[Entry], str | None]
"""Why no profile keeps the row's kernel for any of its signatures, or None."""

Outcome = tuple[Entry, Fate]


class Outcomes(NamedTuple):
    """Rows of one family with their fates, in the order of files and lines."""

    entries: Sequence[Entry]
    fates: Sequence[Fate]

    def pairs(self) -> Iterator[Outcome]:
        """Each row with its own."""
        return zip(self.entries, self.fates, strict=True)


def settle(context: RowContext, entries: Iterable[Entry]) -> None:
    """Finds the rows that answer for nothing, whatever the profiles are."""
    for entry in entries:
        entry.early_outcome = _first(context, entry, EARLY)


def resolve(context: RowContext, entries: Sequence[Entry], left_out: LeftOut) -> Outcomes:
    """Every row with its fate, in the order given; all must have been settled."""
    return Outcomes(entries, [_fate(context, entry, left_out) for entry in entries])


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
            return Fate(kind, entry.row.location, context.shared(reason))
    return None


def _is_invalid(_: RowContext, entry: Entry) -> str | None:
    return entry.invalid


def _is_ambiguous(_: RowContext, entry: Entry) -> str | None:
    return AMBIGUOUS if entry.row.target is None else None


def _is_of_other_target(context: RowContext, entry: Entry) -> str | None:
    target = entry.row.target
    return None if target is None or context.is_asked(target) else str(target)


def _is_of_no_product(context: RowContext, entry: Entry) -> str | None:
    target = entry.row.target
    arch = context.archs.get(target.gfx) if target is not None else None
    if arch is None or target is None or arch.has_product(target.cu_num, target.sku):
        return None
    return f"{target.sku} is no product of {arch.name} with {target.cu_num} CUs"


def _is_unsaid(context: RowContext, entry: Entry) -> str | None:
    return None if entry.signatures else context.meanings.why_nothing(entry.row)


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


def _is_left_out(context: RowContext, entry: Entry) -> str | None:
    return context.why_left_out(entry) if entry.generated else None


def _is_unavailable(context: RowContext, entry: Entry) -> str | None:
    assert entry.row.target is not None
    if entry.row.target.gfx not in context.archs:
        return f"no spec of {entry.row.target.gfx}"
    reason = context.meanings.why_unavailable(entry.row, entry.signatures)
    if entry.by_default:
        return reason
    assert entry.kernel is not None
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
    (FateKind.UNAVAILABLE, _is_of_no_product),
    (FateKind.UNAVAILABLE, _is_unsaid),
    (FateKind.REFUSED_MEASUREMENT, _is_refused),
    (FateKind.OVERRIDDEN, _is_overridden),
    (FateKind.DUPLICATE_IDENTICAL, _is_duplicate),
)
"""Asked first: what makes a row answer for nothing. Whether profiles leave it out is asked next."""

LATE: tuple[tuple[FateKind, Predicate], ...] = (
    (FateKind.LEFT_OUT, _is_left_out),
    (FateKind.EXTERNAL, _is_external),
    (FateKind.UNAVAILABLE, _is_unavailable),
    (FateKind.DEFAULT, _is_by_default),
)
"""Asked last, of rows that a profile keeps; where neither holds, the row is selected."""
