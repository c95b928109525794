"""Rows of one layer that answer the same question with different kernels, and the removal of all but the fastest."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ckgen.model.diagnostic import Location
from ckgen.model.row import Row
from ckgen.model.target import Target
from ckgen.tables.files import without_lines
from ckgen.tables.load import LoadedTables
from ckgen.tables.read import read_bytes


@dataclass(frozen=True, slots=True)
class RowKey:
    """What a row answers for."""

    layer: int
    module: str
    target: Target
    shape: Hashable
    sizes: str
    about: Sequence[Hashable]

    def __str__(self) -> str:
        return f"{self.target} {self.module} {self.sizes}"


@dataclass(frozen=True, slots=True)
class Conflict:
    """Rows of one key with different kernels and the places to show, in file order; `keep` None: none is believed."""

    key: RowKey
    rows: tuple[Row, ...]
    places: tuple[Location, ...]
    keep: Row | None

    def lines(self) -> tuple[str, ...]:
        """What a user reads: the key, then every row and what becomes of it."""
        fate = {True: "keep  ", False: "remove"} if self.keep else {False: "?     "}
        return (
            str(self.key),
            *(
                f"  {fate[row is self.keep]} {place}  {row.us if row.us is not None else '–'} us  "
                f"{row.library} {row.kernel} k_batch {row.k_batch or 'auto'}"
                for row, place in zip(self.rows, self.places, strict=True)
            ),
        )


def winner(row: Row) -> tuple[object, ...]:
    """What a row answers: library, kernel, k_batch, and what else its dialect says of it."""
    return row.answer


def has_valid_time(row: Row) -> bool:
    """Whether `us` is a finite time greater than 0."""
    return row.us is not None and math.isfinite(row.us) and row.us > 0


def problems_of_cells(row: Row) -> Sequence[Hashable]:
    """What a row is about besides target and shape, by its cells alone."""
    return row.about


def find_conflicts(
    tables: LoadedTables,
    problems: Callable[[Row], Sequence[Hashable]] = problems_of_cells,
    believed: Callable[[Row], bool] = has_valid_time,
) -> tuple[Conflict, ...]:
    """Every key of a layer whose rows name different winners; rows without a target answer for nothing.

    Rows are about the same where one of their `problems` is equal; the fastest that is `believed` is kept.
    """
    groups: dict[Hashable, list[Row]] = defaultdict(list)
    for row in tables.rows:
        if row.target is not None:
            for problem in problems(row):
                groups[row.layer, row.target, row.shape, problem].append(row)
    distinct = {tuple(map(id, group)): group for group in groups.values()}
    return tuple(
        Conflict(_key(group[0]), tuple(group), tuple(map(tables.place, group)), _fastest(filter(believed, group)))
        for group in distinct.values()
        if len(group) > 1 and len({winner(row) for row in group}) > 1
    )


def dedupe(tables: LoadedTables, conflicts: Iterable[Conflict]) -> dict[Path, bytes]:
    """The new bytes of every file that loses rows; a conflict without a row to keep stays."""
    lost: dict[Path, set[int]] = defaultdict(set)
    sources = {(file.layer, file.path): file.source for file in tables.files}
    for conflict in conflicts:
        for row in conflict.rows:
            if conflict.keep is not None and row is not conflict.keep:
                lost[sources[row.layer, row.location.file]].add(row.location.line)
    return {source: without_lines(read_bytes(source), lines) for source, lines in lost.items()}


def _key(row: Row) -> RowKey:
    assert row.target is not None
    return RowKey(row.layer, row.module, row.target, row.shape, row.sizes, row.about)


def _fastest(rows: Iterable[Row]) -> Row | None:
    return min(filter(has_valid_time, rows), key=lambda row: (row.us, row.location), default=None)
