"""The columns of a tuned GEMM table as lists of cells; pandas splits the lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO

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
    kept: list[tuple[int, str]] = []
    for line_number, line in zip(raw.numbers, raw.lines, strict=True):
        fault = _fault(line, len(raw.header))
        if fault is None:
            kept.append((line_number, line))
        else:
            problems.append(_malformed(raw, line_number, *fault))
            malformed.append((line_number, "T011"))
    numbers = tuple(line_number for line_number, _ in kept)
    return Cells(_split(raw.header, [line for _, line in kept]), numbers, tuple(problems), tuple(malformed))


def _split(header: tuple[str, ...], lines: list[str]) -> dict[str, list[str]]:
    if not lines:
        return {name: [] for name in header}
    from pandas import read_csv

    frame = read_csv(
        StringIO("\n".join(lines)),
        header=None,
        names=range(len(header)),
        dtype=object,
        keep_default_na=False,
        na_filter=False,
        skip_blank_lines=False,
    )
    return {name: frame[position].tolist() for position, name in enumerate(header)}


def _fault(line: str, width: int) -> tuple[str, str] | None:
    if '"' not in line:
        count = line.count(",") + 1
    else:
        cells = split_line(line)
        if cells is None:
            return f"quote left open or amiss: {quoted(line)}", "expected every quote to be closed on its own line"
        count = len(cells)
    if count > width:
        return f"{count} cells: {quoted(line)}", f"expected at most {width}, as many as the header has"
    return None


def _malformed(raw: RawTable, line_number: int, message: str, expected: str) -> Diagnostic:
    hint = "correct the line, or remove it"
    return Diagnostic("T011", message, Location(raw.display, line_number), (expected,), hint)


def _repeated_columns(raw: RawTable) -> Iterator[Diagnostic]:
    for name, count in Counter(raw.header).items():
        if count > 1 and name:
            message, expected = f"column {name!r} appears {count} times", "expected each column once"
            yield _malformed(raw, raw.header_line, message, expected)
