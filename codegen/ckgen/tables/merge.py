"""Several tuned tables of one module as one table: the last layer wins, rows sorted by key."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO

from ckgen.model.diagnostic import Diagnostic, Location, Severity
from ckgen.model.errors import InputError
from ckgen.model.tuned_row import TunedRow
from ckgen.tables.cell_readers import LIBRARY_COLUMN, TARGET_COLUMNS
from ckgen.tables.cells import split_columns
from ckgen.tables.load import LoadedTables, TableFile
from ckgen.tables.read import parse_bytes, read_bytes
from ckgen.tables.repair import Conflict, find_conflicts


@dataclass(frozen=True, slots=True)
class _Source:
    """A table's column names, and each row's cells by line number."""

    header: tuple[str, ...]
    cells: Mapping[int, Mapping[str, str]]


def merge(tables: LoadedTables) -> bytes:
    """The merged CSV; InputError if the tables are wrong, are of several kinds, or contradict each other in a layer."""
    files = [file for file in tables.files if file.module]
    sources = {(file.layer, file.path): _source(file) for file in files}
    conflicts = find_conflicts(tables)
    problems = [one for one in tables.diagnostics if one.severity is Severity.ERROR]
    problems += [_of_no_module(file) for file in tables.files if file.rows and not file.module]
    problems += [*_differences(files), *map(_contradiction, conflicts)]
    problems += [_without_target(tables.place(row)) for row in tables.of(TunedRow) if row.target is None]
    if problems:
        raise InputError(problems)

    header = list(TARGET_COLUMNS)
    for source in sources.values():
        header += [name for name in source.header if name and name not in header]
    chosen = {(row.target, row.shape, row.discriminators): row for row in _fastest_last(tables.of(TunedRow))}
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    for row in sorted(chosen.values(), key=_order):
        cells = sources[row.layer, row.location.file].cells[row.location.line]
        writer.writerow([_cell(name, row, cells) for name in header])
    return text.getvalue().encode()


def _fastest_last(rows: Iterator[TunedRow]) -> list[TunedRow]:
    slowest = float("inf")
    return sorted(rows, key=lambda row: (row.layer, -(row.us if row.us is not None and row.us > 0 else slowest)))


def _order(row: TunedRow) -> tuple[str, ...]:
    shape = row.shape
    sizes = tuple(f"{size:020}" for size in (row.cu_num, shape.batch, shape.n, shape.k, shape.m))
    gfx, sku = (row.target.gfx, row.target.sku) if row.target else ("", "")
    return (gfx, *sizes, repr(row.discriminators), sku)


def _cell(name: str, row: TunedRow, cells: Mapping[str, str]) -> str:
    if name == "gfx" and row.target is not None:
        return row.target.gfx
    if name == "cu_num" and row.target is not None and not cells.get(name):
        return str(row.target.cu_num)
    if name == LIBRARY_COLUMN:
        return row.library
    return cells.get(name, "")


def _source(file: TableFile) -> _Source:
    raw, _ = parse_bytes(read_bytes(file.source), file.display)
    if raw is None:
        return _Source((), {})
    split = split_columns(raw)
    columns = {name: [cell.strip() for cell in cells] for name, cells in split.columns.items()}
    rows = zip(*columns.values(), strict=True)
    return _Source(
        raw.header, {n: dict(zip(columns, row, strict=True)) for n, row in zip(split.numbers, rows, strict=True)}
    )


def _differences(files: Sequence[TableFile]) -> Iterator[Diagnostic]:
    def traits(file: TableFile) -> tuple[str | None, tuple[str, ...]]:
        return file.module, file.keys

    for file in files[1:]:
        if traits(file) != traits(files[0]):
            theirs, ours = (
                f"{module} ({', '.join(keys)})" if keys else f"{module}"
                for module, keys in map(traits, (file, files[0]))
            )
            yield Diagnostic(
                "T014",
                f"cannot be one table with {files[0].display}: its module and key columns are {theirs}",
                Location(file.display),
                (f"expected {ours}",),
                "merge only tables of one module with the same key columns",
            )


def _of_no_module(file: TableFile) -> Diagnostic:
    return Diagnostic(
        "T014",
        "its rows are of no one module",
        Location(file.display),
        ("expected a table of a module",),
        "leave the file out: --tuning takes several tables, and `ckgen tune --out` adds to one of ckgen's own",
    )


def _contradiction(conflict: Conflict) -> Diagnostic:
    first, *others = conflict.places
    return Diagnostic(
        "T007",
        "same key, different kernels",
        first,
        conflict.lines(),
        "keep one: ckgen tables dedupe PATH --write",
        tuple(others),
    )


def _without_target(place: Location) -> Diagnostic:
    return Diagnostic(
        "T013",
        "no target: the table has no gfx column, and no cu_num that tells it",
        place,
        ("expected exactly one known arch with this CU count",),
        "say which: --assume-gfx CU=GFX, or add the column: ckgen tables upgrade",
    )
