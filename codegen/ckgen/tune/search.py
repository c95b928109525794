"""The search of one problem: successive halving by rungs of effort, the last few confirmed together."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ckgen.measure.model import Candidate, Effort, Measured, MeasureStatus
from ckgen.tune.ties import fastest, is_tie


@dataclass(frozen=True, slots=True)
class Rung:
    """A step of the search. Of the candidates that it times, one in `keep` goes on, but `least` to `most` of them."""

    name: str
    effort: Effort
    keep: int
    least: int
    most: int


FIRST = Rung("first", Effort(seconds=1.0, least=2, most=2, still=0.1, sample=0.001), keep=6, least=4, most=1000)
SECOND = Rung("second", Effort(seconds=1.5, least=3, most=7, still=0.05, sample=0.002), keep=4, least=3, most=6)
CONFIRM = Rung("confirm", Effort(seconds=5.0, least=7, most=41, still=0.01, sample=0.005), keep=1, least=1, most=1)
RUNGS = (FIRST, SECOND)
"""Those that thin out."""

Measure = Callable[[Rung, Sequence[Candidate]], Mapping[Candidate, Measured]]
"""Times candidates in turns with each other."""


@dataclass(frozen=True, slots=True)
class Searched:
    """`confirmed`: the last few, timed together. `tried` candidates were timed at all; `failed` ended otherwise.

    `first` is the fastest of the first rung that timed all candidates.
    """

    confirmed: Mapping[Candidate, Measured]
    tried: int
    failed: tuple[Measured, ...]
    first: Candidate | None


def search(
    candidates: Iterable[Candidate], wanted: Iterable[Candidate], measure: Measure, rungs: Sequence[Rung] = RUNGS
) -> Searched:
    """Searches among candidates; those of them that are `wanted`, such as selection's, are confirmed in any case.

    Without `rungs` that thin out all candidates are confirmed.
    """
    left = sorted(set(candidates))
    tried, failed = len(left), list[Measured]()
    asked = [one for one in dict.fromkeys(wanted) if one in left]
    first: Candidate | None = None
    for rung in rungs:
        if len(left) <= rung.least:
            continue
        times = measure(rung, left)
        failed += _failed(times)
        if first is None and (best := fastest(times.values())) is not None:
            first = best.candidate
        left = kept(times, rung)
    gone = {one.candidate for one in failed}
    last = [*left, *(one for one in asked if one not in left and one not in gone)]
    confirmed = measure(CONFIRM, last) if last else {}
    failed += _failed(confirmed)
    if first is None and (best := fastest(confirmed.values())) is not None:
        first = best.candidate
    return Searched({one: time for one, time in confirmed.items() if _is_timed(time)}, tried, tuple(failed), first)


def kept(times: Mapping[Candidate, Measured], rung: Rung) -> list[Candidate]:
    """The fastest, as many as the rung keeps, and up to half as many again that tie with the best."""
    timed = sorted((one for one in times.values() if _is_timed(one)), key=lambda one: (one.median_us, one.candidate))
    count = min(max(math.ceil(len(timed) / rung.keep), rung.least), rung.most)
    also = [one for one in timed[count:] if is_tie(timed[0], one, math.inf)][: max(count // 2, 1)]
    return sorted(one.candidate for one in [*timed[:count], *also])


def _failed(times: Mapping[Candidate, Measured]) -> list[Measured]:
    return [one for one in times.values() if not _is_timed(one)]


def _is_timed(one: Measured) -> bool:
    return one.status is MeasureStatus.OK
