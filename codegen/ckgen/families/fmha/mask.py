"""Which key columns a query row sees: the mask of `ckgen/fmha.hpp` as pure functions of integers."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ckgen.families.fmha.enums import FmhaCorner
from ckgen.model.errors import UsageError
from ckgen.model.fmha_shape import FmhaShape

NO_LIMIT = -1
_WINDOW = re.compile(r"(?P<corner>[tb]):(?P<left>-?[0-9]{1,10}),(?P<right>-?[0-9]{1,10})(?:,(?P<sink>[0-9]{1,10}))?")
_MOST = 2**31 - 1
Ranges = tuple[range, ...]


@dataclass(frozen=True, slots=True)
class FmhaMask:
    """Corner, window and first columns that stay visible; a limit below 0 is none. The default hides nothing."""

    corner: FmhaCorner = FmhaCorner.BOTTOM_RIGHT
    left: int = NO_LIMIT
    right: int = NO_LIMIT
    sink_tokens: int = 0

    @classmethod
    def of(cls, shape: FmhaShape, masked: bool) -> FmhaMask:
        """The mask of a problem whose signature is masked or not."""
        if not masked:
            return cls()
        return cls(shape.corner, shape.window_left, shape.window_right, shape.sink_tokens)

    def over(self, length_q: int, length_k: int) -> Visible:
        """What it leaves visible in a sequence of these lengths."""
        return Visible(self, length_q, length_k)

    def __str__(self) -> str:
        sink = f",{self.sink_tokens}" if self.sink_tokens else ""
        return f"{'t' if self.corner is FmhaCorner.TOP_LEFT else 'b'}:{self.left},{self.right}{sink}"


@dataclass(frozen=True, slots=True)
class Visible:
    """A mask over one sequence; rows are those of Q, columns those of K."""

    mask: FmhaMask
    length_q: int
    length_k: int

    @property
    def shift(self) -> int:
        """The column on the diagonal of row 0."""
        return 0 if self.mask.corner is FmhaCorner.TOP_LEFT else self.length_k - self.length_q

    def sees(self, row: int, column: int) -> bool:
        """Whether the row sees the column."""
        return any(column in part for part in self.columns(row))

    def columns(self, row: int) -> Ranges:
        """The visible columns of a row, as ascending ranges with gaps between them, none empty."""
        return self.columns_of(range(row, row + 1))

    def columns_of(self, rows: range) -> Ranges:
        """The columns that at least one of these consecutive rows sees, as `columns` gives them."""
        rows = range(max(rows.start, 0), min(rows.stop, self.length_q))
        if not rows:
            return ()
        end = self._end(rows[-1])
        return _joined(range(min(self.mask.sink_tokens, end)), range(self._start(rows[0]), end))

    def blind_rows(self) -> Ranges:
        """The rows that see no column, as ascending ranges."""
        if self.length_k <= 0:
            return _joined(range(self.length_q))
        mask, first, last = self.mask, 0, self.length_q
        if mask.right >= 0:
            first = min(max(-self.shift - mask.right, 0), self.length_q)
        if mask.left >= 0 and mask.sink_tokens <= 0:
            last = min(max(self.length_k - self.shift + mask.left, 0), self.length_q)
        return _joined(range(first), range(max(last, first), self.length_q))

    def array(self) -> npt.NDArray[np.bool_]:
        """[length_q, length_k]: what each row sees."""
        found = np.zeros((self.length_q, self.length_k), np.bool_)
        for row in range(self.length_q):
            for part in self.columns(row):
                found[row, part.start : part.stop] = True
        return found

    def turns(self) -> list[int]:
        """Rows, ascending from 0, from one of which to the next each end of the visible columns stays or moves by 1."""
        mask, found = self.mask, {0}
        for column in (0, 1, mask.sink_tokens, self.length_k):
            for limit in (-mask.left, mask.right):
                first = column - self.shift - limit
                found.update(row for row in range(first - 1, first + 3) if 0 <= row < self.length_q)
        return sorted(found) if self.length_q > 0 else []

    def _start(self, row: int) -> int:
        """The first column of the row's window."""
        return max(row + self.shift - self.mask.left, 0) if self.mask.left >= 0 else 0

    def _end(self, row: int) -> int:
        """Behind the last column that the row may see; below 1 where there is none."""
        return min(row + self.shift + self.mask.right + 1, self.length_k) if self.mask.right >= 0 else self.length_k


CAUSAL = FmhaMask(right=0)
_NAMED = {
    "none": FmhaMask(),
    "causal": CAUSAL,
    "bottomright": CAUSAL,
    "topleft": FmhaMask(FmhaCorner.TOP_LEFT, right=0),
}
FORMS = f"{', '.join(_NAMED)}, t:LEFT,RIGHT[,SINK] or b:LEFT,RIGHT[,SINK], where -1 is no limit"


def parse_mask(text: str) -> FmhaMask:
    """A mask from one of FORMS; UsageError for anything else."""
    if text in _NAMED:
        return _NAMED[text]
    match = _WINDOW.fullmatch(text)
    if match is None:
        raise UsageError(f"mask '{text}' is not {FORMS}")
    left, right, sink = int(match["left"]), int(match["right"]), int(match["sink"] or 0)
    for name, value in (("left", left), ("right", right), ("sink", sink)):
        if not NO_LIMIT <= value <= _MOST:
            raise UsageError(f"mask '{text}': {name} is {value}, not within {NO_LIMIT}..{_MOST}")
    return FmhaMask(FmhaCorner.TOP_LEFT if match["corner"] == "t" else FmhaCorner.BOTTOM_RIGHT, left, right, sink)


def _joined(*parts: range) -> Ranges:
    """Ascending ranges without empty ones; those that touch or overlap become one."""
    found: list[range] = []
    for part in parts:
        if not part:
            continue
        if found and part.start <= found[-1].stop:
            found[-1] = range(found[-1].start, max(found[-1].stop, part.stop))
        else:
            found.append(part)
    return tuple(found)
