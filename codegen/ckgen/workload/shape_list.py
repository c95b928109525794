"""Lists of shapes: problems of every operation but attention, each with how often it is asked, as CSV."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from pathlib import Path

from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.document import JSON, DocumentError, read_text
from ckgen.model.errors import InputError
from ckgen.tables.files import write_files

COLUMNS = ("signature", "B", "M", "N", "K", "experts", "top_k", "count")
_LARGEST = 2**63 - 1


@dataclass(frozen=True, slots=True, order=True)
class AskedShape:
    """A problem; `batch`, `experts` and `top_k` are 0 where it has none. N and K of MoE are those of `lookup`."""

    signature: str
    batch: int
    m: int
    n: int
    k: int
    experts: int = 0
    top_k: int = 0

    @property
    def sizes(self) -> str:
        """What people read."""
        batch = f"B={self.batch} " if self.batch else ""
        routing = f" experts={self.experts} top_k={self.top_k}" if self.experts else ""
        return f"{batch}M={self.m} N={self.n} K={self.k}{routing}"


def write_shapes(path: Path, counts: Mapping[AskedShape, int]) -> None:
    """Replaces the file by the shapes in order; UsageError where it cannot be written."""
    text = io.StringIO()
    lines = (map(str, (*astuple(shape), counts[shape])) for shape in sorted(counts))
    csv.writer(text, lineterminator="\n").writerows([COLUMNS, *lines])
    write_files({path: text.getvalue().encode()})


def read_shapes(path: Path) -> Counter[AskedShape]:
    """The inverse; a shape that stands twice is asked as often as both say. InputError M005 of each wrong line."""
    try:
        lines = list(csv.reader(io.StringIO(read_text(path, JSON))))
    except (DocumentError, csv.Error) as error:
        raise InputError([_wrong(path, 1, str(error))]) from None
    if not lines or tuple(lines[0]) != COLUMNS:
        raise InputError([_wrong(path, 1, f"no list of shapes: its columns are not {','.join(COLUMNS)}")])
    found, errors = Counter[AskedShape](), []
    for number, line in enumerate(lines[1:], 2):
        shape = _shape(line)
        if line and shape is None:
            errors.append(_wrong(path, number, f"no shape: '{','.join(line)}'"))
        elif shape is not None:
            found[shape[0]] += shape[1]
    if errors:
        raise InputError(errors)
    return found


def _shape(line: list[str]) -> tuple[AskedShape, int] | None:
    if len(line) != len(COLUMNS) or not line[0]:
        return None
    if not all(cell.isascii() and cell.isdecimal() and len(cell) < 20 for cell in line[1:]):
        return None
    batch, m, n, k, experts, top_k, count = map(int, line[1:])
    if min(m, n, k, count) < 1 or max(map(int, line[1:])) > _LARGEST:
        return None
    return AskedShape(line[0], batch, m, n, k, experts, top_k), count


def _wrong(path: Path, line: int, message: str) -> Diagnostic:
    hint = "`ckgen shapes --out` and `ckgen record` write such lists"
    return Diagnostic("M005", message, Location(str(path), line), hint=hint)
