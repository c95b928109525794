"""What candidates lose to the fastest of their problem, from turns: each turn times some of them together, in a process
of its own. What a whole turn shares, such as a clock, is in no difference within it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement
from statistics import median

from ckgen.measure.model import Candidate, Measured
from ckgen.model.halves import Halves

Turn = Mapping[Candidate, Measured]
"""Candidates that were timed together."""
_USUAL = 2 * 0.006**2
"""Variance of a difference from process to process, however long it is timed in each: so much is usual."""
_DISTURBED = 0.05
"""A spread beyond which rounds are of two kinds, such as with one CPU and with two: their median may be of either,
however many they are."""
_CLIPPED = 9.0
"""What a turn's squared deviation counts at most, in variances: one that something disturbed says nothing of others."""


@dataclass(frozen=True, slots=True)
class Apart:
    """The logarithm of two candidates' times in a turn. `weight`: 1 / the variance that rounds and processes let
    expect."""

    value: float
    weight: float


@dataclass(frozen=True, slots=True)
class Loss:
    """`value` is the logarithm of the time over that of another candidate, from `count` turns that have both, of such a
    `weight` together. `misfit`: the sum of the turns' squared deviations, each in its variance."""

    value: float
    count: int = 0
    weight: float = 0.0
    misfit: float = 0.0


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
        known = loss_to(turns, one, best)
        if known is not None:
            result[one] = known
        elif one in times:
            result[one] = Loss(max(times[one] - times[best], 0.0))
    return Losses(best, result)


def loss_to(turns: Iterable[Turn], one: Candidate, other: Candidate) -> Loss | None:
    """What one loses to the other; None where no turn has both."""
    apart = differences(turns, one, other)
    if not apart:
        return None
    value = location(apart)
    misfit = sum(min(each.weight * (each.value - value) ** 2, _CLIPPED) for each in apart)
    return Loss(value, len(apart), sum(each.weight for each in apart), misfit)


def differences(turns: Iterable[Turn], one: Candidate, other: Candidate) -> list[Apart]:
    """Of each turn that has both."""
    both = [(turn[one], turn[other]) for turn in turns if one in turn and other in turn]
    return [
        Apart(math.log(left.median_us / right.median_us), 1 / (_USUAL + _variance(left) + _variance(right)))
        for left, right in both
    ]


def _variance(one: Measured) -> float:
    """Of the median of a turn's rounds, as a part of it: where rounds are normal, half of what lies between quartiles
    is 0.6745 deviations, and a median's variance is pi / 2 of a mean's. Where something disturbed them, the spread's
    square."""
    normal = math.pi / 2 * (one.spread / 0.6745) ** 2 / max(one.runs, 1)
    return max(normal, one.spread**2) if one.spread > _DISTURBED else normal


def location(values: Sequence[Apart]) -> float:
    """Hodges and Lehmann's, weighted: the median of the means of all pairs, where a pair weighs what both do. A few
    turns that something disturbed move it little, and those that know little of themselves less; of others it is nearly
    as certain as the mean."""
    pairs = combinations_with_replacement(values, 2)
    means = sorted(
        ((one.weight * one.value + other.weight * other.value) / (one.weight + other.weight), one.weight * other.weight)
        for one, other in pairs
    )
    half, below = sum(weight for _, weight in means) / 2, 0.0
    for at, (mean, weight) in enumerate(means):
        below += weight
        if math.isclose(below, half) and at + 1 < len(means):
            return (mean + means[at + 1][0]) / 2
        if below > half:
            return mean
    return means[-1][0]


def halves(turns: Sequence[Turn]) -> Halves[Candidate]:
    """Microseconds by the odd turns and by the even ones, each pooled; of one turn the even half is empty."""
    odd, even = pooled(turns[::2]), pooled(turns[1::2])
    return Halves(*({one: had.median_us for one, had in half.items()} for half in (odd, even)))


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
