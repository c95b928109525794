"""What noise leaves of the best: how often even the true winner is not the one that was labelled.

Four estimates, each by bands of M:

- `isolated`, of tables: of three neighbours along M in a layer whose outer two agree, how often the middle one is
  theirs. What changes for one rung and back is taken for noise, so it is a floor where bands are that narrow.
- `twice`, of tables: of pairs of rows of the same problem whose times differ, how often both name one winner, and of
  that the square root: two labels agree where both are right, if wrong ones seldom agree.
- `again`, of journals: how often the measured winner is the best of times drawn anew about the medians, by their own
  standard errors, and the regret that it then has. A rule cannot be told to be better than that.
- `other_half`, of journals of several rounds: how often both halves of the rounds name one winner, and what one half's
  loses to the other's own. As no time is drawn, no error has to be known.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ckgen.learn.examples import Example
from ckgen.learn.judge import BANDS, Regret, regret_of

DRAWS = 100
_MOST_ERROR = 0.5
"""What varies more tells nothing of its time."""


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The match rate that noise leaves, from so many `cases`; of journals also the regret."""

    cases: int
    rate: float
    regret: Regret | None = None


def isolated(examples: Sequence[Example]) -> dict[str, Ceiling]:
    """By band of the middle one; bands without any are left out. Rows that differ in operand types alone are one
    ladder's only where they agree."""
    ladders: dict[Any, dict[int, set[Any]]] = defaultdict(lambda: defaultdict(set))
    for one in examples:
        ladders[one.group, one.asked.cu_num][one.asked.m].add(one.winner)
    agreed = []
    for rungs in ladders.values():
        ladder = sorted((m, next(iter(winners))) for m, winners in rungs.items() if len(winners) == 1)
        triples = zip(ladder, ladder[1:], ladder[2:], strict=False)
        agreed += [(m, label == before) for (_, before), (m, label), (_, after) in triples if before == after]
    return _by_band(agreed)


def twice(measured: Sequence[tuple[Example, Example]]) -> dict[str, Ceiling]:
    """By band; of pairs of rows of one problem."""
    pairs = [(one.asked.m, one.winner == other.winner) for one, other in measured]
    return {band: Ceiling(one.cases, math.sqrt(one.rate)) for band, one in _by_band(pairs).items()}


def again(examples: Sequence[Example], seed: int = 0) -> dict[str, Ceiling]:
    """By band; of examples with costs."""
    import numpy as np

    draw = np.random.default_rng(seed)
    found: list[tuple[int, float, list[float]]] = []
    for one in examples:
        if not one.costs:
            continue
        leaves = sorted(one.costs)
        medians = np.array([one.costs[leaf].us for leaf in leaves])
        errors = np.array([min(one.costs[leaf].error, _MOST_ERROR) for leaf in leaves])
        times = medians * np.exp(errors * draw.standard_normal((DRAWS, len(leaves))))
        winner = leaves.index(one.winner)
        is_best = times.argmin(axis=1) == winner
        found.append((one.asked.m, float(is_best.mean()), list(times[:, winner] / times.min(axis=1))))
    return _by_regret(found)


def _by_regret(found: Sequence[tuple[int, float, list[float]]]) -> dict[str, Ceiling]:
    """Of each its M, rate and regrets."""
    return {
        band: Ceiling(len(of_band), sum(rate for rate, _ in of_band) / len(of_band), _regret(of_band))
        for band, holds in BANDS.items()
        if (of_band := [(rate, regrets) for m, rate, regrets in found if holds(m)])
    }


def other_half(examples: Sequence[Example]) -> dict[str, Ceiling]:
    """By band; of examples with several rounds."""
    floors = ((one, one.halves.floor) for one in examples)
    return _by_regret(
        [(one.asked.m, float(one.halves.are_agreed), [floor]) for one, floor in floors if floor is not None]
    )


def _regret(found: Sequence[tuple[float, list[float]]]) -> Regret:
    return regret_of([regret for _, regrets in found for regret in regrets])


def _by_band(agreed: Sequence[tuple[int, bool]]) -> dict[str, Ceiling]:
    def kept() -> Iterator[tuple[str, list[bool]]]:
        for band, holds in BANDS.items():
            yield band, [is_equal for m, is_equal in agreed if holds(m)]

    return {band: Ceiling(len(of_band), sum(of_band) / len(of_band)) for band, of_band in kept() if of_band}
