"""What a set of tables holds: files, rows, targets, libraries, kernels, times."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
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
    files = Counter(file.kind for file in tables.files)
    rows: Counter[str] = Counter()
    for file in tables.files:
        rows[file.kind] += file.row_count
    groups: dict[tuple[str, str, int, str], list[TunedRow]] = defaultdict(list)
    for row in tables.of(TunedRow):
        gfx, cu_num = (row.target.gfx, row.target.cu_num) if row.target else ("", 0)
        groups[row.module, gfx, cu_num, row.library].append(row)
    return TableStats(
        tuple(KindStats(kind, files[kind], rows[kind]) for kind in tables.kinds if files[kind]),
        tuple(_group(groups[key]) for key in sorted(groups)),
        sum(len(file.fates) for file in tables.files),
    )


def _group(rows: Iterable[TunedRow]) -> GroupStats:
    rows = list(rows)
    times = [row.us for row in rows if row.us is not None and has_valid_time(row)]
    return GroupStats(
        rows[0].module,
        str(rows[0].target or ""),
        rows[0].library,
        len(rows),
        len({row.kernel for row in rows}),
        len({(row.shape, row.discriminators) for row in rows}),
        len(times),
        (min(times), max(times)) if times else None,
    )
