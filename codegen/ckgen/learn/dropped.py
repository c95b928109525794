"""What a rule loses where instances come and go and it is not fitted again."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ckgen.families.common.decision_rule import Leaf
from ckgen.learn.examples import Example
from ckgen.learn.growth import Growth
from ckgen.learn.judge import Regret, cross_validated, held_out, regret_of


def without(examples: Iterable[Example], gone: frozenset[Leaf]) -> tuple[Example, ...]:
    """The examples as they are of a library that lacks these. What selection takes of it is not known where it took one
    of them; a problem of which nothing is left is left out."""
    found = []
    for one in examples:
        costs = {leaf: cost for leaf, cost in one.costs.items() if leaf not in gone}
        if costs:
            winner = min(costs, key=lambda leaf: (costs[leaf].us, leaf))
            selected = one.selected if one.selected not in gone else None
            found.append(replace(one, costs=costs, winner=winner, us=costs[winner].us, selected=selected))
    return tuple(found)


def draws(examples: Sequence[Example], part: float, seeds: int) -> Iterator[frozenset[Leaf]]:
    """For each seed that part of the instances; each has all its splits."""
    kernels = sorted({(leaf.library, leaf.kernel) for one in examples for leaf in one.costs})
    leaves = {leaf for one in examples for leaf in one.costs}
    for seed in range(seeds):
        gone = set(random.Random(seed).sample(kernels, round(part * len(kernels))))
        yield frozenset(leaf for leaf in leaves if (leaf.library, leaf.kernel) in gone)


def removed(
    examples: Sequence[Example], module: str, arch: str, growth: Growth, folds: int, drawn: Iterable[frozenset[Leaf]]
) -> Regret:
    """Fitted with all instances, judged without those drawn, against the best of what is left; layers held out.

    Where no choice of a leaf is left, any that is left may answer: the mean of them counts.
    """
    rules = held_out(examples, module, arch, growth, folds)
    regrets: list[float] = []
    for gone in drawn:
        choose = cross_validated(rules, lambda leaf, gone=gone: leaf not in gone)  # type: ignore[misc]
        regrets += (_regret(one, choose(one)) for one in without(examples, gone))
    return regret_of(regrets)


def added(
    examples: Sequence[Example], module: str, arch: str, growth: Growth, folds: int, drawn: Iterable[frozenset[Leaf]]
) -> Regret:
    """Fitted without those drawn, judged against the best of all; layers held out."""
    regrets: list[float] = []
    for gone in drawn:
        choose = cross_validated(held_out(without(examples, gone), module, arch, growth, folds))
        regrets += (_regret(one, choose(one)) for one in examples)
    return regret_of(regrets)


def _regret(example: Example, chosen: Leaf | None) -> float:
    found = example.regret(chosen)
    if found is None:
        found = sum(cost.us for cost in example.costs.values()) / len(example.costs) / example.costs[example.winner].us
    return found
