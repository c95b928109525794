"""What is said of rows once their fates are known: in one walk, as there are many rows and few findings."""

from __future__ import annotations

from collections.abc import Iterable

from ckgen.model.diagnostic import Diagnostic, Location, Severity
from ckgen.model.fate import Fate, FateKind
from ckgen.plan.entry import Entry, RowContext
from ckgen.plan.fates import AMBIGUOUS
from ckgen.plan.options import PlanOptions
from ckgen.plan.row_findings import SELECTING_NOTHING, overridden, selects_nothing

_ANSWERING = (FateKind.OVERRIDDEN, FateKind.EXTERNAL, FateKind.UNAVAILABLE, FateKind.SELECTED)


def fate_findings(
    options: PlanOptions, context: RowContext, resolved: Iterable[tuple[Entry, Fate]]
) -> list[Diagnostic]:
    """Rows that a later layer overrides, then those that select nothing, then one note per file for open targets."""
    layers: list[Diagnostic] = []
    nothing: list[Diagnostic] = []
    open_targets: dict[tuple[str, int], list[Location]] = {}
    for entry, fate in resolved:
        if entry.overrider is not None and fate.kind in _ANSWERING:
            layers.append(_overridden(options, context, entry, entry.overrider, fate))
        if fate.kind not in SELECTING_NOTHING:
            continue
        place = context.place(entry.row)
        if fate.reason == AMBIGUOUS:
            open_targets.setdefault((place.file, entry.row.cu_num), []).append(place)
        else:
            row = entry.row
            text = f"{row.target} {row.module} {row.sizes}: {row.kernel}"
            nothing.append(selects_nothing(fate, place, text, strict=options.strict))
    return [*layers, *nothing, *(_open_target(cu_num, places) for (_, cu_num), places in open_targets.items())]


def _overridden(options: PlanOptions, context: RowContext, entry: Entry, by: Entry, fate: Fate) -> Diagnostic:
    partly = () if fate.kind is FateKind.OVERRIDDEN else ("for some of the output types that it stands for",)
    return overridden(context.place(entry.row), context.place(by.row), partly, strict=options.strict_layers)


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
