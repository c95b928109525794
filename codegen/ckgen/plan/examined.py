"""What rows answer for, which are wrong, and which is best."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import combinations, islice
from typing import Any

from ckgen.families.common.rows import Advice, Identified
from ckgen.model.diagnostic import Diagnostic, Location, Severity
from ckgen.model.errors import UsageError
from ckgen.model.row import Row
from ckgen.plan.rows import MOST_TEXTS, Entry, FullKey, RowContext
from ckgen.tables.read import quoted

MOST_PAIRS = 100
"""Contradicting pairs of one key that are listed; every row is in one of the first pairs."""
_PRINTABLE = re.compile(r"[ -!#-\[\]-~]*")


def examined(context: RowContext, rows: Iterable[Row]) -> list[Entry]:
    """All that is known of the rows together, in the order given; errors are added to `context.findings`.

    Of rows of other targets only whether they are wrong.
    """
    entries = [examine(context, row) for row in rows]
    set_keys(context, entries)
    rivals = _Rivals(context, entries)
    _find_invalid(context, rivals)
    _find_best(context, filter(context.is_wanted, entries), rivals)
    for entry in entries:
        entry.keys = ()  # they take as much room as the rest of an entry, and nothing asks for them again
    return entries


def examine(context: RowContext, row: Row) -> Entry:
    """What is known about a row by itself; a row that contradicts itself is added to `context.findings`."""
    own = context.meanings.of(row)
    generated = own.is_generated(row)
    kernel = own.kernel(row) if generated else None
    if row.target is None:
        return Entry(row, (), -1, generated, kernel)
    try:
        number, signatures = context.meanings.signatures(row)
    except UsageError as error:
        wrong = _self_contradiction(context, row, error)
        context.findings.append(wrong)
        return Entry(row, (), -1, generated, kernel, invalid=wrong.code)
    by_default = own.is_by_default(row)
    entry = Entry(row, signatures, number, generated, kernel, by_default, own.table_kernel(row))
    if context.is_wanted(entry):
        entry.refused = _refusal(context, entry)
    return entry


def set_keys(context: RowContext, entries: Iterable[Entry]) -> None:
    """Says what each row answers for; all rows must have been examined."""
    groups = context.meanings.groups()
    for entry in entries:
        if entry.row.target is not None and entry.signatures:
            sizes = context.meanings.sizes_key(entry.row)
            entry.groups = groups[entry.number]
            entry.keys = tuple((entry.row.target, group.number, *sizes) for group in entry.groups)


def name_finding(context: RowContext, row: Row) -> Diagnostic | None:
    """What is wrong with a row's names: a kernel that ckgen makes does not parse, or one could not be emitted."""
    own = context.meanings.of(row)
    generated = own.is_generated(row)
    return _name_finding(context, row, generated, own.kernel(row) if generated else None)


def _name_finding(context: RowContext, row: Row, generated: bool, kernel: Identified | None) -> Diagnostic | None:
    if generated and kernel is None:
        return unparsable(row, context.place(row), context.meanings.about_name(row))
    return None if is_plain(row.kernel) and is_plain(row.library) else _unprintable(row, context.place(row))


def signature_finding(context: RowContext, row: Row) -> Diagnostic | None:
    """Where a row contradicts itself, or its types make nothing that is defined."""
    try:
        context.meanings.signatures(row)
    except UsageError as error:
        return _self_contradiction(context, row, error)
    return None


def _self_contradiction(context: RowContext, row: Row, error: UsageError) -> Diagnostic:
    detail, hint = context.meanings.about_types(row)
    return Diagnostic("T015", str(error), context.place(row), detail, hint)


def unparsable(row: Row, place: Location, advice: Advice) -> Diagnostic:
    """A row of a kernel that ckgen makes, whose name does not parse."""
    return Diagnostic("T012", f"kernel name does not parse: {quoted(row.kernel)}", place, advice.detail, advice.hint)


@lru_cache(MOST_TEXTS)
def is_plain(text: str) -> bool:
    """Whether a name can stand in a C++ string as it is: printable ASCII, no quote, no backslash."""
    return _PRINTABLE.fullmatch(text) is not None


