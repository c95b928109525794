"""Rows before any profile is asked: what they answer for, which are wrong, and which is best."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, islice
from typing import Any

from ckgen.families.common.problem_finding import ProblemFinding
from ckgen.families.common.rows import Advice, Identified, RowMeanings, SignatureGroup
from ckgen.families.common.signature import Signature
from ckgen.families.rules import judge
from ckgen.model.arch import ArchSpec
from ckgen.model.diagnostic import Diagnostic, Location, Severity
from ckgen.model.errors import UsageError
from ckgen.model.fate import Fate
from ckgen.model.finding import RuleFinding
from ckgen.model.row import Row
from ckgen.model.target import Target
from ckgen.plan.legal import Keep
from ckgen.tables.read import quoted

MOST_PAIRS = 100
"""Contradicting pairs of one key that are listed; every row is in one of the first pairs."""
_PRINTABLE = re.compile(r"[ -!#-\[\]-~]*")

Signatures = tuple[Any, ...]
FullKey = tuple[Hashable, ...]
"""Target, number of the group of signatures, sizes: two rows of one layer with equal keys must agree."""


@dataclass(slots=True, eq=False)
class Entry:
    """A row and what the predicates ask of it, each answered once.

    `by_default`: the row says that kernels of ckgen's answer as they do without it. `keys` has one for each of
    `groups`; the row answers for `answered_parts` of them. `best` is what answers instead, or the row. `early_outcome`
    is the fate of a row that answers for nothing, `late_outcome` that of another once a profile keeps it.
    """

    row: Row
    signatures: Signatures
    number: int
    generated: bool
    kernel: Identified | None
    by_default: bool = False
    table_kernel: str = ""
    refused: str | None = None
    invalid: str | None = None
    groups: tuple[SignatureGroup[Any], ...] = ()
    keys: tuple[FullKey, ...] = ()
    answered_parts: tuple[SignatureGroup[Any], ...] = ()
    best: Entry | None = None
    overrider: Entry | None = None
    early_outcome: Fate | None = None
    late_outcome: Fate | None = None


@dataclass(slots=True)
class RowContext:
    """What a run asks of rows of one family. `keep` answers why a kernel is filtered out; `targets` None means all.

    `place` is where the user can find a row.
    """

    meanings: RowMeanings[Any, Any]
    archs: Mapping[str, ArchSpec]
    targets: frozenset[Target] | None
    keep: Keep
    place: Callable[[Row], Location]
    findings: list[Diagnostic] = field(default_factory=list)
    _peaks: dict[tuple[Target, int], float | None] = field(default_factory=dict)
    _judged: dict[tuple[int, str, str, str], tuple[RuleFinding, ...]] = field(default_factory=dict)

    def peak(self, entry: Entry) -> float | None:
        """The dense peak rate of the row's target for its types, in operations per second; None where not known."""
        target = entry.row.target
        arch = self.archs.get(target.gfx) if target is not None else None
        if arch is None or target is None or not entry.signatures:
            return None
        key = (target, entry.number)
        if key not in self._peaks:
            signature: Signature = entry.signatures[0]
            self._peaks[key] = arch.peak_ops(signature.a, signature.b, target.cu_num)
        return self._peaks[key]

    def rule_findings(self, entry: Entry) -> tuple[RuleFinding, ...]:
        """The rules of the kernel's backend on the row's arch; none where either is not known."""
        row = entry.row
        arch = self.archs.get(row.target.gfx) if row.target is not None else None
        if arch is None or entry.kernel is None:
            return ()
        key = (entry.number, row.library, row.kernel, arch.name)
        if key not in self._judged:
            self._judged[key] = tuple(judge(entry.signatures[0], entry.kernel.config, entry.kernel.backend, arch))
        return self._judged[key]

    def broken(self, entry: Entry, kernel: Identified) -> ProblemFinding | None:
        """What the row's sizes fail of what its signature and its kernel ask."""
        return self.meanings.broken(entry.row, entry.number, entry.signatures[0], kernel)


