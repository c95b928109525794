"""Tables of the MX-FP8 kernels for few rows as rows: K, N, M, n_sub, k_splits, use_hip; gfx and cu_num are optional."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ckgen.model.decode_row import DecodeRow
from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.tuned_row import Shape
from ckgen.tables.cells import Cells
from ckgen.tables.dialects import Problem, Reader, arch, one_of, positive
from ckgen.tables.reading import Place, Reading, targets_of

USE_COLUMN = "use_hip"
SIZES = ("K", "N", "M")
_LARGEST = 2**31 - 1


def count(text: str) -> int | Problem:
    """An integer of at least 0: rows that decline need no config (T005)."""
    if text == "0":
        return 0
    found = positive(text)
    wrong = Problem("T005", "is not a count", f"expected an integer from 0 to {_LARGEST}")
    return wrong if isinstance(found, Problem) else found


COLUMNS: Mapping[str, Reader] = {
    **dict.fromkeys(SIZES, positive), "n_sub": count, "k_splits": count, USE_COLUMN: one_of({"0": False, "1": True}),
}  # fmt: skip
"""Those that a table must have, in any order."""
TARGET: Mapping[str, Reader] = {"gfx": arch, "cu_num": positive}


@dataclass(frozen=True, slots=True)
class DecodeTable:
    """The rows that can be used, and the diagnostics and line numbers of those that cannot."""

    rows: tuple[DecodeRow, ...]
    problems: tuple[Diagnostic, ...]
    invalid: tuple[tuple[int, str], ...]


def missing_columns(header: Sequence[str], location: Location) -> Iterator[Diagnostic]:
    """T004 for each column that such a table must have and this one has not."""
    for name in COLUMNS:
        if name not in header:
            expected = f"expected at least the columns {', '.join(COLUMNS)}"
            yield Diagnostic("T004", f"column {name} is missing", location, (expected,), "add the column")


def adapt_decode(cells: Cells, place: Place, gfx_of_cu: Callable[[int], str | None]) -> DecodeTable:
    """Every row of a table that has all COLUMNS; a row with a bad cell becomes diagnostics and an `invalid` entry."""
    reading = Reading(cells, place.display)
    read = {name: reading.column(name, how, required=True) for name, how in {**COLUMNS, **TARGET}.items()}
    targets = targets_of(read["gfx"], read["cu_num"], gfx_of_cu, len(cells.numbers))
    values = [read[name] or () for name in COLUMNS]
    rows = tuple(
        DecodeRow(Location(place.path, line), place.layer, target, Shape(0, m, n, k), n_sub, k_splits, use)
        for line, target, (k, n, m, n_sub, k_splits, use) in zip(
            cells.numbers, targets, zip(*values, strict=True), strict=True
        )
        if line not in reading.invalid
    )
    return DecodeTable(rows, tuple(reading.problems), tuple(sorted(reading.invalid.items())))
