"""Whole columns of a tuned table, read cell by cell: values, targets, and one diagnostic for each bad cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Generic, TypeVar

from ckgen.model.diagnostic import Diagnostic, Location, Severity
from ckgen.model.suggestion import did_you_mean
from ckgen.model.target import Target
from ckgen.tables.cell_readers import CellError, Reader
from ckgen.tables.cells import Cells
from ckgen.tables.read import quoted

R_co = TypeVar("R_co", covariant=True)

_MEND = "correct the cell, or remove the row"


@dataclass(frozen=True, slots=True)
class Adapted(Generic[R_co]):
    """The rows that can be used, and the diagnostics and line numbers of those that cannot; `others` are the numbers of
    lines that are about an operation that is not asked for."""

    rows: tuple[R_co, ...]
    problems: tuple[Diagnostic, ...]
    invalid: tuple[tuple[int, str], ...]
    others: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """Where rows come from: the path of their Locations, the path that diagnostics show, and the layer."""

    path: str
    display: str
    layer: int


def missing_columns(wanted: Iterable[str], header: Sequence[str], location: Location) -> Iterator[Diagnostic]:
    """T004 for each column that a table must have and this one has not."""
    names = tuple(wanted)
    for name in names:
        if name not in header:
            expected = f"expected at least the columns {', '.join(names)}"
            yield Diagnostic("T004", f"column {name} is missing", location, (expected,), "add the column")


class Reading:
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
        missing = CellError("T004", "is missing", "expected a value in every row of this column")
        values: dict[str, Any] = {}
        for text in set(texts):
            trimmed = text.strip()
            values[text] = read(trimmed) if trimmed else missing if required else empty
        if any(isinstance(value, CellError) for value in values.values()):
            for line, text in zip(self.cells.numbers, texts, strict=True):
                if isinstance(problem := values[text], CellError):
                    self.report(line, name, text, problem)
        return list(map(values.__getitem__, texts))

    def warn_of_near(self, name: str, values: Sequence[Any], known: Collection[str]) -> None:
        """T017 for each word of a column, as it was read, that is near a known one and none; rows stay as they are."""
        words = Counter(value for value in values if isinstance(value, str) and value not in known)
        for word, count in words.items():
            hint = did_you_mean(word, known)
            if hint is not None:
                where = Location(self.display, self.cells.numbers[values.index(word)])
                message = f"{name} {quoted(word)} is taken as it is: {count} row{'s' * (count > 1)}"
                self.problems.append(Diagnostic("T017", message, where, (), hint, severity=Severity.WARNING))

    def report(self, line: int, name: str, text: str, problem: CellError) -> None:
        """Records a bad cell; the row's fate keeps its first code."""
        cell = f" {quoted(text)}" if text.strip() else ""
        where = Location(self.display, line)
        message = f"{name}{cell} {problem.complaint}"
        self.refuse(line, Diagnostic(problem.code, message, where, (problem.expected,), _MEND))

    def refuse(self, line: int, problem: Diagnostic) -> None:
        """Records what makes a line no row; its fate keeps the first code."""
        self.problems.append(problem)
        self.invalid.setdefault(line, problem.code)


def targets_of(
    archs: Sequence[Any] | None,
    counts: Sequence[Any] | None,
    gfx_of_cu: Callable[[int], str | None],
    rows: int,
    skus: Sequence[Any] | None = None,
) -> Sequence[Target | None]:
    """None where the dialect names no target, or only a cu_num that no single known arch has."""
    if counts is None:
        return [None] * rows
    if archs is None:
        filled = {cu: gfx_of_cu(cu) for cu in set(counts) if isinstance(cu, int)}
        archs = [filled.get(cu) for cu in counts]
    told = list(zip(archs, counts, skus or repeat("", rows), strict=True))
    targets = {one: Target(*one) if tuple(map(type, one)) == (str, int, str) else None for one in set(told)}
    return [targets[one] for one in told]
