"""The seconds of a tune: what is left of them, and how they are shared."""

from __future__ import annotations

import time
from dataclasses import replace

from ckgen.measure.model import Effort
from ckgen.tune.search import CONFIRM, NAMES, ROUND, Rung

_PART = dict(zip(NAMES, (0.25, 0.25, 0.5), strict=True))
"""Of a problem's share of the budget, by rung."""
_FOR_DOUBT, _LEAST_FOR_DOUBT = 0.4, 1.0
"""Of the budget, for turns of problems whose winner is in doubt after the first; nothing where that is fewer seconds
than these, which a fresh process and its operands take."""
_FOR_OLDER = 0.1
"""Of the budget, for turns beside an older table."""
_BEGUN = 0.75
"""Of a problem's share, for what a rung verifies and times before it begins no further candidate. Only the first
verifies much, and what it leaves is enough for the others."""
_LEAST_SHARE = 0.5
"""Seconds of a problem's share at least, also of what would be kept for doubt: where a budget is too small for all
problems, it tunes those that it reaches, rather than time a candidate of each."""
_LEAST = 0.001
"""Seconds of a limit, which is none where it is 0; so few are no time."""
_BEYOND = 0.02
"""Of the budget, in which what was begun within it may end."""


class Budget:
    """Counts from when it is made; all of it None and endless where `seconds` is None.

    is_exhaustive: every candidate is timed in rounds of one rung, and nothing is kept for those in doubt.
    has_older: winners are timed beside an older table's at the end.
    """

    def __init__(self, seconds: float | None, *, is_exhaustive: bool, has_older: bool) -> None:
        self._seconds = seconds
        self._is_exhaustive = is_exhaustive
        self._has_older = has_older
        self._ends = time.monotonic() + seconds if seconds is not None else None

    def end(self) -> None:
        """What is left is too little for anything."""
        if self._ends is not None:
            self._ends = time.monotonic()

    @property
    def left(self) -> float | None:
        """Seconds; 0 where they are too few for anything."""
        if self._ends is None:
            return None
        seconds = self._ends - time.monotonic()
        return seconds if seconds > _LEAST else 0.0

    @property
    def part_done(self) -> float | None:
        """Of the whole."""
        left = self.left
        return 1 - left / self._seconds if left is not None and self._seconds else None

    @property
    def left_for_doubt(self) -> float | None:
        """Seconds for further turns of winners."""
        left, seconds = self.left, self._seconds
        if left is None or seconds is None or not self._has_older:
            return left
        return max(left - _FOR_OLDER * seconds, 0.0)

    def share(self, problems: int) -> float | None:
        """Of a problem, if so many that are left share alike what is not kept for those in doubt; 0: there is none."""
        left, seconds = self.left, self._seconds
        if left is None or seconds is None:
            return None
        kept = 0.0 if self._is_exhaustive else _FOR_DOUBT * seconds
        kept = min(kept if kept >= _LEAST_FOR_DOUBT else 0.0, max(left - _LEAST_SHARE * problems, 0.0))
        there = max(left - kept, 0.0)
        return max(there / max(problems, 1), min(_LEAST_SHARE, there)) if there > _LEAST else 0.0

    def of_rung(self, rung: Rung, share: float | None) -> Effort:
        """The rung's effort within a problem's share."""
        effort = ROUND if self._is_exhaustive else rung.effort
        if share is None:
            return effort
        part = share * (1.0 if self._is_exhaustive else _PART[rung.name])
        return replace(
            effort, seconds=min(effort.seconds, part), limit=max(share * _BEGUN, _LEAST), ends=self._to_end()
        )

    def of_turn(self) -> Effort:
        """That of a further turn within all that is left."""
        effort, left = ROUND if self._is_exhaustive else CONFIRM.effort, self.left
        if left is None:
            return effort
        return replace(effort, seconds=min(effort.seconds, left), limit=max(left, _LEAST), ends=self._to_end())

    def _to_end(self) -> float:
        """Of what is measured now."""
        return (self.left or 0.0) + _BEYOND * (self._seconds or 0.0) + _LEAST