def examined(context: RowContext, rows: Iterable[Row]) -> list[Entry]:
    """All that is known of the rows together, in the order given; errors are added to `context.findings`."""
    entries = [examine(context, row) for row in rows]
    set_keys(context, entries)
    _find_invalid(context, entries)
    _find_best(context, entries)
    return entries


def examine(context: RowContext, row: Row) -> Entry:
    """What is known about a row by itself; a row that contradicts itself is added to `context.findings`."""
    meanings = context.meanings
    generated = meanings.is_generated(row)
    kernel = meanings.kernel(row) if generated else None
    if row.target is None:
        return Entry(row, (), -1, generated, kernel)
    wrong = signature_finding(context, row)
    if wrong is not None:
        context.findings.append(wrong)
        return Entry(row, (), -1, generated, kernel, invalid=wrong.code)
    number, signatures = meanings.signatures(row)
    by_default = meanings.is_by_default(row)
    entry = Entry(row, signatures, number, generated, kernel, by_default, meanings.table_kernel(row))
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
    meanings, place = context.meanings, context.place(row)
    if meanings.is_generated(row) and meanings.kernel(row) is None:
        return unparsable(row, place, meanings.about_name(row))
    return None if is_plain(row.kernel) and is_plain(row.library) else _unprintable(row, place)


def signature_finding(context: RowContext, row: Row) -> Diagnostic | None:
    """Where a row contradicts itself, or its types make nothing that is defined."""
    try:
        context.meanings.signatures(row)
    except UsageError as error:
        detail, hint = context.meanings.about_types(row)
        return Diagnostic("T015", str(error), context.place(row), detail, hint)
    return None


def unparsable(row: Row, place: Location, advice: Advice) -> Diagnostic:
    """A row of a kernel that ckgen makes, whose name does not parse."""
    return Diagnostic("T012", f"kernel name does not parse: {quoted(row.kernel)}", place, advice.detail, advice.hint)


def is_plain(text: str) -> bool:
    """Whether a name can stand in a C++ string as it is: printable ASCII, no quote, no backslash."""
    return _PRINTABLE.fullmatch(text) is not None


def _find_invalid(context: RowContext, entries: Sequence[Entry]) -> None:
    """Names that do not parse or cannot be emitted, and rows of one layer that contradict each other."""
    groups: dict[tuple[int, FullKey], list[Entry]] = defaultdict(list)
    for entry in entries:
        wrong = name_finding(context, entry.row)
        if wrong is not None:
            context.findings.append(wrong)
            entry.invalid = wrong.code
        else:
            for key in entry.keys:
                groups[entry.row.layer, key].append(entry)
    listed: dict[tuple[int, int], Diagnostic] = {}
    for group in groups.values():
        if len(group) > 1 and len({entry.row.answer for entry in group}) > 1:
            for entry in group:
                entry.invalid = "T007"
            pairs = (pair for pair in combinations(group, 2) if pair[0].row.answer != pair[1].row.answer)
            for a, b in islice(pairs, MOST_PAIRS):
                listed.setdefault((id(a), id(b)), _contradiction(context, a.row, b.row))
    context.findings += listed.values()


def _find_best(context: RowContext, entries: Sequence[Entry]) -> None:
    """Per key the row that answers: the least in rank, of equal ones the first."""
    rank = context.meanings.rank
    best: dict[FullKey, Entry] = {}
    for entry in entries:
        if entry.invalid is not None or entry.refused is not None:
            continue
        for key in entry.keys:
            known = best.get(key)
            if known is None or rank(entry.row) < rank(known.row):
                best[key] = entry
    for entry in entries:
        rivals = [best[key] for key in entry.keys if key in best]
        entry.answered_parts = tuple(
            group for group, key in zip(entry.groups, entry.keys, strict=True) if best.get(key) is entry
        )
        latest = max(rivals, key=lambda rival: rival.row.layer, default=None)
        entry.best = entry if entry.answered_parts else latest
        entry.overrider = latest if latest is not None and latest.row.layer > entry.row.layer else None


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
