"""The columns of a tuned table as lists of cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.tables.read import RawTable, quoted, split_line

_BLOCK = 4096
"""Rows that are split at a time: as lists of cells they take far more room than as columns."""
_FEW = 1 << 16


@dataclass(frozen=True, slots=True)
class Cells:
    """Equally long columns of untrimmed cells, the line number of each row, and the lines left out with their code."""

    columns: dict[str, list[str]]
    numbers: tuple[int, ...]
    problems: tuple[Diagnostic, ...]
    malformed: tuple[tuple[int, str], ...]


def split_columns(raw: RawTable, unread: frozenset[str] = frozenset()) -> Cells:
    """The cells of every well-formed row but for columns that are not read, absent trailing ones empty; T011 for each
    other row.
    """
    problems = list(_repeated_columns(raw))
    malformed: list[tuple[int, str]] = []
    numbers: list[int] = []
    columns = [_Column(name not in unread) for name in raw.header]
    block: list[list[str]] = []
    width = len(raw.header)
    for line_number, line in raw.rows():
        cells = split_line(line)
        if cells is None or len(cells) > width:
            problems.append(_malformed(raw, line_number, *_fault(line, cells, width)))
            malformed.append((line_number, "T011"))
            continue
        numbers.append(line_number)
        block.append(cells + [""] * (width - len(cells)))
        if len(block) == _BLOCK:
            _store(columns, block)
            block.clear()
    _store(columns, block)
    named = {name: column.texts for name, column in zip(raw.header, columns, strict=True) if column.is_read}
    return Cells(named, tuple(numbers), tuple(problems), tuple(malformed))


class _Column:
    """Cells of a column. Equal ones are one object while few differ: most columns say the same few words."""

    __slots__ = ("_known", "is_read", "texts")

    def __init__(self, is_read: bool) -> None:
        self.is_read = is_read
        self.texts: list[str] = []
        self._known: dict[str, str] | None = {}

    def extend(self, cells: tuple[str, ...]) -> None:
        if self._known is None:
            self.texts += cells
            return
        self.texts += map(self._known.setdefault, cells, cells)
        if len(self._known) > _FEW:
            self._known = None


def _store(columns: Sequence[_Column], block: Sequence[Sequence[str]]) -> None:
    for column, cells in zip(columns, zip(*block, strict=True), strict=bool(block)):
        if column.is_read:
            column.extend(cells)


def _fault(line: str, cells: list[str] | None, width: int) -> tuple[str, str]:
    if cells is None:
        return f"quote left open or amiss: {quoted(line)}", "expected every quote to be closed on its own line"
    return f"{len(cells)} cells: {quoted(line)}", f"expected at most {width}, as many as the header has"


def _malformed(raw: RawTable, line_number: int, message: str, expected: str) -> Diagnostic:
    hint = "correct the line, or remove it"
    return Diagnostic("T011", message, Location(raw.display, line_number), (expected,), hint)


def _repeated_columns(raw: RawTable) -> Iterator[Diagnostic]:
    for name, count in Counter(raw.header).items():
        if count > 1 and name:
            message, expected = f"column {name!r} appears {count} times", "expected each column once"
            yield _malformed(raw, raw.header_line, message, expected)
