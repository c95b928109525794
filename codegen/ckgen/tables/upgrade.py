"""Old tuned tables get the columns that they lack: `gfx`, which their `cu_num` implies, and an assumed type."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from ckgen.model.diagnostic import Diagnostic, Location, Severity, in_order
from ckgen.tables.cell_readers import CellError, positive
from ckgen.tables.cells import split_columns
from ckgen.tables.dialect import Dialect, LoadOptions, classify
from ckgen.tables.load import TableSource, find_tables
from ckgen.tables.read import BOM, RawTable, parse_bytes, quoted, read_bytes, split_line
from ckgen.tables.reading import Place


@dataclass(frozen=True, slots=True)
class Upgrade:
    """A table that can be upgraded: its new bytes, and how many rows got which arch and which type of operands."""

    source: Path
    display: str
    data: bytes
    cells: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Upgrades:
    """The tables that can be upgraded, and why others cannot: errors, or warnings for tables that stay as they are."""

    tables: tuple[Upgrade, ...]
    diagnostics: tuple[Diagnostic, ...]


def plan_upgrades(arguments: Sequence[Path], options: LoadOptions) -> Upgrades:
    """Every table that lacks a column which is known, put first: the type of operands that is assumed where nothing
    tells it, then the `gfx` that `cu_num` implies.

    A table is upgraded whole or not at all.
    """
    upgrades: list[Upgrade] = []
    diagnostics: list[Diagnostic] = []
    for table in find_tables(arguments):
        data = read_bytes(table.source)
        raw, problems = parse_bytes(data, table.display)
        dialect = classify(raw.header, options.dialects) if raw is not None else None
        if raw is not None and dialect is not None and not problems:
            columns, problems = _missing(table, raw, dialect, options)
            if columns and not problems:
                counts = Counter(chain.from_iterable(cells.values() for cells in columns.values()))
                new = _with_columns(data, raw, columns)
                upgrades.append(Upgrade(table.source, table.display, new, tuple(sorted(counts.items()))))
        diagnostics += problems
    return Upgrades(tuple(upgrades), in_order(diagnostics))


def _missing(
    table: TableSource, raw: RawTable, dialect: Dialect, options: LoadOptions
) -> tuple[dict[str, dict[int, str]], list[Diagnostic]]:
    """The cells of each new column by line, and why one cannot be filled."""
    columns: dict[str, dict[int, str]] = {}
    problems: list[Diagnostic] = []
    if dialect.implied_gfx and "gfx" not in raw.header:
        columns["gfx"], problems = _archs(raw, options.gfx_of_cu)
    if options.assume_dtype is not None and dialect.open_dtype is not None:
        name = dialect.open_dtype(split_columns(raw), Place(table.path, table.display, table.layer), options)
        if name is not None:
            columns[name] = dict.fromkeys((line for line, _ in raw.rows()), str(options.assume_dtype.torch))
    return columns, problems


def _archs(raw: RawTable, gfx_of_cu: Callable[[int], str | None]) -> tuple[dict[int, str], list[Diagnostic]]:
    if "cu_num" not in raw.header:
        message, expected = "the table has neither gfx nor cu_num", "expected at least the column cu_num"
        return {}, [_unknown(raw, raw.header_line, message, raw.row_count, expected, "add both columns by hand")]
    position = raw.header.index("cu_num")
    archs: dict[int, str] = {}
    unknown: dict[int, list[int]] = {}
    problems: list[Diagnostic] = []
    for line_number, line in raw.rows():
        cells = split_line(line) or []
        text = cells[position].strip() if position < len(cells) else ""
        cu_num = positive(text)
        if isinstance(cu_num, CellError):
            problems.append(_bad_count(raw, line_number, text, cu_num))
        elif gfx := gfx_of_cu(cu_num):
            archs[line_number] = gfx
        else:
            unknown.setdefault(cu_num, []).append(line_number)
    for cu_num, lines in unknown.items():
        message, expected = (
            f"no single known arch has cu_num {cu_num}",
            "expected exactly one known arch with this count",
        )
        hint = f"say which: --assume-gfx {cu_num}=GFX"
        problems.append(_unknown(raw, lines[0], message, len(lines), expected, hint))
    return archs, problems


def _with_columns(data: bytes, raw: RawTable, columns: Mapping[str, Mapping[int, str]]) -> bytes:
    body = data.removeprefix(BOM)
    new = [{raw.header_line: name, **cells} for name, cells in columns.items()]
    added = {number: "".join(f"{cells[number]}," for cells in new).encode() for number in new[0]}
    lines = enumerate(body.splitlines(keepends=True), 1)
    changed = (added.get(number, b"") + line for number, line in lines)
    return data[: len(data) - len(body)] + b"".join(changed)


def _bad_count(raw: RawTable, line_number: int, text: str, problem: CellError) -> Diagnostic:
    code, message = (
        (problem.code, f"cu_num {quoted(text)} {problem.complaint}") if text else ("T004", "cu_num is missing")
    )
    hint = "correct the cell, or remove the row"
    return Diagnostic(code, message, Location(raw.display, line_number), (problem.expected,), hint)


def _unknown(raw: RawTable, line_number: int, message: str, rows: int, expected: str, hint: str) -> Diagnostic:
    return Diagnostic(
        "T013",
        f"{message}: {rows} row{'' if rows == 1 else 's'} without a target; the table stays as it is",
        Location(raw.display, line_number),
        (expected,),
        hint,
        severity=Severity.WARNING,
    )
