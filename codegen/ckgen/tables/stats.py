"""What a set of tables holds: files, rows, targets, libraries, kernels, times."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from operator import itemgetter

from ckgen.model.target import Target
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
    return TableStats(
        tuple(KindStats(kind, files[kind], rows[kind]) for kind in tables.kinds if files[kind]),
        tuple(_groups(tables.of(TunedRow))),
        sum(len(file.fates) for file in tables.files),
    )


_Key = tuple[str, Target, str]
"""Module, target, library."""


def _groups(rows: Iterable[TunedRow]) -> Iterator[GroupStats]:
    """Counted here: a DataFrame of these few groups takes several times as long as reading the tables."""
    groups: dict[_Key, list[TunedRow]] = defaultdict(list)
    for row in rows:
        groups[row.module, row.target or Target("", 0), row.library].append(row)
    for (module, _, library), found in sorted(groups.items(), key=itemgetter(0)):
        times = [row.us for row in found if row.us is not None and has_valid_time(row)]
        yield GroupStats(
            module=module,
            target=str(found[0].target or ""),
            library=library,
            rows=len(found),
            kernels=len({row.kernel for row in found}),
            problems=len({(row.shape, row.discriminators) for row in found}),
            timed=len(times),
            us=(min(times), max(times)) if times else None,
        )
