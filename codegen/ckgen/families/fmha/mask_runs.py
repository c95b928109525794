"""A mask in a few lines: runs of rows whose visible columns start and end alike, and a picture of small ones."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from ckgen.families.fmha.mask import Ranges, Visible

_PICTURE_ROWS, _PICTURE_COLUMNS = 40, 80


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive rows; each end of their columns is the same in all of them, or one more from row to row."""

    rows: range
    of_first: Ranges
    of_last: Ranges

    @property
    def count(self) -> int:
        """Visible elements."""
        return (_size(self.of_first) + _size(self.of_last)) * len(self.rows) // 2

    def __str__(self) -> str:
        if not self.of_first:
            return "no column"
        pairs = zip(self.of_first, self.of_last, strict=True)
        return " and ".join(f"{self._place(a.start, b.start)}..{self._place(a.stop - 1, b.stop - 1)}" for a, b in pairs)

    def _place(self, at_first: int, at_last: int) -> str:
        if at_first == at_last:
            return str(at_first)
        offset = at_first - self.rows[0]
        return f"i{offset:+d}" if offset else "i"


def runs(visible: Visible) -> list[Run]:
    """All rows in as few runs as there are; independent of the lengths."""
    found: list[Run] = []
    for first, behind in pairwise([*visible.turns(), visible.length_q]):
        run = Run(range(first, behind), visible.columns(first), visible.columns(behind - 1))
        joined = _join(found[-1], run) if found else None
        if joined is None:
            found.append(run)
        else:
            found[-1] = joined
    return found


def picture(visible: Visible) -> list[str]:
    """A line per row, `#` where it sees the column; none where there are too many."""
    if visible.length_q > _PICTURE_ROWS or visible.length_k > _PICTURE_COLUMNS:
        return []
    return ["".join("#" if seen else "." for seen in row) for row in visible.array()]


def _join(before: Run, after: Run) -> Run | None:
    """Both as one run, where each end goes on as it went."""
    if len(before.of_first) != len(after.of_last) or len(before.of_first) != len(after.of_first):
        return None
    joined = Run(range(before.rows.start, after.rows.stop), before.of_first, after.of_last)
    inner = ((before.rows[-1], before.of_last), (after.rows[0], after.of_first))
    return joined if all(_at(joined, row) == columns for row, columns in inner) else None


def _at(run: Run, row: int) -> Ranges | None:
    """The columns of a row of the run where its ends move evenly; None where they cannot."""
    length, step = len(run.rows) - 1, row - run.rows[0]

    def end(at_first: int, at_last: int) -> int | None:
        moved = at_last - at_first
        return None if moved not in (0, length) else at_first + (step if moved else 0)

    found: list[range] = []
    for first, last in zip(run.of_first, run.of_last, strict=True):
        start, stop = end(first.start, last.start), end(first.stop, last.stop)
        if start is None or stop is None:
            return None
        found.append(range(start, stop))
    return tuple(found)


def _size(columns: Ranges) -> int:
    return sum(len(part) for part in columns)
