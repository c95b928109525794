"""Fits a decision tree, by scikit-learn, and writes it as a rule: integers, and kernels by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor
from typing import TYPE_CHECKING, Any

from ckgen.families.common.decision_rule import DecisionRule, Leaf, parse_rule
from ckgen.learn.examples import Example, tiles_of
from ckgen.learn.features import FeatureOfTile, features_of, matrix
from ckgen.model.errors import UsageError

if TYPE_CHECKING:
    import numpy.typing as npt

Fitted = Mapping[str, Any]
"""A rule's `leaves` and `tree`, as parse_rule reads them."""


@dataclass(frozen=True, slots=True)
class Growth:
    """How far a tree grows.

    leaves: at most so many. least: examples of a leaf. unsure: a leaf whose most frequent winner has a smaller share of
    its examples has no answer, and the tiers below it do.
    """

    leaves: int = 48
    least: int = 3
    unsure: float = 0.25


def fit(examples: Sequence[Example], module: str, arch: str, growth: Growth) -> tuple[DecisionRule, Fitted]:
    """The rule, and it as data. The same examples in the same order give the same tree.

    UsageError without scikit-learn.
    """
    try:
        from sklearn.tree import DecisionTreeClassifier  # type: ignore[import-untyped]
    except ImportError as error:
        raise UsageError("fitting needs scikit-learn: pip install 'ckgen[learn]'") from error
    features = features_of(tiles_of(examples, module))
    winners = sorted({example.winner for example in examples})
    number = {winner: index for index, winner in enumerate(winners)}
    labels = [number[example.winner] for example in examples]
    grown = DecisionTreeClassifier(max_leaf_nodes=max(growth.leaves, 2), min_samples_leaf=growth.least, random_state=0)
    grown.fit(matrix(features, [example.asked for example in examples]), labels)
    read = _Read(features, [winners[index] for index in grown.classes_], growth.unsure, grown.tree_, [])
    tree = read.tree(0)
    fitted = {"leaves": [_document(leaf) for leaf in read.leaves], "tree": tree}
    return parse_rule({"module": module, **fitted}, arch), fitted


@dataclass(frozen=True, slots=True)
class _Read:
    features: Sequence[FeatureOfTile]
    winners: Sequence[Leaf]
    unsure: float
    grown: Any
    leaves: list[Leaf]

    def tree(self, at: int) -> Any:
        """What grew at a node; a split whose sides agree is none."""
        below, above = int(self.grown.children_left[at]), int(self.grown.children_right[at])
        if below < 0:
            return self._leaf(self.grown.value[at][0])
        condition = self.features[int(self.grown.feature[at])].at_most(floor(self.grown.threshold[at]))
        then, otherwise = self.tree(below), self.tree(above)
        return then if then == otherwise else {"if": str(condition), "then": then, "else": otherwise}

    def _leaf(self, shares: npt.NDArray[Any]) -> int | None:
        best = int(shares.argmax())
        if shares[best] / shares.sum() < self.unsure:
            return None
        leaf = self.winners[best]
        if leaf not in self.leaves:
            self.leaves.append(leaf)
        return self.leaves.index(leaf)


def _document(leaf: Leaf) -> dict[str, Any]:
    splits = {"k_batch": leaf.k_batch} if leaf.k_batch > 1 else {}
    return {"library": leaf.library, "kernel": leaf.kernel} | splits
