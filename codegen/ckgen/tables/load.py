"""Tuning arguments to rows: every file classified, every row of a tuned table adapted or told why not."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import TypeVar

from ckgen.model.collector import collector_paused
from ckgen.model.diagnostic import Diagnostic, Location, Severity, in_order
from ckgen.model.errors import UsageError
from ckgen.model.fate import Fate, FateKind
from ckgen.model.row import Row
from ckgen.model.target import Target
from ckgen.tables.cells import split_columns
from ckgen.tables.dialect import Dialect, LoadOptions, TableReader, classify
from ckgen.tables.lately import Lately
from ckgen.tables.read import RawTable, parse_bytes, read_bytes
from ckgen.tables.reading import Place, missing_columns

UNKNOWN = "unknown"
"""The kind of a table whose header no dialect recognises."""

_Loaded = tuple["TableFile", Sequence[Diagnostic]]
_KNOWN: Lately[_Loaded] = Lately(32 << 20)
"""Tables by their place and bytes, and what they were read with: further plans of a process have most in common. Of so
many bytes; their rows take some three times as much memory."""
R = TypeVar("R")
_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}
"""What spreadsheets put between cells in place of commas."""


@dataclass(frozen=True, slots=True)
class TableFile:
    """One file: its rows, or the fate that all of them share (`counted`).

    `path` is relative to its argument (a file argument: its base name); `display` is the path as the user can find it.
    `row_count` = rows + fates + unasked, or the number of rows that share `counted`. `unasked`: see
    LoadedTables.of_archs. `keys`: see Dialect, those that it has.
    """

    path: str
    display: str
    source: Path
    layer: int
    kind: str
    module: str | None
    counted: FateKind | None
    row_count: int
    rows: tuple[Row, ...] = ()
    fates: tuple[Fate, ...] = ()
    keys: tuple[str, ...] = ()
    unasked: int = 0

    def of_archs(self, archs: Container[str]) -> TableFile:
        """See LoadedTables.of_archs."""
        rows = tuple(row for row in self.rows if row.target is None or row.target.gfx in archs)
        return replace(self, rows=rows, unasked=self.unasked + len(self.rows) - len(rows))


@dataclass(frozen=True, slots=True)
class LoadedTables:
    """All files in layer and path order, and every error found in them, in place order; `kinds` are those there are."""

    files: tuple[TableFile, ...]
    diagnostics: tuple[Diagnostic, ...]
    kinds: tuple[str, ...]
    _shown: dict[tuple[int, str], str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_shown", {(file.layer, file.path): file.display for file in self.files})

    def of_archs(self, archs: Container[str]) -> LoadedTables:
        """Without the rows of other archs, which are counted only; those whose target is not known stay."""
        return replace(self, files=tuple(file.of_archs(archs) for file in self.files))

    @property
    def rows(self) -> Iterator[Row]:
        """Every adapted row, in file and line order."""
        return chain.from_iterable(file.rows for file in self.files)

    def of(self, kind: type[R]) -> Iterator[R]:
        """Those of one class."""
        return (row for row in self.rows if isinstance(row, kind))

    @property
    def targets(self) -> frozenset[Target]:
        """Every target that a row names."""
        return frozenset(row.target for row in self.rows if row.target is not None)

    def place(self, row: Row) -> Location:
        """Where the user finds the row: its location with the file's `display` path."""
        return Location(self._shown[row.layer, row.location.file], row.location.line)

    @property
    def row_count(self) -> int:
        """Rows of all files, whatever became of them."""
        return sum(file.row_count for file in self.files)


@dataclass(frozen=True, slots=True)
class TableSource:
    """A file to load: where it is, what it is called, and whether the command line names the file itself."""

    source: Path
    path: str
    display: str
    layer: int
    named: bool


def find_tables(arguments: Sequence[Path]) -> tuple[TableSource, ...]:
    """Every `*.csv` of each argument, one layer per argument; UsageError for one that is not there or holds none."""
    return tuple(chain.from_iterable(_find(argument, layer) for layer, argument in enumerate(arguments)))


def load_tables(arguments: Sequence[Path], options: LoadOptions) -> LoadedTables:
    """Loads every table; what is wrong inside files is reported in `diagnostics`, never raised."""
    if options.module is not None and options.module not in options.modules:
        known = ", ".join(sorted(options.modules))
        raise UsageError(f"unknown module {options.module!r}; expected one of: {known}")
    with collector_paused():
        loaded = [_load(source, options) for source in find_tables(arguments)]
    diagnostics = chain.from_iterable(problems for _, problems in loaded)
    kinds = (*(dialect.kind for dialect in options.dialects), UNKNOWN)
    return LoadedTables(tuple(file for file, _ in loaded), in_order(diagnostics), kinds)


