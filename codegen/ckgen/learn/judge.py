"""How often a way to choose takes the measured winner, and what it loses, by bands of M, beside plainer ways."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ckgen.families.common.decision_rule import DecisionRule, Leaf
from ckgen.families.common.policy import near_gap
from ckgen.learn.examples import Example
from ckgen.learn.fit import Fitter
from ckgen.learn.folds import folds_of
from ckgen.learn.growth import Growth

Chooser = Callable[[Example], Leaf | None]
"""What is chosen for a problem, without a look at its winner."""
SMALL = 1024


def _is_power(m: int) -> bool:
    return m & (m - 1) == 0


BANDS: Mapping[str, Callable[[int], bool]] = {
    "M <= 16": lambda m: m <= 16,
    "16 < M <= 128": lambda m: 16 < m <= 128,
    "128 < M <= 1024": lambda m: 128 < m <= SMALL,
    "M > 1024": lambda m: m > SMALL,
    "M <= 1024": lambda m: m <= SMALL,
    "M <= 1024, no power of 2": lambda m: m <= SMALL and not _is_power(m),
    "all": lambda m: True,
}
"""Bands of M; the last three overlap the others."""


@dataclass(frozen=True, slots=True)
class Regret:
    """Times of what was chosen over the best of their problems: the geometric mean, the 95th percentile, the worst.

    Of n the percentile is the ⌈0.95 n⌉th smallest.
    """

    geomean: float
    p95: float
    worst: float


def regret_of(regrets: Sequence[float]) -> Regret:
    """Of one problem or more."""
    ordered = sorted(regrets)
    mean = math.exp(math.fsum(map(math.log, ordered)) / len(ordered))
    return Regret(mean, ordered[math.ceil(0.95 * len(ordered)) - 1], ordered[-1])


@dataclass(frozen=True, slots=True)
class Score:
    """Of `rows` problems of a band, how many were given their measured winner, and its kernel with any splits.

    `regret` is None where no costs are known. Where nothing was chosen it counts what selection takes.
    """

    rows: int
    winners: int
    kernels: int
    regret: Regret | None = None

    @property
    def rate(self) -> float:
        """The share of winners; 0 without rows."""
        return self.winners / self.rows if self.rows else 0.0


def score(examples: Sequence[Example], choose: Chooser) -> dict[str, Score]:
    """By band."""
    chosen = [(example, choose(example)) for example in examples]
    return {band: _score_of([(e, c) for e, c in chosen if holds(e.asked.m)]) for band, holds in BANDS.items()}


def _score_of(chosen: Sequence[tuple[Example, Leaf | None]]) -> Score:
    winners = sum(leaf == example.winner for example, leaf in chosen)
    kernels = sum(leaf is not None and leaf.kernel == example.winner.kernel for example, leaf in chosen)
    regrets = [found for example, leaf in chosen if (found := example.regret(leaf)) is not None]
    return Score(len(chosen), winners, kernels, regret_of(regrets) if regrets else None)


def ruled(rule: DecisionRule, is_there: Callable[[Leaf], bool] = lambda leaf: True) -> Chooser:
    """The rule's leaf, or what takes its place in a library that does not have every kernel."""
    chosen = rule.among(is_there)

    def choose(example: Example) -> Leaf | None:
        asked = example.asked
        leaf = rule.evaluate(asked.m, asked.n, asked.k, rows=asked.rows, cu_num=asked.cu_num)
        return None if leaf is None else chosen[leaf]

    return choose


def selected(example: Example) -> Leaf | None:
    """What selection took as the library stood."""
    return example.selected


def constant(seen: Sequence[Example]) -> Chooser:
    """The most frequent winner of what was seen; of equals the first by name. Where costs are known what loses least in
    the geometric mean, of what was timed for every problem."""
    timed = [set(example.costs) for example in seen]
    every = set.intersection(*timed) if timed else set()
    if every:
        losses = {leaf: math.fsum(math.log(one.costs[leaf].us) for one in seen) for leaf in every}
        least = min(every, key=lambda leaf: (losses[leaf], leaf))
        return lambda example: least
    counts = Counter(example.winner for example in seen)
    best = min(counts, key=lambda leaf: (-counts[leaf], leaf)) if counts else None
    return lambda example: best


