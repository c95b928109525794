"""Times bodies against each other: in turns, until their medians hold still. Knows no library."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from random import Random
from typing import Protocol

from ckgen.measure.beside import Beside
from ckgen.measure.model import Effort
from ckgen.measure.quiet import waited

_MOST_IN_A_ROW = 1000
_STILL = 0.05
_WARM, _WARM_BESIDE = 20.0, 2.0
"""So many samples long a warm-up is at most, beyond its first two calls; of short rounds beside a yardstick, to which
no clock has to rise first."""
_LATE = 4.0
"""So many times as long as it was to last, a measurement ends whatever its rounds."""
_IN_TIME = 0.95
"""Of the seconds after which the process is ended, by which all rounds are."""
_DISTURBED = 0.01
"""A sample of which threads waited a larger part for a CPU is disturbed."""
_FURTHER = 4
"""So many times as many rounds are made, while samples are disturbed."""
_SEED = 1
"""Of the orders of rounds, which are the same in every run."""
_LEAST = 1e-9
"""Seconds of a sample, so that none is 0."""


class Clock(Protocol):
    """Times what a device does."""

    most: int
    """Calls in a row, at most."""

    def seconds(self, calls: Sequence[Callable[[], object]], before: Callable[[], object] | None) -> float:
        """Of all calls but the first together, which comes ahead of them; right behind `before` where there is one."""
        ...


@dataclass(frozen=True, slots=True)
class Body:
    """What is timed. Calls do the same work on different memory, and follow each other: one is hot, several are cold.

    rest: seconds that its threads go on spinning after their work, in which nothing else is timed. before: is called
    ahead of each call, which is then a sample of its own, and is not timed; such as what empties the caches. known:
    seconds of one call, where it was timed before in this process; it is then warm after one. clock: times calls that
    go on after they return; by the host's where there is none.
    """

    calls: tuple[Callable[[], object], ...]
    rest: float = 0.02
    before: Callable[[], object] | None = None
    known: float | None = None
    clock: Clock | None = None


QUICK = Effort(seconds=0.0, least=1, most=1, sample=0.0)
"""To see that it works; its figures mean nothing."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Seconds of one call, a number for each round."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """In seconds."""
        return statistics.median(self.seconds)

    @property
    def spread(self) -> float:
        """Half of what lies between the quartiles, as a part of the median."""
        if len(self.seconds) < 2:
            return 0.0
        low, _, high = statistics.quantiles(self.seconds, n=4, method="inclusive")
        return (high - low) / 2 / self.median

    def times(self, unit: float) -> Sample:
        """The same in such units."""
        return Sample(tuple(one * unit for one in self.seconds))

    @property
    def doubt(self) -> float:
        """Half the 95 % interval of the median, as a part of it: McGill, Tukey and Larsen's 1.57 IQR / sqrt(n)."""
        return 3.14 * self.spread / math.sqrt(len(self.seconds))


@dataclass(slots=True)
class _Taken:
    """Samples: the part of its time that threads waited for a CPU, and seconds of one call."""

    outlier: float
    every: list[tuple[float, float]] = field(default_factory=list)

    @property
    def clear(self) -> list[float]:
        """Of those that nothing disturbed."""
        alone = [seconds for waited, seconds in self.every if waited <= _DISTURBED]
        most = min(alone, default=0.0) * (1 + self.outlier) if self.outlier else math.inf
        return [seconds for seconds in alone if seconds <= most]

    def kept(self, least: int) -> Sample:
        """The clear ones; where they are fewer than `least`, the least disturbed. Outliers are never kept."""
        clear = self.clear
        if len(clear) >= least or (clear and self.outlier):
            return Sample(tuple(clear))
        return Sample(tuple(seconds for _, seconds in sorted(self.every)[:least]))


