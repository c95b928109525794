"""What candidates lose to the fastest of their problem, from turns: each turn times some of them together, in a process
of its own. What a whole turn shares, such as a clock, is in no difference within it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from statistics import fmean, median

from ckgen.measure.model import Candidate, Measured

Turn = Mapping[Candidate, Measured]
"""Candidates that were timed together."""


@dataclass(frozen=True, slots=True)
class Loss:
    """`value` is the logarithm of the time over that of the fastest. Of the `count` turns that have both, `squares` is
    the sum of the squared deviations of their logarithms from the mean, and `within` the variance that the rounds in a
    turn let expect."""

    value: float
    count: int
    squares: float
    within: float


@dataclass(frozen=True, slots=True)
class Losses:
    """Of all candidates of a problem's turns; `best` is the fastest, which loses nothing."""

    best: Candidate
    of: Mapping[Candidate, Loss]


def losses(turns: Sequence[Turn]) -> Losses | None:
    """None where nothing was timed."""
    every = sorted({one for turn in turns for one in turn})
    if not every:
        return None
    base = max(every, key=lambda one: sum(one in turn for turn in turns))
    times = {one: location(found) for one in every if (found := differences(turns, one, base))}
    best = min(times, key=lambda one: (times[one], one))
    result: dict[Candidate, Loss] = {}
    for one in every:
        apart = differences(turns, one, best)
        value = location(apart) if apart else max(times.get(one, math.inf) - times[best], 0.0)
        mean = fmean(apart) if apart else 0.0
        both = [turn for turn in turns if one in turn and best in turn]
        within = fmean(_variance(turn[one]) + _variance(turn[best]) for turn in both) if both else 0.0
        result[one] = Loss(value, len(apart), sum((each - mean) ** 2 for each in apart), within)
    return Losses(best, {one: loss for one, loss in result.items() if loss.value < math.inf})


def differences(turns: Iterable[Turn], one: Candidate, other: Candidate) -> list[float]:
    """Of the logarithms of both times, in each turn that has both."""
    both = [turn for turn in turns if one in turn and other in turn]
    return [math.log(turn[one].median_us / turn[other].median_us) for turn in both]


def _variance(one: Measured) -> float:
    """Of the median of a turn's rounds, as a part of it: where rounds are normal, half of what lies between quartiles
    is 0.6745 deviations, and a median's variance is pi / 2 of a mean's."""
    return math.pi / 2 * (one.spread / 0.6745) ** 2 / max(one.runs, 1)


def location(values: Sequence[float]) -> float:
    """Hodges and Lehmann's: the median of the means of all pairs. A few turns that something disturbed move it little;
    of others it is nearly as certain as the mean."""
    return median((one + other) / 2 for one, other in combinations_with_replacement(values, 2))


def pooled(turns: Sequence[Turn]) -> dict[Candidate, Measured]:
    """One outcome for each candidate, over all turns. Times are the median of the fastest one's and what the others
    lose to it, so that they compare as if all had been timed together; the spread is the median of the turns'."""
    found = losses(turns)
    if found is None:
        return {}
    least = median(turn[found.best].median_us for turn in turns if found.best in turn)
    result = {}
    for one, loss in found.of.items():
        every = [turn[one] for turn in turns if one in turn]
        time, spread = least * math.exp(loss.value), median(each.spread for each in every)
        runs = sum(each.runs for each in every)
        result[one] = replace(every[0], median_us=time, spread=spread, runs=runs) if len(turns) > 1 else every[0]
    return result
