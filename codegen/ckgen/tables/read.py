"""A CSV file's bytes as a header and numbered lines, or what makes it unreadable."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.errors import UsageError

BOM = b"\xef\xbb\xbf"
_MARKERS = (b"<<<<<<< ", b"||||||| ", b"=======", b">>>>>>> ")
_CONFLICT = re.compile(rb"<{7} |\|{7} |={7}|>{7} ")
_LONGEST_QUOTE = 100
NO_TABLE = frozenset({"T001", "T002", "T003"})
"""The codes of files that hold no table, or two in one."""


@dataclass(frozen=True, slots=True)
class RawTable:
    """Trimmed column names, and the lines after them. Lines are made when they are asked for: tables are long.

    `row_count` are those that are rows. Of a merge conflict, `marked` are the numbers of the lines that mark it,
    `conflicted` those of rows within it, on either side.
    """

    display: str
    header: tuple[str, ...]
    header_line: int
    row_count: int
    text: bytes
    marked: frozenset[int] = frozenset()
    conflicted: frozenset[int] = frozenset()

    def rows(self) -> Iterator[tuple[int, str]]:
        """Every line after the header that is not blank and marks no conflict, with its number in the file."""
        return (one for one in _filled(self.text, self.marked) if one[0] > self.header_line)


def read_bytes(source: Path) -> bytes:
    """The file's bytes; UsageError if the system refuses them."""
    try:
        return source.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {source}: {error.strerror or error}") from error


def parse_bytes(data: bytes, display: str) -> tuple[RawTable | None, list[Diagnostic]]:
    """The table in `data`, or None and the reasons; lines that mark a merge conflict (T003) are no rows."""
    problems = list(_not_text(data, display))
    if problems:
        return None, problems
    conflicts = _conflicts(data)
    problems = [_marked(number, marker, display) for number, marker in conflicts.items()]
    text, marked = _with_plain_ends(data.removeprefix(BOM)), frozenset(conflicts)
    filled = _filled(text, marked)
    header_line, header = next(filled, (0, ""))
    if not header_line:
        return None, problems or [_empty(data, display)]
    rows, within = 0, set()
    spans = _spans(conflicts)
    for number, _ in filled:
        rows += 1
        if spans and any(number in span for span in spans):
            within.add(number)
    names = tuple(name.strip() for name in split_line(header) or [header])
    return RawTable(display, names, header_line, rows, text, marked, frozenset(within)), problems


def _with_plain_ends(text: bytes) -> bytes:
    return text.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in text else text


def _filled(text: bytes, marked: frozenset[int]) -> Iterator[tuple[int, str]]:
    """Number and text of every line that is not blank and not among `marked`."""
    for number, data in enumerate(BytesIO(text), 1):
        line = data.decode().removesuffix("\n")
        if line and not line.isspace() and number not in marked:
            yield number, line


def split_line(line: str) -> list[str] | None:
    """The cells of one line; None where a quote is left open or stands amiss."""
    if '"' not in line:
        return line.split(",")
    try:
        return next(csv.reader([line], strict=True), [])
    except csv.Error:
        return None


def quoted(cell: str) -> str:
    """A cell's text as messages show it: trimmed, in quotes, cut where it is very long."""
    text = cell.strip()
    return repr(text if len(text) <= _LONGEST_QUOTE else text[:_LONGEST_QUOTE] + "…")


def _not_text(data: bytes, display: str) -> Iterator[Diagnostic]:
    offsets = [offset for offset in (data.find(b"\0"), _undecodable(data)) if offset >= 0]
    if not offsets:
        return
    offset = min(offsets)
    line = len(data[:offset].splitlines()) + data[:offset].endswith((b"\n", b"\r")) or 1
    yield Diagnostic(
        "T001",
        f"not a text file: byte 0x{data[offset]:02x} at offset {offset}",
        Location(display, line),
        ("expected comma-separated UTF-8 text",),
        "save the table as CSV in UTF-8, or leave the file out of --tuning",
    )


def _undecodable(data: bytes) -> int:
    if data.isascii():
        return -1
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.start
    return -1


def _conflicts(data: bytes) -> dict[int, str]:
    """The lines that mark merge conflicts, by number."""
    if not any(marker in data for marker in _MARKERS):  # most files: far faster than the expression
        return {}
    lines = _with_plain_ends(data).split(b"\n")
    return {number: line.decode() for number, line in enumerate(lines, 1) if _CONFLICT.match(line)}


def _spans(conflicts: Mapping[int, str]) -> list[range]:
    """The lines of each conflict, from its first marker to its last."""
    found: list[range] = []
    begin = None
    for number, marker in conflicts.items():
        if marker.startswith("<"):
            begin = number
        elif marker.startswith(">") and begin is not None:
            found.append(range(begin, number))
            begin = None
    return found


def _marked(number: int, marker: str, display: str) -> Diagnostic:
    return Diagnostic(
        "T003",
        f"merge conflict marker {quoted(marker)}",
        Location(display, number),
        ("expected a row of the table",),
        "resolve the conflict: keep the rows of one side and remove the marker lines",
    )


def _empty(data: bytes, display: str) -> Diagnostic:
    return Diagnostic(
        "T002",
        f"no header: the file has {len(data)} bytes" + (" and nothing but blank lines" if data else ""),
        Location(display),
        ("expected a line of column names; a header alone is a legal, empty table",),
        "restore the file, or remove it",
    )
