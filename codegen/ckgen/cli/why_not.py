"""`validate --why-not`: the fate of chosen rows, each with its reason."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from ckgen.model.diagnostic import Location
from ckgen.model.fate import Fate
from ckgen.model.fmha_row import FmhaRow
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
    row: TunedRow | FmhaRow | None

    def text(self) -> str:
        """The place and the fate, and below them what the row says."""
        head = f"{self.source}: {self.fate}"
        row = self.row
        if row is None:
            return head
        if isinstance(row, FmhaRow):
            return f"{head}\n  {row.target} {row.sizes}: {row.kernel}"
        target = row.target or f"{row.cu_num} CUs"
        return f"{head}\n  {target} {row.module} {row.sizes}: {row.library} {row.kernel}"

    def to_json(self) -> dict[str, object]:
        """The same as a JSON object; null for what is not known."""
        row = self.row
        return {
            "source": self.source,
            "fate": self.fate.kind.value,
            "reason": self.fate.reason or None,
            "target": str(row.target) if row is not None and row.target is not None else None,
            "module": row.module if isinstance(row, TunedRow) else None,
            "shape": row.sizes if row is not None else None,
            "library": row.library if isinstance(row, TunedRow) else None,
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
    of_rows = sum(len(file.rows) for file in plan.files)
    fates, of_fmha = iter(plan.fates[:of_rows]), iter(plan.fates[of_rows:])
    for file in plan.files:
        for row in file.rows:
            yield file, RowFate(f"{file.display}:{row.location.line}", next(fates), row)
        for attention in file.fmha:
            yield file, RowFate(f"{file.display}:{attention.location.line}", next(of_fmha), attention)
        for fate in file.fates:
            yield file, RowFate(f"{file.display}:{fate.location.line}", fate, None)
        if file.counted is not None and 1 < line <= _last_line(file):
            fate = Fate(file.counted, Location(file.path, line))
            yield file, RowFate(f"{file.display}:{line}", fate, None)


def _last_line(file: TableFile) -> int:
    return read_bytes(file.source).count(b"\n") + 1