def _find(argument: Path, layer: int) -> list[TableSource]:
    if argument.is_dir():
        found = sorted((path.relative_to(argument).as_posix(), path) for path in argument.rglob("*.csv"))
        tables = [
            TableSource(path, name, f"{argument.as_posix()}/{name}", layer, named=False)
            for name, path in found
            if path.is_file()
        ]
        if not tables:
            raise UsageError(f"no *.csv beneath {argument}")
        return tables
    if not argument.exists():
        raise UsageError(f"no such file or directory: {argument}")
    if not argument.is_file():
        raise UsageError(f"neither a file nor a directory: {argument}")
    return [TableSource(argument, argument.name, argument.as_posix(), layer, named=True)]


def _load(table: TableSource, options: LoadOptions) -> _Loaded:
    data = read_bytes(table.source)
    key = table, sha256(data).digest(), options
    return _KNOWN.get(key, len(data), lambda: _loaded(table, data, options))


def _loaded(table: TableSource, data: bytes, options: LoadOptions) -> _Loaded:
    raw, problems = parse_bytes(data, table.display)
    if raw is None:
        return _whole(table, UNKNOWN, FateKind.INVALID, 0), problems
    dialect = classify(raw.header, options.dialects)
    if dialect is None:
        missed = _other_separator(raw, options.dialects, table.named)
        unknown = missed or (_unknown(raw, options.dialects) if table.named else None)
        whole = _whole(table, UNKNOWN, FateKind.UNKNOWN_TABLE, raw.row_count)
        return whole, [*problems, *([unknown] if unknown is not None else [])]
    if dialect.reader is None:
        return _whole(table, dialect.kind, FateKind.SHAPE_LIST, raw.row_count), problems
    if (not dialect.op or dialect.op in options.ops) and dialect.reader.is_asked(options):
        file, found = _read(table, raw, dialect, dialect.reader, options)
        return file, [*problems, *found]
    return _whole(table, dialect.kind, FateKind.OTHER_OP, raw.row_count), problems


def _read(
    table: TableSource, raw: RawTable, dialect: Dialect, reader: TableReader, options: LoadOptions
) -> tuple[TableFile, list[Diagnostic]]:
    invalid = _whole(table, dialect.kind, FateKind.INVALID, raw.row_count)
    problems = list(missing_columns(reader.columns, raw.header, Location(raw.display, raw.header_line)))
    if problems:
        return invalid, problems
    cells = split_columns(raw, dialect.unread)
    told = reader.read(cells, Place(table.path, table.display, table.layer), options)
    if isinstance(told, Diagnostic):
        return invalid, [*cells.problems, told]
    rows, conflicted = told.adapted.rows, dict.fromkeys(raw.conflicted, "T003")
    if conflicted:
        rows = tuple(row for row in rows if row.location.line not in conflicted)
    codes = conflicted | dict(told.adapted.invalid) | dict(cells.malformed)
    others = [line for line in told.adapted.others if line not in codes]
    file = TableFile(
        path=table.path,
        display=table.display,
        source=table.source,
        layer=table.layer,
        kind=dialect.kind,
        module=told.module,
        counted=None,
        row_count=raw.row_count,
        keys=tuple(sorted({*dialect.keys} & {*raw.header})),
        rows=rows,
        fates=(
            *(Fate(FateKind.INVALID, Location(table.path, line), code) for line, code in sorted(codes.items())),
            *(Fate(FateKind.OTHER_OP, Location(table.path, line)) for line in others),
        ),
    )
    return file, [*cells.problems, *told.adapted.problems]


def _whole(table: TableSource, kind: str, fate: FateKind, rows: int) -> TableFile:
    return TableFile(table.path, table.display, table.source, table.layer, kind, None, fate, rows)


def _other_separator(raw: RawTable, dialects: Sequence[Dialect], named: bool) -> Diagnostic | None:
    """T009 for a header of a known kind but for the character between its names: an error where the file is named."""
    header = ",".join(raw.header)
    for separator, name in _SEPARATORS.items():
        if classify((one.strip() for one in header.split(separator)), dialects) is not None:
            return Diagnostic(
                "T009",
                f"cells are separated by {name}, so that no column is known",
                Location(raw.display, raw.header_line),
                ("expected commas between cells",),
                "save the table with commas",
                severity=Severity.ERROR if named else Severity.WARNING,
            )
    return None


def _unknown(raw: RawTable, dialects: Iterable[Dialect]) -> Diagnostic:
    columns = ", ".join(raw.header)
    known = ", or ".join(dialect.told_by for dialect in dialects if dialect.told_by)
    return Diagnostic(
        "T009",
        f"unknown kind of table: its columns are {columns if len(columns) <= 200 else columns[:200] + '…'}",
        Location(raw.display, raw.header_line),
        (f"expected the columns {known}",),
        "leave the file out of --tuning, or name its directory: there, unknown tables are counted and passed over",
    )
