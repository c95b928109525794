"""`validate --why-not`: the fate of chosen rows, each with its reason."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from ckgen.model.diagnostic import Location
from ckgen.model.fate import Fate
from ckgen.model.row import Row
from ckgen.model.tuned_row import TunedRow
from ckgen.plan.model import GenerationPlan
from ckgen.tables.load import TableFile
from ckgen.tables.read import read_bytes

_PLACE = re.compile(r"(?:\./)*(?P<file>.+):(?P<line>[0-9]+)")


@dataclass(frozen=True, slots=True)
class RowFate:
    """A row where the user finds it, and what became of it; `row` is None where it could not be read."""

    source: str
    fate: Fate
    row: Row | None

    def text(self) -> str:
        """The place and the fate, and below them what the row says."""
        head = f"{self.source}: {self.fate}"
        row = self.row
        if row is None:
            return head
        target = str(row.target or f"{row.cu_num} CUs")
        problem, answer = (target, row.module, row.sizes), (row.library, row.kernel)
        return f"{head}\n  {' '.join(filter(None, problem))}: {' '.join(filter(None, answer))}"

    def to_json(self) -> dict[str, object]:
        """The same as a JSON object; null for what is not known."""
        row = self.row
        return {
            "source": self.source,
            "fate": self.fate.kind.value,
            "reason": self.fate.reason or None,
            "target": str(row.target) if row is not None and row.target is not None else None,
            "module": (row.module or None) if row is not None else None,
            "shape": row.sizes if row is not None else None,
            "library": (row.library or None) if row is not None else None,
            "kernel": row.kernel if row is not None else None,
        }


def matching(plan: GenerationPlan, asked: str) -> list[RowFate]:
    """The row at `FILE:LINE` (the path as shown, or the end of it), else all rows whose kernel name fits the glob."""
    place = _PLACE.fullmatch(asked)
    if place is not None:
        line = int(place["line"])
        files = {file.display for file in plan.files if _is_named(file.display, place["file"])}
        found = [one for file, one in _every(plan, line) if file.display in files and one.fate.location.line == line]
        if found:
            return found
    return [one for _, one in _every(plan, 0) if one.row is not None and fnmatchcase(one.row.kernel, asked)]


def _is_named(display: str, asked: str) -> bool:
    shown = display.removeprefix("./")
    return shown == asked or shown.endswith(f"/{asked}") or asked.endswith(f"/{shown}")


def _every(plan: GenerationPlan, line: int) -> Iterator[tuple[TableFile, RowFate]]:
    """All rows with their fates; of files that are only counted, the row at `line`."""
    tuned = sum(isinstance(row, TunedRow) for file in plan.files for row in file.rows)
    of_tuned, of_others = iter(plan.fates[:tuned]), iter(plan.fates[tuned:])
    for file in plan.files:
        for row in file.rows:
            fate = next(of_tuned if isinstance(row, TunedRow) else of_others)
            yield file, RowFate(f"{file.display}:{row.location.line}", fate, row)
        for fate in file.fates:
            yield file, RowFate(f"{file.display}:{fate.location.line}", fate, None)
        if file.counted is not None and 1 < line <= _last_line(file):
            fate = Fate(file.counted, Location(file.path, line))
            yield file, RowFate(f"{file.display}:{line}", fate, None)


def _last_line(file: TableFile) -> int:
    return read_bytes(file.source).count(b"\n") + 1
