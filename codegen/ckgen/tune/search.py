"""The search of one problem: successive halving by rungs of effort, the last few timed together."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

from ckgen.measure.model import Candidate, Effort, Measured, MeasureStatus
from ckgen.tune.ties import fastest, may_tie


@dataclass(frozen=True, slots=True)
class Rung:
    """A step of the search. Of the candidates that it times, one in `keep` goes on, but `least` to `most` of them."""

    name: str
    effort: Effort
    keep: int
    least: int
    most: int


_OUTLIER, _HOPELESS = 0.1, 3.0
"""What disturbs a sample only adds to its time: one that lasts a tenth longer than its candidate's shortest is taken
again. What takes three times as long as the fastest is timed once by the first rung."""
FIRST = Rung("first", Effort(1.0, 2, 2, 0.1, 0.001, outlier=_OUTLIER, hopeless=_HOPELESS), keep=6, least=4, most=1000)
SECOND = Rung("second", Effort(1.5, 3, 7, 0.05, 0.002, outlier=_OUTLIER), keep=4, least=3, most=10)
CONFIRM = Rung("confirm", Effort(2.0, 5, 15, 0.005, 0.005, outlier=_OUTLIER), keep=1, least=1, most=1)
"""One turn of the last few: how a process lies in memory is another in each, so many short turns tell more than a long
one."""
ROUND = Effort(1.0, 3, 3, 0.0, 0.001, outlier=_OUTLIER, hopeless=_HOPELESS, beside=True)
"""A round of an exhaustive search: few samples of all candidates, so that many rounds are spread over the time."""
_DISTURBED = 0.03
"""The mean spread of a rung's times beyond which they say little; where nothing else runs it is about 0.01."""
_FEW, _OF_FEW = 12, 8
"""Of so few candidates each rung keeps so many at least: they cost little, and a rung's times may be a seventh off."""
RUNGS = (FIRST, SECOND)
"""Those that thin out."""
NAMES = (*(rung.name for rung in RUNGS), CONFIRM.name)

Measure = Callable[[Rung, Sequence[Candidate]], Mapping[Candidate, Measured]]
"""Times candidates in turns with each other."""


@dataclass(frozen=True, slots=True)
class Searched:
    """`confirmed`: the last few, timed together. `tried` candidates were timed at all; `failed` ended otherwise.

    `first` is the fastest of the first rung that timed all candidates. `rough`: the logarithm of what each lost to the
    fastest in the last rung that thinned it out.
    """

    confirmed: Mapping[Candidate, Measured]
    tried: int
    failed: tuple[Measured, ...]
    first: Candidate | None
    rough: Mapping[Candidate, float] = field(default_factory=dict)


def search(
    candidates: Iterable[Candidate], wanted: Iterable[Candidate], measure: Measure, rungs: Sequence[Rung] = RUNGS
) -> Searched:
    """Searches among candidates; those of them that are `wanted`, such as selection's, are confirmed in any case.

    Without `rungs` that thin out all candidates are confirmed.
    """
    left = sorted(set(candidates))
    tried, failed = len(left), list[Measured]()
    asked = [one for one in dict.fromkeys(wanted) if one in left]
    if tried <= _FEW:
        rungs = [replace(rung, least=max(rung.least, _OF_FEW)) for rung in rungs]
    first: Candidate | None = None
    rough: dict[Candidate, float] = {}
    for rung in rungs:
        if len(left) <= rung.least:
            continue
        times = measure(rung, left)
        failed += _failed(times)
        if first is None and (best := fastest(times.values())) is not None:
            first = best.candidate
        rough |= lost(times)
        left = kept(times, rung)
    gone = {one.candidate for one in failed}
    last = [*left, *(one for one in asked if one not in left and one not in gone)]
    confirmed = measure(CONFIRM, last) if last else {}
    failed += _failed(confirmed)
    if first is None and (best := fastest(confirmed.values())) is not None:
        first = best.candidate
    timed = {one: time for one, time in confirmed.items() if _is_timed(time)}
    return Searched(timed, tried, tuple(failed), first, rough)


def kept(times: Mapping[Candidate, Measured], rung: Rung) -> list[Candidate]:
    """The fastest, as many as the rung keeps, and up to half as many again that tie with the best; three times as many
    where something else took the CPUs."""
    timed = sorted((one for one in times.values() if _is_timed(one)), key=lambda one: (one.median_us, one.candidate))
    count = min(max(math.ceil(len(timed) / rung.keep), rung.least), rung.most)
    if timed and fmean(one.spread for one in timed) > _DISTURBED:
        return sorted(one.candidate for one in timed[: 3 * count])
    also = [one for one in timed[count:] if may_tie(timed[0], one)][: max(count // 2, 1)]
    return sorted(one.candidate for one in [*timed[:count], *also])


def lost(times: Mapping[Candidate, Measured]) -> dict[Candidate, float]:
    """The logarithm of what each loses to the fastest, of those that were timed."""
    timed = {one: time.median_us for one, time in times.items() if _is_timed(time)}
    least = min(timed.values(), default=0.0)
    return {one: math.log(time / least) for one, time in timed.items()}


def _failed(times: Mapping[Candidate, Measured]) -> list[Measured]:
    return [one for one in times.values() if not _is_timed(one)]


def _is_timed(one: Measured) -> bool:
    return one.status is MeasureStatus.OK
