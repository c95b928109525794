"""The M ladder of one (N, K, batch): measured sizes, run-length encoded, and the hash that finds the ladder."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_MASK64 = (1 << 64) - 1


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
        """Merge (M, choice) pairs of distinct M: equal neighbours a power of two apart become one rung."""
        rungs: list[Rung] = []
        for m, choice in sorted(measured):
            last = rungs[-1] if rungs else None
            distance = m - last.last if last is not None else 0
            if last is None or last.choice != choice or distance.bit_count() != 1:
                rungs.append(Rung(m, m, 1, choice))
            elif last.first == last.last or distance == last.step:
                rungs[-1] = Rung(last.first, m, distance, choice)
            else:
                rungs.append(Rung(m, m, 1, choice))
        return cls(tuple(rungs), tuple(rung.last for rung in rungs))

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


EMPTY_LADDER = Ladder((), ())


def group_slot(n: int, k: int, batch: int, size: int) -> int:
    """Where the search for a key begins among `size` slots (a power of two), as in ckgen/lookup.hpp."""
    key = (n << 32 | k) ^ (batch * 0xBF58476D1CE4E5B9 & _MASK64)
    return (key * 0x9E3779B97F4A7C15 & _MASK64) >> (64 - (size.bit_length() - 1))


def layout_slots(keys: Sequence[tuple[int, int, int]]) -> tuple[int, ...]:
    """Open addressing at a load of at most a quarter: slot → 1 + index into `keys` (n, k, batch), 0 where empty.

    So empty, nearly every probe is the first: a second one is a mispredicted branch.
    """
    size = 4
    while size < 4 * len(keys):
        size *= 2
    slots = [0] * size
    for index, key in enumerate(keys):
        slot = group_slot(*key, size)
        while slots[slot]:
            slot = (slot + 1) & (size - 1)
        slots[slot] = index + 1
    return tuple(slots)


def ladder_bucket(m: int) -> int:
    """Thirty-two buckets per octave of M, consecutive from 0, as in ckgen/lookup.hpp."""
    if m < 32:
        return m
    octave = m.bit_length() - 1
    return (octave - 4) * 32 + (m >> (octave - 5) & 31)


def bucket_floor(bucket: int) -> int:
    """The least M of a bucket."""
    if bucket < 32:
        return bucket
    octave, part = divmod(bucket, 32)
    return (32 + part) << (octave - 1)


def layout_directory(ladders: Sequence[Ladder]) -> tuple[tuple[int, ...], ...]:
    """Per ladder the first rung at or above each bucket's floor, then the rung count; all rows are equally long."""
    top = max((ladder.lasts[-1] for ladder in ladders if ladder.lasts), default=0)
    floors = [bucket_floor(bucket) for bucket in range(ladder_bucket(top) + 1)]
    return tuple((*(bisect_left(ladder.lasts, floor) for floor in floors), len(ladder.rungs)) for ladder in ladders)
