"""What became of every row of a plan's tables, one by one or as a pandas DataFrame."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ckgen.model.diagnostic import Location, Severity
from ckgen.model.fate import Fate, FateKind
from ckgen.model.row import Row
from ckgen.plan.model import GenerationPlan
from ckgen.tables.load import TableFile
from ckgen.tables.read import parse_bytes, read_bytes

if TYPE_CHECKING:
    from pandas import DataFrame


@dataclass(frozen=True, slots=True)
class RowFate:
    """A row where the user finds it, and what became of it; `row` is None where it was not read."""

    place: Location
    fate: Fate
    row: Row | None


def row_fates(plan: GenerationPlan) -> Iterator[RowFate]:
    """Every row of every file, in file and line order; of files that are only counted, their fate for each line."""
    fates = {id(fate.location): fate for fate in plan.fates}  # a fate's location is its row's own object
    for file in plan.files:
        ends: list[tuple[Fate, Row | None]] = [(fates[id(row.location)], row) for row in file.rows]
        ends += [(fate, None) for fate in (*file.fates, *_counted(plan, file))]
        for fate, row in sorted(ends, key=lambda end: end[0].location.line):
            yield RowFate(Location(file.display, fate.location.line), fate, row)


def plan_frame(plan: GenerationPlan) -> DataFrame:
    """The rows as `ckgen.tables.data_frame.rows_frame` has them, behind file and line, before fate and reason."""
    import pandas as pd

    from ckgen.tables.data_frame import rows_frame

    found = list(row_fates(plan))
    frame = rows_frame([one.row for one in found])
    frame.insert(0, "file", pd.Series([one.place.file for one in found], dtype="category"))
    frame.insert(1, "line", pd.Series([one.place.line for one in found], dtype="int64"))
    frame["fate"] = pd.Categorical([one.fate.kind.value for one in found], [kind.value for kind in FateKind])
    frame["reason"] = pd.Series([one.fate.reason or None for one in found], dtype="string")
    return frame


def _counted(plan: GenerationPlan, file: TableFile) -> Iterator[Fate]:
    """The fate that the rows of a file share, for each; with the code of the file's first error where it is wrong."""
    if file.counted is None or not file.row_count:
        return
    raw, _ = parse_bytes(read_bytes(file.source), file.display)
    assert raw is not None
    reason = _first_error(plan, file) if file.counted is FateKind.INVALID else ""
    for line, _ in raw.rows():
        yield Fate(file.counted, Location(file.path, line), reason)


def _first_error(plan: GenerationPlan, file: TableFile) -> str:
    errors = (one for one in plan.diagnostics if one.severity is Severity.ERROR and one.location is not None)
    return next((one.code for one in errors if one.location is not None and one.location.file == file.display), "")
