"""What is said of rows that answer for nothing: one finding per file and cause, however many rows it has."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from functools import partial

from ckgen.families.common.rows import row_text
from ckgen.model.diagnostic import Diagnostic, Location, Severity
from ckgen.model.fate import Fate, FateKind
from ckgen.plan.fates import AMBIGUOUS, Outcomes
from ckgen.plan.options import PlanOptions
from ckgen.plan.rows import Entry, RowContext

MOST_LINES = 8
"""Lines that a finding names beside that of its first row."""

_ANSWERING = (FateKind.OVERRIDDEN, FateKind.EXTERNAL, FateKind.UNAVAILABLE, FateKind.SELECTED)
_SELECTING_NOTHING = (FateKind.UNAVAILABLE, FateKind.REFUSED_MEASUREMENT)
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?")


@dataclass(slots=True)
class _Rows:
    """The rows of one file and cause: what is said of the first, how many follow it and the lines of some."""

    first: Diagnostic
    more: int = 0
    lines: list[int] = field(default_factory=list)

    def add(self, line: int) -> None:
        self.more += 1
        if len(self.lines) < MOST_LINES:
            self.lines.append(line)

    def finding(self) -> Diagnostic:
        """The finding of all of them."""
        if not self.more:
            return self.first
        lines = [*map(str, self.lines), *(["…"] if self.more > len(self.lines) else [])]
        rows = "row" if self.more == 1 else "rows"
        more = f"and {self.more:,} more {rows} like it: line{'' if self.more == 1 else 's'} {', '.join(lines)}"
        return replace(self.first, detail=(*self.first.detail, more))


def fate_findings(options: PlanOptions, context: RowContext, outcomes: Outcomes) -> list[Diagnostic]:
    """What is said of rows that a later layer overrides, that select nothing, and whose target is open.

    One finding per file and cause; reasons that differ in numbers only are one cause.
    """
    found: dict[tuple[Hashable, ...], _Rows] = {}

    def say(cause: tuple[Hashable, ...], place: Location, finding: Callable[[], Diagnostic]) -> None:
        rows = found.get((place.file, *cause))
        if rows is None:
            found[place.file, *cause] = _Rows(finding())
        else:
            rows.add(place.line)

    for entry, fate in outcomes.pairs():
        is_overridden = entry.overrider is not None and fate.kind in _ANSWERING
        if not is_overridden and fate.kind not in _SELECTING_NOTHING:
            continue
        place = context.place(entry.row)
        if entry.overrider is not None and is_overridden:
            by = context.place(entry.overrider.row)
            whole = fate.kind is FateKind.OVERRIDDEN
            say(("P001", by.file, whole), place, partial(_overridden, options, place, by, fate))
        if fate.kind not in _SELECTING_NOTHING:
            continue
        if fate.reason == AMBIGUOUS:
            cu_num = entry.row.cu_num
            say(("P004", cu_num), place, partial(_open_target, cu_num, place))
        else:
            cause = (fate.kind, _NUMBER.sub("0", fate.reason))
            say(cause, place, partial(_selects_nothing, options, entry, fate, place))
    return [rows.finding() for rows in found.values()]


def _overridden(options: PlanOptions, place: Location, by: Location, fate: Fate) -> Diagnostic:
    """P001: a later layer's row answers instead; an error where layers are strict."""
    strict = options.strict_layers
    return Diagnostic(
        code="P001",
        message="row is overridden by a later layer",
        location=place,
        related=(by,),
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


def _open_target(cu_num: int, place: Location) -> Diagnostic:
    """P004: the CU count, or the lack of one, leaves the arch open."""
    return Diagnostic(
        code="P004",
        message=f"no target: {f'no single known arch has {cu_num} CUs' if cu_num else 'there is no CU count'}",
        location=place,
        hint=f"say which: --assume-gfx {cu_num}=GFX" if cu_num else "add the columns gfx and cu_num",
        severity=Severity.NOTE,
    )
