"""The cells of a tuned GEMM table as TunedRows, or one diagnostic for each cell that says nothing sensible."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, repeat
from typing import Any

from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.module import Module
from ckgen.model.target import Target
from ckgen.model.tuned_row import Discriminators, Shape, TunedRow
from ckgen.tables.cells import Cells
from ckgen.tables.dialects import (
    BATCH_COLUMN,
    DISCRIMINATORS,
    ERROR_COLUMNS,
    KEY_COLUMNS,
    LIBRARY_COLUMN,
    NAME_COLUMN,
    SPLIT_K_COLUMN,
    TIME_COLUMN,
    UNKNOWN_LIBRARY,
    Problem,
    Reader,
    k_batch,
    library,
    number,
)
from ckgen.tables.read import quoted

_MEND = "correct the cell, or remove the row"


@dataclass(frozen=True, slots=True)
class Adapted:
    """The rows that can be used, and the diagnostics and line numbers of those that cannot."""

    rows: tuple[TunedRow, ...]
    problems: tuple[Diagnostic, ...]
    invalid: tuple[tuple[int, str], ...]


@dataclass(frozen=True, slots=True)
class Place:
    """Where rows come from: the path of their Locations, the path that diagnostics show, and the layer."""

    path: str
    display: str
    layer: int


def adapt(cells: Cells, module: Module, place: Place, gfx_of_cu: Callable[[int], str | None]) -> Adapted:
    """Every row of a table of this module; a row with a bad cell becomes diagnostics and an `invalid` entry."""
    reading = _Reading(cells, place.display)
    keys = {name: reading.column(name, reader, required=True) for name, reader in KEY_COLUMNS.items()}
    kernels = reading.column(NAME_COLUMN, str, required=True)
    libraries = _libraries(reading, module, kernels)
    batches = _k_batches(reading, module, libraries)
    times = reading.column(TIME_COLUMN, number, empty=float("nan"))
    errors = next((reading.column(name, number) for name in ERROR_COLUMNS if name in cells.columns), None)

    count = len(cells.numbers)
    every = map(
        TunedRow,
        map(Location, repeat(place.path), cells.numbers),
        repeat(place.layer),
        repeat(module.name),
        _targets(keys["gfx"], keys["cu_num"], gfx_of_cu, count),
        keys["cu_num"] or repeat(0),
        map(Shape, keys[BATCH_COLUMN] or repeat(0), keys["M"] or (), keys["N"] or (), keys["K"] or ()),
        _discriminators(keys, count),
        libraries,
        kernels or repeat(""),
        batches,
        times or repeat(None),
        errors or repeat(None),
    )
    rows = tuple(compress(every, [line not in reading.invalid for line in cells.numbers]))
    return Adapted(rows, tuple(reading.problems), tuple(sorted(reading.invalid.items())))


class _Reading:
    """Reads whole columns, each different cell once, and collects what is wrong."""

    def __init__(self, cells: Cells, display: str) -> None:
        self.cells = cells
        self.display = display
        self.problems: list[Diagnostic] = []
        self.invalid: dict[int, str] = {}

    def column(self, name: str, read: Reader, *, required: bool = False, empty: object = None) -> list[Any] | None:
        """The column's values, `empty` for empty cells; None where the header lacks the column."""
        texts = self.cells.columns.get(name)
        if texts is None:
            return None
        missing = Problem("T004", "is missing", "expected a value in every row of this column")
        values: dict[str, Any] = {}
        for text in set(texts):
            trimmed = text.strip()
            values[text] = read(trimmed) if trimmed else missing if required else empty
        if any(isinstance(value, Problem) for value in values.values()):
            for line, text in zip(self.cells.numbers, texts, strict=True):
                if isinstance(problem := values[text], Problem):
                    self.report(line, name, text, problem)
        return list(map(values.__getitem__, texts))

    def report(self, line: int, name: str, text: str, problem: Problem) -> None:
        """Records a bad cell; the row's fate keeps its first code."""
        cell = f" {quoted(text)}" if text.strip() else ""
        where = Location(self.display, line)
        message = f"{name}{cell} {problem.complaint}"
        self.problems.append(Diagnostic(problem.code, message, where, (problem.expected,), _MEND))
        self.invalid.setdefault(line, problem.code)


def _libraries(reading: _Reading, module: Module, kernels: Sequence[Any] | None) -> list[Any]:
    named = reading.column(LIBRARY_COLUMN, library(module.generated), required=True)
    if named is not None:
        return named
    if kernels is None:
        return [UNKNOWN_LIBRARY] * len(reading.cells.numbers)
    return ["asm" if isinstance(name, str) and name.startswith("_Z") else "ck" for name in kernels]


def _k_batches(reading: _Reading, module: Module, libraries: Sequence[Any]) -> list[Any]:
    texts = reading.cells.columns.get(SPLIT_K_COLUMN) or [""] * len(libraries)
    pairs = list(zip(libraries, texts, strict=True))
    values = {
        (name, text): name if isinstance(name, Problem) else k_batch(module.split_k_of(name), text.strip())
        for name, text in set(pairs)
    }
    for line, pair in zip(reading.cells.numbers, pairs, strict=True):
        if isinstance(problem := values[pair], Problem) and not isinstance(pair[0], Problem):
            reading.report(line, f"{SPLIT_K_COLUMN} of library {pair[0]}:", pair[1], problem)
    return [values[pair] for pair in pairs]


def _targets(
    archs: Sequence[Any] | None, counts: Sequence[Any] | None, gfx_of_cu: Callable[[int], str | None], rows: int
) -> Sequence[Target | None]:
    """None where the dialect names no target, or only a cu_num that no single known arch has."""
    if counts is None:
        return [None] * rows
    if archs is None:
        filled = {cu: gfx_of_cu(cu) for cu in set(counts) if isinstance(cu, int)}
        archs = [filled.get(cu) for cu in counts]
    pairs = list(zip(archs, counts, strict=True))
    targets = {
        (gfx, cu): Target(gfx, cu) if isinstance(gfx, str) and isinstance(cu, int) else None for gfx, cu in set(pairs)
    }
    return [targets[pair] for pair in pairs]


def _discriminators(keys: Mapping[str, list[Any] | None], count: int) -> Sequence[Discriminators | None]:
    present = {field: values for name, (field, _) in DISCRIMINATORS.items() if (values := keys[name]) is not None}
    if not present:
        return [Discriminators()] * count
    tuples = list(zip(*present.values(), strict=True))
    shared = {
        values: None
        if any(isinstance(value, Problem) for value in values)
        else Discriminators(**dict(zip(present, values, strict=True)))
        for values in set(tuples)
    }
    return [shared[values] for values in tuples]
