"""Tuning arguments to rows: every file classified, every row of a tuned table adapted or told why not."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Protocol

from ckgen.model.collector import collector_paused
from ckgen.model.diagnostic import Diagnostic, Location, sort_key
from ckgen.model.errors import UsageError
from ckgen.model.fate import Fate, FateKind
from ckgen.model.fmha_row import FmhaRow
from ckgen.model.module import Module
from ckgen.model.target import Target
from ckgen.model.tuned_row import TunedRow
from ckgen.tables import decode_dialect, fmha_dialect, moe_dialect
from ckgen.tables.adapt import adapt
from ckgen.tables.adapt_moe import adapt_moe
from ckgen.tables.cells import Cells, split_columns
from ckgen.tables.classify import TableKind, ambiguous_module, classify, resolve_module
from ckgen.tables.decode_dialect import MODULE as DECODE_MODULE
from ckgen.tables.dialects import BATCH_COLUMN, NAME_COLUMN
from ckgen.tables.read import RawTable, parse_bytes, read_bytes
from ckgen.tables.reading import Adapted, Place, missing_columns

_COUNTED = {
    TableKind.GEMM_SHAPES: FateKind.SHAPE_LIST,
    TableKind.MOE_SHAPES: FateKind.SHAPE_LIST,
    TableKind.MOE_TUNED: FateKind.OTHER_OP,
    TableKind.UNKNOWN: FateKind.UNKNOWN_TABLE,
}


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """What is asked for, and what the families and specs know.

    `fits` names the modules whose grammar a kernel name fits; `gfx_of_cu` the one known arch with that CU count.
    """

    ops: frozenset[str]
    module: str | None
    modules: Mapping[str, Module]
    fits: Callable[[str], frozenset[str]]
    gfx_of_cu: Callable[[int], str | None]

    def of_op(self, op: str) -> Mapping[str, Module]:
        """The modules whose tables are about this operation."""
        return {name: module for name, module in self.modules.items() if module.op == op}

    def is_asked(self, op: str) -> bool:
        """Whether the module that is asked for, if any, is one of this operation."""
        return self.module is None or self.modules[self.module].op == op


@dataclass(frozen=True, slots=True)
class TableFile:
    """One file: its rows, or the fate that all of them share (`counted`). Rows of attention are apart, in `fmha`.

    `path` is relative to its argument (a file argument: its base name); `display` is the path as the user can find it.
    `row_count` = rows + fmha + fates, or the number of rows that share `counted`.
    """

    path: str
    display: str
    source: Path
    layer: int
    kind: TableKind
    module: str | None
    counted: FateKind | None
    row_count: int
    rows: tuple[TunedRow, ...] = ()
    fates: tuple[Fate, ...] = ()
    fmha: tuple[FmhaRow, ...] = ()


class Placed(Protocol):
    """A row of a file."""

    @property
    def layer(self) -> int:
        """The number of the argument."""
        ...

    @property
    def location(self) -> Location:
        """The file, as its argument names it, and the line."""
        ...


@dataclass(frozen=True, slots=True)
class LoadedTables:
    """All files in layer and path order, and every error found in them, in place order."""

    files: tuple[TableFile, ...]
    diagnostics: tuple[Diagnostic, ...]
    _shown: dict[tuple[int, str], str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_shown", {(file.layer, file.path): file.display for file in self.files})

    @property
    def rows(self) -> Iterator[TunedRow]:
        """Every adapted row, in file and line order."""
        return chain.from_iterable(file.rows for file in self.files)

    @property
    def fmha(self) -> Iterator[FmhaRow]:
        """Every adapted row of attention, in file and line order."""
        return chain.from_iterable(file.fmha for file in self.files)

    @property
    def all_rows(self) -> Iterator[TunedRow | FmhaRow]:
        """Every adapted row of every operation."""
        yield from self.rows
        yield from self.fmha

    @property
    def targets(self) -> frozenset[Target]:
        """Every target that a row names."""
        return frozenset(row.target for row in self.all_rows if row.target is not None)

    def place(self, row: Placed) -> Location:
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


@dataclass(frozen=True, slots=True)
class _Dialect:
    """Tables that must have all of `columns`, and how their rows are read."""

    kind: TableKind
    columns: Iterable[str]
    adapt: Callable[[Cells, Module, Place, Callable[[int], str | None]], Adapted[TunedRow]]


_MOE = _Dialect(TableKind.MOE_TUNED, moe_dialect.COLUMNS, adapt_moe)
_DECODE = _Dialect(TableKind.DECODE_TUNED, decode_dialect.COLUMNS, decode_dialect.adapt_decode)
_EXPERTS = _Dialect(TableKind.DECODE_EXPERTS, decode_dialect.EXPERT_COLUMNS, decode_dialect.adapt_experts)


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
    return LoadedTables(tuple(file for file, _ in loaded), tuple(sorted(diagnostics, key=sort_key)))


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


def _load(table: TableSource, options: LoadOptions) -> tuple[TableFile, list[Diagnostic]]:
    raw, problems = parse_bytes(read_bytes(table.source), table.display)
    if raw is None:
        return _whole(table, TableKind.UNKNOWN, FateKind.INVALID, 0), problems
    kind = classify(raw.header)
    if kind is TableKind.UNKNOWN and table.named:
        problems.append(_unknown(raw))
    if kind is TableKind.GEMM_TUNED and "gemm" in options.ops and options.is_asked("gemm"):
        return _load_gemm(table, raw, options)
    if kind is TableKind.MOE_TUNED and "moe" in options.ops and options.is_asked("moe"):
        (module,) = options.of_op("moe").values()
        return _load_whole_header(table, raw, _MOE, module, options)
    if kind is TableKind.DECODE_TUNED and "gemm" in options.ops and options.module in (None, DECODE_MODULE):
        return _load_whole_header(table, raw, _DECODE, options.modules[DECODE_MODULE], options)
    if kind is TableKind.DECODE_EXPERTS and "moe" in options.ops and options.module in (None, DECODE_MODULE):
        return _load_whole_header(table, raw, _EXPERTS, options.modules[DECODE_MODULE], options)
    if kind is TableKind.FMHA_TUNED and "fmha" in options.ops and options.module is None:
        return _load_fmha(table, raw)
    return _whole(table, kind, _COUNTED.get(kind, FateKind.OTHER_OP), len(raw.lines)), problems


def _load_gemm(table: TableSource, raw: RawTable, options: LoadOptions) -> tuple[TableFile, list[Diagnostic]]:
    cells = split_columns(raw)
    batched = BATCH_COLUMN in raw.header
    kernels = {name.strip() for name in cells.columns.get(NAME_COLUMN, ())}
    modules = options.of_op("gemm")
    module = resolve_module(table.path, batched, options.module, kernels, modules, options.fits)
    problems = list(cells.problems)
    if module is None:
        problems.append(ambiguous_module(table.display, batched, options.module, modules))
        return _whole(table, TableKind.GEMM_TUNED, FateKind.INVALID, len(raw.lines)), problems
    adapted = adapt(cells, module, Place(table.path, table.display, table.layer), options.gfx_of_cu)
    return _read(table, raw, TableKind.GEMM_TUNED, module, cells, adapted, rows=adapted.rows)


def _load_whole_header(
    table: TableSource, raw: RawTable, dialect: _Dialect, module: Module, options: LoadOptions
) -> tuple[TableFile, list[Diagnostic]]:
    """A table whose header must have every column of its dialect."""
    problems = list(missing_columns(dialect.columns, raw.header, Location(raw.display, raw.header_line)))
    if problems:
        return _whole(table, dialect.kind, FateKind.INVALID, len(raw.lines)), problems
    cells = split_columns(raw)
    adapted = dialect.adapt(cells, module, Place(table.path, table.display, table.layer), options.gfx_of_cu)
    return _read(table, raw, dialect.kind, module, cells, adapted, rows=adapted.rows)


def _load_fmha(table: TableSource, raw: RawTable) -> tuple[TableFile, list[Diagnostic]]:
    problems = list(missing_columns(fmha_dialect.COLUMNS, raw.header, Location(raw.display, raw.header_line)))
    if problems:
        return _whole(table, TableKind.FMHA_TUNED, FateKind.INVALID, len(raw.lines)), problems
    cells = split_columns(raw)
    adapted = fmha_dialect.adapt_fmha(cells, Place(table.path, table.display, table.layer))
    return _read(table, raw, TableKind.FMHA_TUNED, None, cells, adapted, fmha=adapted.rows)


def _read(
    table: TableSource,
    raw: RawTable,
    kind: TableKind,
    module: Module | None,
    cells: Cells,
    adapted: Adapted[TunedRow] | Adapted[FmhaRow],
    *,
    rows: tuple[TunedRow, ...] = (),
    fmha: tuple[FmhaRow, ...] = (),
) -> tuple[TableFile, list[Diagnostic]]:
    codes = dict(adapted.invalid) | dict(cells.malformed)
    fates = tuple(Fate(FateKind.INVALID, Location(table.path, line), code) for line, code in sorted(codes.items()))
    file = TableFile(
        table.path,
        table.display,
        table.source,
        table.layer,
        kind,
        module.name if module is not None else None,
        None,
        len(raw.lines),
        rows,
        fates,
        fmha,
    )
    return file, [*cells.problems, *adapted.problems]


def _whole(table: TableSource, kind: TableKind, fate: FateKind, rows: int) -> TableFile:
    return TableFile(table.path, table.display, table.source, table.layer, kind, None, fate, rows)


def _unknown(raw: RawTable) -> Diagnostic:
    columns = ", ".join(raw.header)
    return Diagnostic(
        "T009",
        f"unknown kind of table: its columns are {columns if len(columns) <= 200 else columns[:200] + '…'}",
        Location(raw.display, raw.header_line),
        ("expected the columns M, N, K of a GEMM table, or token and topk of a MoE table",),
        "leave the file out of --tuning, or name its directory: there, unknown tables are counted and passed over",
    )