class _Rivals:
    """Entries by key. Nearly all keys have one, which stands for itself and not in a list: there may be millions."""

    def __init__(self, context: RowContext, entries: Iterable[Entry]) -> None:
        self._first: dict[FullKey, Entry] = {}
        self.several: dict[FullKey, list[Entry]] = {}
        for entry in entries:
            wrong = _name_finding(context, entry.row, entry.generated, entry.kernel)
            if wrong is not None:
                context.findings.append(wrong)
                entry.invalid = wrong.code
            else:
                for key in entry.keys:
                    self._add(key, entry)

    def _add(self, key: FullKey, entry: Entry) -> None:
        first = self._first.setdefault(key, entry)
        if first is not entry:
            self.several.setdefault(key, [first]).append(entry)

    def best(self, rank: Callable[[Any], tuple[float, ...]]) -> Callable[[FullKey], Entry | None]:
        """What answers a key: the entry that is least in rank, of equal ones the first."""
        of_several = {
            key: min(filter(_may_answer, entries), key=lambda one: rank(one.row), default=None)
            for key, entries in self.several.items()
        }

        def answer(key: FullKey) -> Entry | None:
            if key in of_several:
                return of_several[key]
            alone = self._first.get(key)
            return alone if alone is not None and _may_answer(alone) else None

        return answer


def _find_invalid(context: RowContext, rivals: _Rivals) -> None:
    """Rows of one layer that contradict each other."""
    listed: dict[tuple[int, int], Diagnostic] = {}
    for entries in rivals.several.values():
        layers: dict[int, list[Entry]] = defaultdict(list)
        for entry in entries:
            layers[entry.row.layer].append(entry)
        for group in layers.values():
            if len(group) > 1 and len({entry.row.answer for entry in group}) > 1:
                for entry in group:
                    entry.invalid = "T007"
                pairs = (pair for pair in combinations(group, 2) if pair[0].row.answer != pair[1].row.answer)
                for a, b in islice(pairs, MOST_PAIRS):
                    listed.setdefault((id(a), id(b)), _contradiction(context, a.row, b.row))
    context.findings += listed.values()


def _find_best(context: RowContext, entries: Iterable[Entry], rivals: _Rivals) -> None:
    """Per key the row that answers: the least in rank, of equal ones the first."""
    best = rivals.best(context.meanings.rank)
    for entry in entries:
        rows = [best(key) for key in entry.keys]
        if rows == [entry] * len(rows):  # entries are equal only to themselves, and nearly all answer all their keys
            entry.answered_parts, entry.best = entry.groups, entry if entry.groups else None
            continue
        entry.answered_parts = tuple(group for group, one in zip(entry.groups, rows, strict=True) if one is entry)
        latest = max((one for one in rows if one is not None), key=lambda one: one.row.layer, default=None)
        entry.best = entry if entry.answered_parts else latest
        entry.overrider = latest if latest is not None and latest.row.layer > entry.row.layer else None


def _may_answer(entry: Entry) -> bool:
    return entry.invalid is None and entry.refused is None


def _refusal(context: RowContext, entry: Entry) -> str | None:
    """Why a measurement is not believed: not a time, too many wrong elements, or faster than the chip."""
    row = entry.row
    if row.us is not None and not (math.isfinite(row.us) and row.us > 0):
        return f"us = {row.us:g}"
    most = context.meanings.most_error_ratio
    if row.error_ratio is not None and not row.error_ratio <= most:
        bound = f" > {most}" if row.error_ratio > most else ""
        return f"errRatio = {row.error_ratio:g}{bound}"
    peak = context.peak(entry)
    operations = context.meanings.operations(row, entry.signatures[0]) if row.us and peak else None
    share = operations / (row.us * 1e-6) / peak if row.us and peak and operations else 0
    return f"{share:.2f} times the peak rate" if share > 1 else None


def _contradiction(context: RowContext, first: Row, second: Row) -> Diagnostic:
    detail, hint = context.meanings.about_contradiction(first, second)
    return Diagnostic(
        code="T007",
        message="same key, different kernels",
        location=context.place(first),
        related=(context.place(second),),
        detail=detail,
        hint=hint,
        severity=Severity.ERROR,
    )


def _unprintable(row: Row, place: Location) -> Diagnostic:
    """A row whose names could not be emitted unchanged."""
    return Diagnostic(
        code="T016",
        message=f"kernel or library name is not plain text: {quoted(row.kernel)} of {quoted(row.library)}",
        location=place,
        detail=("expected printable ASCII without quotes and backslashes",),
        hint="mend the name; ckgen never alters one",
    )
