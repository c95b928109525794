"""How often a way to choose takes the measured winner, by bands of M, beside plainer ways."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ckgen.families.common.decision_rule import DecisionRule, Leaf
from ckgen.learn.examples import Example
from ckgen.learn.fit import Fitter, Growth

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
    "M <= 1024, no power of 2": lambda m: m <= SMALL and not _is_power(m),
    "all": lambda m: True,
}
"""Bands of M; the last two overlap the others."""


@dataclass(frozen=True, slots=True)
class Score:
    """Of `rows` problems of a band, how many were given their measured winner, and its kernel with any splits."""

    rows: int
    winners: int
    kernels: int

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
    return Score(len(chosen), winners, kernels)


def ruled(rule: DecisionRule) -> Chooser:
    """The rule's leaf."""

    def choose(example: Example) -> Leaf | None:
        asked = example.asked
        leaf = rule.evaluate(asked.m, asked.n, asked.k, rows=asked.rows, cu_num=asked.cu_num)
        return None if leaf is None else rule.leaves[leaf]

    return choose


def constant(seen: Sequence[Example]) -> Chooser:
    """The most frequent winner of what was seen; of equals the first by name."""
    counts = Counter(example.winner for example in seen)
    best = min(counts, key=lambda leaf: (-counts[leaf], leaf)) if counts else None
    return lambda example: best


def next_power_of_two(examples: Sequence[Example]) -> Chooser:
    """The winner of the least power of two at or above M, of the same N, K and CUs; none where it was not measured."""
    known = {_key(example, example.asked.m): example.winner for example in examples if _is_power(example.asked.m)}
    return lambda example: known.get(_key(example, 1 << (example.asked.m - 1).bit_length()))


def neighbour(examples: Sequence[Example]) -> Chooser:
    """The winner of the next larger M that was measured of the same N, K and CUs, else of the next smaller."""
    ladders: dict[Any, dict[int, Leaf]] = defaultdict(dict)
    for example in examples:
        ladders[_key(example, 0)][example.asked.m] = example.winner
    rungs = {key: sorted(ladder) for key, ladder in ladders.items()}

    def choose(example: Example) -> Leaf | None:
        key, m = _key(example, 0), example.asked.m
        others = [rung for rung in rungs.get(key, ()) if rung != m]
        above = next((rung for rung in others if rung > m), None)
        taken = above if above is not None else (others[-1] if others else None)
        return None if taken is None else ladders[key][taken]

    return choose


def _key(example: Example, m: int) -> tuple[Any, ...]:
    return *example.group, example.asked.cu_num, m


def cross_validated(examples: Sequence[Example], module: str, arch: str, growth: Growth, folds: int) -> Chooser:
    """A rule for each fold of (batch, N, K), fitted to the others: no layer is judged by a rule that has seen it."""
    fitter = Fitter(examples, module, arch)
    chosen: dict[tuple[int, ...], Chooser] = {}
    for held in folds_of(examples, folds):
        rule, _ = fitter.fit([index for index, one in enumerate(examples) if one.group not in held], growth)
        chosen |= dict.fromkeys(held, ruled(rule))
    return lambda example: chosen[example.group](example)


def folds_of(examples: Sequence[Example], folds: int) -> Iterator[frozenset[tuple[int, int, int]]]:
    """Layers in so many folds, as even in rows as the largest first, each to the emptiest, makes them."""
    rows = Counter(example.group for example in examples)
    filled: list[tuple[int, list[tuple[int, int, int]]]] = [(0, []) for _ in range(min(folds, len(rows)))]
    for group in sorted(rows, key=lambda one: (-rows[one], one)):
        index = min(range(len(filled)), key=lambda i: (filled[i][0], i))
        filled[index] = filled[index][0] + rows[group], [*filled[index][1], group]
    return (frozenset(groups) for _, groups in filled)
