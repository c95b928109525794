"""What is known of rows before any profile is asked: what they answer for, which are wrong, and which is best."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations, islice

from ckgen.families.moe.module import moe_module
from ckgen.families.moe.tables import operations_of
from ckgen.model.diagnostic import Diagnostic, Severity
from ckgen.model.errors import UsageError
from ckgen.model.moe_row import MoeRow
from ckgen.model.tuned_row import TunedRow
from ckgen.plan.entry import Entry, FullKey, RowContext
from ckgen.plan.fates import settled
from ckgen.plan.identify import is_printable, meaningless, unparsable, unprintable
from ckgen.plan.row_findings import beyond_peak, no_time
from ckgen.tables.repair import winner

MAX_ERROR_RATIO = 0.05
"""The peer's GEMM tuners accept a kernel whose share of mismatching elements is at most this."""

MOST_PAIRS = 100
"""Contradicting pairs of one key that are listed; every row is in one of the first pairs."""


def examined(context: RowContext, rows: Iterable[TunedRow]) -> list[Entry]:
    """All that is known of the rows together, in the order given; errors are added to `context.findings`."""
    entries = [examine(context, row) for row in rows]
    set_keys(context, entries)
    _find_invalid(context, entries)
    _find_best(entries)
    for entry in entries:
        entry.settled = settled(context, entry)
    return entries


def examine(context: RowContext, row: TunedRow) -> Entry:
    """What is known about a row by itself; types that mean nothing are added to `context.findings`."""
    identifier = context.identifier
    generated = identifier.is_generated(row)
    kernel = identifier.kernel(row) if generated else None
    if row.target is None:
        return Entry(row, (), -1, generated, kernel)
    try:
        number, signatures = identifier.signatures(row)
    except UsageError as error:
        context.findings.append(meaningless(row, context.place(row), error))
        return Entry(row, (), -1, generated, kernel, invalid="T015")
    entry = Entry(row, signatures, number, generated, kernel)
    entry.refused = _refusal(context, entry)
    return entry


def set_keys(context: RowContext, entries: Iterable[Entry]) -> None:
    """Says what each row answers for; all rows must have been examined."""
    parts = context.identifier.parts()
    for entry in entries:
        target, shape = entry.row.target, entry.row.shape
        if target is not None and entry.signatures:
            entry.parts = parts[entry.number]
            entry.keys = tuple((target, part, shape.batch, shape.m, shape.n, shape.k) for part, _ in entry.parts)


def _find_invalid(context: RowContext, entries: Sequence[Entry]) -> None:
    """Names that do not parse or cannot be emitted, and rows of one layer that contradict each other."""
    groups: dict[tuple[int, FullKey], list[Entry]] = defaultdict(list)
    for entry in entries:
        if entry.generated and entry.kernel is None:
            context.findings.append(unparsable(entry.row, context.place(entry.row)))
            entry.invalid = "T012"
        elif not is_printable(entry.row):
            context.findings.append(unprintable(entry.row, context.place(entry.row)))
            entry.invalid = "T016"
        else:
            for key in entry.keys:
                groups[entry.row.layer, key].append(entry)
    listed: dict[tuple[int, int], Diagnostic] = {}
    for group in groups.values():
        if len(group) > 1 and len({winner(entry.row) for entry in group}) > 1:
            for entry in group:
                entry.invalid = "T007"
            pairs = (pair for pair in combinations(group, 2) if winner(pair[0].row) != winner(pair[1].row))
            for a, b in islice(pairs, MOST_PAIRS):
                listed.setdefault((id(a), id(b)), _contradiction(context, a.row, b.row))
    context.findings += listed.values()


def _find_best(entries: Sequence[Entry]) -> None:
    """Per key the row that answers: the last layer's, and of equal rows there the lowest valid time."""
    best: dict[FullKey, Entry] = {}
    for entry in entries:
        if entry.invalid is not None or entry.refused is not None:
            continue
        for key in entry.keys:
            known = best.get(key)
            if known is None or _rank(entry.row) < _rank(known.row):
                best[key] = entry
    for entry in entries:
        rivals = [best[key] for key in entry.keys if key in best]
        entry.won = tuple(part for part, key in zip(entry.parts, entry.keys, strict=True) if best.get(key) is entry)
        latest = max(rivals, key=lambda rival: rival.row.layer, default=None)
        entry.best = entry if entry.won else latest
        entry.overrider = latest if latest is not None and latest.row.layer > entry.row.layer else None


def _refusal(context: RowContext, entry: Entry) -> str | None:
    """Why a measurement is not believed: not a time, too many wrong elements, or faster than the chip."""
    row = entry.row
    refused = no_time(row.us)
    if refused is not None:
        return refused
    most = moe_module().max_error_ratio if isinstance(row, MoeRow) else MAX_ERROR_RATIO
    if row.error_ratio is not None and not row.error_ratio <= most:
        bound = f" > {most}" if row.error_ratio > most else ""
        return f"errRatio = {row.error_ratio:g}{bound}"
    return beyond_peak(_operations(row), row.us, context.peak(entry))


def _operations(row: TunedRow) -> int:
    if isinstance(row, MoeRow):
        return operations_of(row)
    return 2 * max(row.shape.batch, 1) * row.shape.m * row.shape.n * row.shape.k


def _rank(row: TunedRow) -> tuple[int, float]:
    return (-row.layer, row.us if row.us is not None else math.inf)


def _contradiction(context: RowContext, first: TunedRow, second: TunedRow) -> Diagnostic:
    def said(row: TunedRow) -> str:
        time = f" ({row.us:g} us)" if row.us is not None else ""
        splits = f" k_batch {row.k_batch}" if row.k_batch != 1 else ""
        return f"{row.library} {row.kernel or '-'}{splits}{time}"

    return Diagnostic(
        code="T007",
        message="same key, different kernels",
        location=context.place(first),
        related=(context.place(second),),
        detail=(f"{first.target} {first.module} {first.sizes}: {said(first)} / {said(second)}",),
        hint="keep one: ckgen tables dedupe PATH --keep fastest --write",
        severity=Severity.ERROR,
    )
