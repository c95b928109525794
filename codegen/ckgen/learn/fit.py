"""Fits a decision tree to costs where journals tell them, else by scikit-learn to winners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import floor
from typing import TYPE_CHECKING, Any

from ckgen.families.common.decision_rule import DecisionRule, Leaf, parse_rule
from ckgen.learn.cost_fit import fit_costs
from ckgen.learn.examples import Example, tiles_of
from ckgen.learn.features import FeatureOfTile, features_of, matrix
from ckgen.learn.growth import Fitted, Growth, leaf_document
from ckgen.model.errors import UsageError

if TYPE_CHECKING:
    import numpy.typing as npt


def fit(examples: Sequence[Example], module: str, arch: str, growth: Growth) -> tuple[DecisionRule, Fitted]:
    """The rule, and it as data. The same examples in the same order give the same tree.

    `module` is that of tables, or the signature of journals' examples. UsageError without scikit-learn, which costs do
    not need, and where some examples have costs and others none.
    """
    return Fitter(examples, module, arch).fit(range(len(examples)), growth)


@dataclass(frozen=True)
class Fitter:
    """Examples of which some are fitted to, again and again."""

    examples: Sequence[Example]
    module: str
    arch: str

    @cached_property
    def _features(self) -> tuple[FeatureOfTile, ...]:
        return features_of(tiles_of(_leaves(self.examples), self.module))

    @cached_property
    def _matrix(self) -> npt.NDArray[Any]:
        return matrix(self._features, [example.asked for example in self.examples])

    def fit(self, chosen: Sequence[int], growth: Growth) -> tuple[DecisionRule, Fitted]:
        """See `fit`; to the examples of these indices, over features of the tiles of all examples' kernels."""
        examples = [self.examples[index] for index in chosen]
        features, values = self._features, self._matrix[list(chosen)]
        timed = sum(bool(example.costs) for example in examples)
        if timed not in (0, len(examples)):
            raise UsageError("a rule is fitted to journals or to tables, not to both")
        fitted = (
            fit_costs(values, features, examples, growth) if timed else _fit_winners(values, features, examples, growth)
        )
        return parse_rule({"module": self.module, **fitted}, self.arch), fitted


def _leaves(examples: Sequence[Example]) -> set[Leaf]:
    """What won, or could have."""
    return {leaf for example in examples for leaf in (example.winner, *example.costs)}


def _fit_winners(
    values: npt.NDArray[Any], features: Sequence[FeatureOfTile], examples: Sequence[Example], growth: Growth
) -> Fitted:
    grown, winners = _grown(values, [one.winner for one in examples], growth)
    read = _Read(features, winners, growth.unsure, grown.tree_, [])
    tree = read.tree(0)
    return {"leaves": [leaf_document(leaf) for leaf in read.leaves], "tree": tree}


def _grown(values: npt.NDArray[Any], labels: Sequence[Leaf], growth: Growth) -> tuple[Any, list[Leaf]]:
    """A classifier, and its classes in order."""
    try:
        from sklearn.tree import DecisionTreeClassifier  # type: ignore[import-untyped]
    except ImportError as error:
        raise UsageError("fitting needs scikit-learn: pip install 'ckgen[learn]'") from error
    winners = sorted(set(labels))
    number = {winner: index for index, winner in enumerate(winners)}
    grown = DecisionTreeClassifier(max_leaf_nodes=max(growth.leaves, 2), min_samples_leaf=growth.least, random_state=0)
    grown.fit(values, [number[label] for label in labels])
    return grown, [winners[index] for index in grown.classes_]


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
