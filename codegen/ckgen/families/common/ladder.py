"""The M ladder of one (N, K, batch): measured sizes, run-length encoded."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Rung:
    """Measured sizes first, first + step, …, last (rows of M) that one choice won; `step` is a power of two."""

    first: int
    last: int
    step: int
    choice: int

    def measured_at_or_above(self, m: int) -> int:
        """The smallest measured size that is at least m; m must not exceed `last`."""
        if m <= self.first:
            return self.first
        return self.first + -(-(m - self.first) // self.step) * self.step


@dataclass(frozen=True, slots=True)
class Ladder:
    """Rungs ascending in M, no two sharing a measured size."""

    rungs: tuple[Rung, ...]
    lasts: tuple[int, ...]

    @classmethod
    def from_measured(cls, measured: Iterable[tuple[int, int]]) -> Ladder:
        """(M, choice) pairs of distinct M, as rungs.

        Three sizes or more of one choice, equally far apart by a power of two, are one rung; a size that ends one such
        run and begins the next is of the first. So a pair that changes or goes leaves rungs that are not beside it.
        """
        sizes = sorted(measured)
        rungs: list[Rung] = []
        at = 0
        while at < len(sizes):
            end, step = _run(sizes, at)
            follows = at > 0 and _step(sizes, at - 1) == step  # its first size is of the run before
            if end - at < 2 and not (end > at and follows):
                end, step = at, 1
            rungs.append(Rung(sizes[at][0], sizes[end][0], step, sizes[at][1]))
            at = end + 1
        return cls(tuple(rungs), tuple(rung.last for rung in rungs))

    def sizes(self) -> Iterator[tuple[int, int]]:
        """Every measured size with its choice, ascending."""
        for rung in self.rungs:
            for m in range(rung.first, rung.last + 1, rung.step):
                yield m, rung.choice

    def at_or_above(self, m: int) -> tuple[int, int] | None:
        """The smallest measured size that is at least m and its choice, or None above the ladder."""
        index = bisect_left(self.lasts, m)
        if index == len(self.rungs):
            return None
        rung = self.rungs[index]
        return rung.measured_at_or_above(m), rung.choice

    def below(self, m: int) -> tuple[int, int] | None:
        """The largest measured size that is less than m and its choice, or None below the ladder."""
        index = bisect_left(self.lasts, m)
        if index < len(self.rungs) and self.rungs[index].first < m:
            rung = self.rungs[index]
            return rung.first + (m - 1 - rung.first) // rung.step * rung.step, rung.choice
        if index == 0:
            return None
        return self.rungs[index - 1].last, self.rungs[index - 1].choice


def _step(sizes: Sequence[tuple[int, int]], at: int) -> int:
    """From a size to the next one, where both have one choice and are a power of two apart; else 0."""
    (m, choice), (above, choice_above) = sizes[at], sizes[at + 1]
    return above - m if choice == choice_above and (above - m).bit_count() == 1 else 0


def _run(sizes: Sequence[tuple[int, int]], at: int) -> tuple[int, int]:
    """Where the run of equal steps from a size ends, and the step; 0 where there is none."""
    end = at
    step = _step(sizes, at) if at + 1 < len(sizes) else 0
    while step and end + 1 < len(sizes) and _step(sizes, end) == step:
        end += 1
    return end, step


EMPTY_LADDER = Ladder((), ())
