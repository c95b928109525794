"""Fits a tree to what every candidate costs, and writes it as a rule with the next best of each leaf."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ckgen.families.common.decision_rule import Leaf
from ckgen.learn.cost_tree import UNTIMED, Grown, grow, right_size
from ckgen.learn.examples import Example
from ckgen.learn.features import FeatureOfTile
from ckgen.learn.folds import folds_of
from ckgen.learn.growth import Fitted, Growth, leaf_document

if TYPE_CHECKING:
    import numpy.typing as npt

OTHERS = 3
"""Choices behind that of a leaf."""
KERNELS, GAIN = 8, 0.002
"""See few_of."""
_FOLDS = 8


def fit_costs(
    values: npt.NDArray[Any], features: Sequence[FeatureOfTile], examples: Sequence[Example], growth: Growth
) -> Fitted:
    """A rule's leaves and tree. It has as many leaves as lose least on layers that were held out, `growth.leaves` at
    most; a leaf whose kernel loses more than the part `growth.unsure` in the mean has no answer."""
    import numpy as np

    candidates = sorted({leaf for example in examples for leaf in example.costs})
    losses = np.array([[_loss(example, leaf) for leaf in candidates] for example in examples])
    groups = [example.group for example in examples]
    folds = [np.array([group in held for group in groups]) for held in folds_of(examples, _FOLDS)]
    few, leaves = few_of(losses), growth.leaves
    if len(folds) > 1:
        leaves = right_size(values, losses[:, few], folds, growth.leaves, growth.least)
    tree = grow(values, losses[:, few], leaves, growth.least)[-1]
    read = _Read(features, candidates, few, losses, growth.unsure, [])
    found = read.tree(tree)
    return {"leaves": read.leaves, "tree": found}


def few_of(losses: npt.NDArray[Any], most: int = KERNELS, gain: float = GAIN) -> list[int]:
    """Candidates, at most so many, of which the best loses little: each is the one that helps most beside those before,
    until none saves the part `gain` of the time in the mean. A rule's kernels are built, so they should be few; and of
    many that are equal but for noise the luckiest would be taken."""
    import numpy as np

    found = [int(losses.sum(axis=0).argmin())]
    while len(found) < most:
        best = losses[:, found].min(axis=1)
        totals = np.minimum(losses, best[:, None]).sum(axis=0)
        one = int(totals.argmin())
        if best.sum() - totals[one] < gain * len(losses):
            break
        found.append(one)
    return found


def _loss(example: Example, leaf: Leaf) -> float:
    cost = example.costs.get(leaf)
    return math.log(cost.us / example.costs[example.winner].us if cost is not None else UNTIMED)


@dataclass(frozen=True, slots=True)
class _Read:
    features: Sequence[FeatureOfTile]
    candidates: Sequence[Leaf]
    few: Sequence[int]
    losses: npt.NDArray[Any]
    unsure: float
    leaves: list[dict[str, Any]]

    def tree(self, at: Grown) -> Any:
        """What grew at a node; a split whose sides agree is none."""
        if at.split is None:
            return self._leaf(at)
        assert at.below is not None and at.above is not None
        column, limit = at.split
        then, otherwise = self.tree(at.below), self.tree(at.above)
        condition = str(self.features[column].at_most(limit))
        return then if then == otherwise else {"if": condition, "then": then, "else": otherwise}

    def _leaf(self, at: Grown) -> int | None:
        if math.exp(at.loss / len(at.rows)) > 1 + self.unsure:
            return None
        first, totals = self.few[at.ranked[0][0]], self.losses[at.rows].sum(axis=0)
        behind = [int(index) for index in totals.argsort(kind="stable") if index != first][:OTHERS]
        best, *others = (self.candidates[index] for index in (first, *behind))
        document = leaf_document(best) | ({"others": list(map(leaf_document, others))} if others else {})
        if document not in self.leaves:
            self.leaves.append(document)
        return self.leaves.index(document)