def next_power_of_two(examples: Sequence[Example]) -> Chooser:
    """The winner of the least power of two at or above M, of the same N, K and CUs; none where it was not measured."""
    known = {_key(example, example.asked.m): example.winner for example in examples if _is_power(example.asked.m)}
    return lambda example: known.get(_key(example, 1 << (example.asked.m - 1).bit_length()))


def neighbour(examples: Sequence[Example]) -> Chooser:
    """The winner of the next larger M that was measured of the same N, K and CUs, else of the next smaller."""
    ladders, rungs = _ladders(examples)

    def choose(example: Example) -> Leaf | None:
        key, m = _key(example, 0), example.asked.m
        known = rungs.get(key, [])
        above, below = bisect_right(known, m), bisect_left(known, m) - 1
        if above < len(known):
            return ladders[key][known[above]]
        return ladders[key][known[below]] if below >= 0 else None

    return choose


def far(examples: Sequence[Example]) -> Chooser:
    """The winner that tier `far` would take if nothing nearer were measured: of the least M beyond the near gap, and of
    the largest that M is as far beyond, of the same N, K and CUs, that which is nearer in ratio."""
    gap = near_gap()
    ladders, rungs = _ladders(examples)

    def choose(example: Example) -> Leaf | None:
        key, m = _key(example, 0), example.asked.m
        ladder, known = ladders[key], rungs.get(key, [])
        first = bisect_left(known, True, lo=bisect_right(known, m), key=lambda rung: not gap.holds(m, rung))
        beyond = bisect_left(known, True, hi=bisect_left(known, m), key=lambda rung: gap.holds(rung, m))
        above = known[first] if first < len(known) else None
        below = known[beyond - 1] if beyond > 0 else None
        if above is None or below is None:
            taken = above if below is None else below
        else:
            taken = above if above * below <= m * m else below
        return ladder[taken] if taken is not None else None

    return choose


def _ladders(examples: Sequence[Example]) -> tuple[Mapping[Any, Mapping[int, Leaf]], Mapping[Any, Sequence[int]]]:
    """By layer and CUs the winner of each M, and these M in order."""
    ladders: dict[Any, dict[int, Leaf]] = defaultdict(dict)
    for example in examples:
        ladders[_key(example, 0)][example.asked.m] = example.winner
    return ladders, {key: sorted(ladder) for key, ladder in ladders.items()}


def _key(example: Example, m: int) -> tuple[Any, ...]:
    return *example.group, example.asked.cu_num, m


Rules = Mapping[tuple[int, ...], DecisionRule]
"""By layer (batch, N, K), a rule that has not seen it."""


def held_out(examples: Sequence[Example], module: str, arch: str, growth: Growth, folds: int) -> Rules:
    """A rule for each fold of layers, fitted to the others."""
    fitter = Fitter(examples, module, arch)
    rules: dict[tuple[int, ...], DecisionRule] = {}
    for held in folds_of(examples, folds):
        rule, _ = fitter.fit([index for index, one in enumerate(examples) if one.group not in held], growth)
        rules |= dict.fromkeys(held, rule)
    return rules


def across_counts(examples: Sequence[Example], module: str, arch: str, growth: Growth) -> Chooser:
    """For each number of compute units a rule that is fitted to what was measured on others."""
    fitter = Fitter(examples, module, arch)
    choosers: dict[int, Chooser] = {}
    for count in {one.asked.cu_num for one in examples}:
        others = [index for index, one in enumerate(examples) if one.asked.cu_num != count]
        choosers[count] = ruled(fitter.fit(others, growth)[0])
    return lambda example: choosers[example.asked.cu_num](example)


def cross_validated(rules: Rules, is_there: Callable[[Leaf], bool] = lambda leaf: True) -> Chooser:
    """No layer is judged by a rule that has seen it."""
    choosers = {id(rule): ruled(rule, is_there) for rule in rules.values()}
    return lambda example: choosers[id(rules[example.group])](example)
