"""The columns of a tuned table as lists of cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.tables.read import RawTable, quoted, split_line


@dataclass(frozen=True, slots=True)
class Cells:
    """Equally long columns of untrimmed cells, the line number of each row, and the lines left out with their code."""

    columns: dict[str, list[str]]
    numbers: tuple[int, ...]
    problems: tuple[Diagnostic, ...]
    malformed: tuple[tuple[int, str], ...]


def split_columns(raw: RawTable) -> Cells:
    """The cells of every well-formed row, absent trailing ones empty; T011 for each other row."""
    problems = list(_repeated_columns(raw))
    malformed: list[tuple[int, str]] = []
    numbers: list[int] = []
    rows: list[list[str]] = []
    width = len(raw.header)
    for line_number, line in zip(raw.numbers, raw.lines, strict=True):
        cells = split_line(line)
        if cells is None or len(cells) > width:
            problems.append(_malformed(raw, line_number, *_fault(line, cells, width)))
            malformed.append((line_number, "T011"))
        else:
            numbers.append(line_number)
            rows.append(cells + [""] * (width - len(cells)))
    columns = map(list, zip(*rows, strict=True)) if rows else ([] for _ in raw.header)
    named = dict(zip(raw.header, columns, strict=True))
    return Cells(named, tuple(numbers), tuple(problems), tuple(malformed))


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
