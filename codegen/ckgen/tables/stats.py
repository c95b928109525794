"""What a set of tables holds: files, rows, targets, libraries, kernels, times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ckgen.model.tuned_row import TunedRow
from ckgen.tables.load import LoadedTables
from ckgen.tables.repair import has_valid_time


@dataclass(frozen=True, slots=True)
class KindStats:
    """Files of one kind, and their rows."""

    kind: str
    files: int
    rows: int


@dataclass(frozen=True, slots=True)
class GroupStats:
    """The rows of one module, target and library; `target` is empty where the table does not tell it.

    `timed` rows have a finite time greater than 0; `us` is the least and the greatest of these.
    """

    module: str
    target: str
    library: str
    rows: int
    kernels: int
    problems: int
    timed: int
    us: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class TableStats:
    """Totals by kind of file, and by module, target and library; `invalid` rows are in no group."""

    kinds: tuple[KindStats, ...]
    groups: tuple[GroupStats, ...]
    invalid: int


def table_stats(tables: LoadedTables) -> TableStats:
    """The statistics, groups sorted by module, target and library."""
    import pandas as pd

    of_files = pd.DataFrame([(file.kind, file.row_count) for file in tables.files], columns=["kind", "rows"])
    kinds = of_files.groupby("kind")["rows"].agg(["size", "sum"]).reindex(tables.kinds).dropna().astype(int)
    return TableStats(
        tuple(KindStats(str(kind), files, rows) for kind, files, rows in kinds.itertuples()),
        tuple(_groups(tables.of(TunedRow))),
        sum(len(file.fates) for file in tables.files),
    )


def _groups(rows: Iterable[TunedRow]) -> Iterator[GroupStats]:
    import pandas as pd

    keys = ["module", "gfx", "cu_num", "target", "library"]
    frame = pd.DataFrame([_cells(row) for row in rows], columns=[*keys, "kernel", "problem", "us"])
    groups = frame.astype({"us": float}).groupby(keys)
    figures = groups.agg(
        rows=("kernel", "size"),
        kernels=("kernel", "nunique"),
        problems=("problem", "nunique"),
        timed=("us", "count"),
        least=("us", "min"),
        most=("us", "max"),
    )
    for (module, _, _, target, library), count, kernels, problems, timed, least, most in figures.itertuples():
        yield GroupStats(module, target, library, count, kernels, problems, timed, (least, most) if timed else None)


def _cells(row: TunedRow) -> tuple[object, ...]:
    """Of the columns that are grouped and counted; a time that is not valid is none."""
    gfx, cu_num = (row.target.gfx, row.target.cu_num) if row.target else ("", 0)
    problem = (row.shape, row.discriminators)
    us = row.us if has_valid_time(row) else None
    return (row.module, gfx, cu_num, str(row.target or ""), row.library, row.kernel, problem, us)