def interleaved(
    bodies: Mapping[str, Body], effort: Effort, *, warmup: int = 2, heard: Callable[[str], object] = lambda name: None
) -> dict[str, Sample]:
    """Every round times each body once, in an order that is drawn anew: what ran before changes what a body takes.

    Before that each is called until its time holds still, at least twice and at most `warmup` times or 20 samples
    long; once where its time is known. Samples of which something else took the CPUs are taken again, as far as the
    effort's seconds last; where `least` others are not found, the least disturbed decide. No round is begun that may
    not end before the effort's end. `heard` hears the name of what runs next, ahead of each warm-up and each sample.
    Where samples stand beside a yardstick, it is the body of the shortest warm-up.
    """
    begun = time.perf_counter()
    calls = {name: cycle(body.calls) for name, body in bodies.items()}
    first = {}
    for name, body in bodies.items():
        heard(name)
        first[name] = _warm(body, calls[name], warmup, (_WARM_BESIDE if effort.beside else _WARM) * effort.sample)
    fastest = min(first.values())
    slow = {name for name, seconds in first.items() if seconds > effort.hopeless * max(fastest, effort.sample)}
    outlier = 0.0 if effort.beside else effort.outlier  # what lasts longer than the yardstick is no disturbance
    times = {name: _Taken(outlier, [(0.0, first[name])] if name in slow else []) for name in bodies}
    counts = {name: _count(body, first[name], effort) for name, body in bodies.items()}
    turns, order = [name for name in bodies if name not in slow], Random(_SEED)

    def take(name: str) -> tuple[float, float]:
        return _take(bodies[name], calls[name], counts[name], effort)

    beside = Beside(take, min(turns, key=first.__getitem__), effort.outlier) if effort.beside else None
    began = time.perf_counter()
    for done in range(_FURTHER * effort.most):
        clear = min(len(times[name].clear) for name in turns)
        still = clear >= effort.least and all(times[name].kept(1).doubt <= effort.still for name in turns)
        taken = time.perf_counter() - began
        if still or clear >= effort.most or (done >= effort.least and taken > effort.seconds):
            break
        if done and taken > _LATE * effort.seconds:
            break
        if done and effort.ends and time.perf_counter() - begun + taken / done > _IN_TIME * effort.ends:
            break
        for name in order.sample(turns, len(turns)):
            heard(name)
            times[name].every.append(beside.take(name) if beside is not None else take(name))
            time.sleep(bodies[name].rest)
    kept = {name: found.kept(effort.least) for name, found in times.items()}
    if beside is None:
        return kept
    return {name: one if name in slow else one.times(beside.level) for name, one in kept.items()}


def _take(body: Body, calls: cycle[Callable[[], object]], count: int, effort: Effort) -> tuple[float, float]:
    """A further sample. What a device does waits for no CPU, and is timed together."""
    if body.clock is not None:
        return 0.0, _timed(body, calls, count)
    before, at_once = waited(), 1 if effort.outlier else count
    each = sorted(_timed(body, calls, at_once) for _ in range(count // at_once))
    return (waited() - before) / max(math.fsum(each) * at_once, _LEAST), each[(len(each) - 1) // 4]


def _count(body: Body, seconds: float, effort: Effort) -> int:
    """Calls of a sample."""
    most = _MOST_IN_A_ROW if body.clock is None else body.clock.most
    return 1 if body.before is not None else min(max(1, round(effort.sample / seconds)), most)


def _warm(body: Body, calls: cycle[Callable[[], object]], warmup: int, most: float) -> float:
    """Seconds of the last call: of two within _STILL of each other, or after `warmup` calls or `most` seconds. What is
    known, after one call."""
    begun = time.perf_counter()
    next(calls)()
    time.sleep(body.rest)
    if body.known is not None:
        return body.known
    seconds = _timed(body, calls, 1)
    for _ in range(2, warmup):
        before, seconds = seconds, _timed(body, calls, 1)
        if abs(seconds - before) <= _STILL * before or time.perf_counter() - begun > most:
            break
    time.sleep(body.rest)
    return seconds


def _timed(body: Body, calls: cycle[Callable[[], object]], count: int) -> float:
    """Seconds of one call, the mean of `count` in a row."""
    if body.clock is not None:
        return body.clock.seconds([next(calls) for _ in range(count + 1)], body.before) / count
    chosen = [next(calls) for _ in range(count)]
    if body.before is not None:
        body.before()
    begin = time.perf_counter()
    for call in chosen:
        call()
    return (time.perf_counter() - begin) / count


def last_level_cache() -> int:
    """Bytes, as the kernel says of CPU 0; 32 MiB where it does not."""
    sizes = [path.read_text().strip() for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")]
    return max((int(size[:-1]) << {"K": 10, "M": 20}[size[-1]] for size in sizes), default=32 << 20)


def copies_beyond_cache(read: int, cache: int | None = None) -> int:
    """How many buffers of so many bytes, read in turn, are always read from memory: together three times the cache."""
    return max(1, -(-3 * (last_level_cache() if cache is None else cache) // read))
