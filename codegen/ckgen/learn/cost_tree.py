"""Grows a tree that loses the least time: each split is the one after which the best kernel of either side loses least.

What is summed is the logarithm of a candidate's time over the best of its problem, so that the tree's loss is that of
the geometric mean of regrets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy.typing as npt

UNTIMED = 10.0
"""Times the best: what a candidate is taken to cost where it could not be timed."""


@dataclass(slots=True)
class Grown:
    """A node. `ranked`: candidates by what they lose on the node's examples, the best first, with that loss; `split` is
    a column and the limit up to which `below` answers, where it is no leaf."""

    rows: npt.NDArray[Any]
    ranked: tuple[tuple[int, float], ...]
    split: tuple[int, int] | None = None
    below: Grown | None = None
    above: Grown | None = None

    @property
    def loss(self) -> float:
        """Of all its examples, with one candidate."""
        return self.ranked[0][1]


@dataclass(frozen=True, slots=True)
class _Split:
    gain: float
    column: int
    limit: int
    is_below: npt.NDArray[Any]


def grow(values: npt.NDArray[Any], losses: npt.NDArray[Any], leaves: int, least: int) -> list[Grown]:
    """The tree after each split, as copies that share no nodes: of one leaf, of two, and so on to at most `leaves`.

    values: examples × features, integers. losses: examples × candidates, logarithms. least: examples of a leaf. The
    split that gains most comes first; of equal gains the first feature's, then the least limit's.
    """
    import numpy as np

    root = _node(np.arange(len(values)), losses)
    open_: list[tuple[Grown, _Split | None]] = [(root, _best(values, losses, root, least))]
    stages = [_copy(root)]
    while len(stages) < leaves:
        at = max(range(len(open_)), key=lambda i: _gain(open_[i][1]))
        node, split = open_[at]
        if split is None or _gain(split) <= 0:
            break
        node.split = split.column, split.limit
        node.below = _node(node.rows[split.is_below], losses)
        node.above = _node(node.rows[~split.is_below], losses)
        open_[at : at + 1] = [(side, _best(values, losses, side, least)) for side in (node.below, node.above)]
        stages.append(_copy(root))
    return stages


def chosen(tree: Grown, values: npt.NDArray[Any]) -> list[int]:
    """The candidate of the leaf that each row of values leads to."""
    found = []
    for row in values:
        at = tree
        while at.split is not None:
            assert at.below is not None and at.above is not None
            at = at.below if row[at.split[0]] <= at.split[1] else at.above
        found.append(at.ranked[0][0])
    return found


def right_size(
    values: npt.NDArray[Any], losses: npt.NDArray[Any], folds: Sequence[npt.NDArray[Any]], leaves: int, least: int
) -> int:
    """The number of leaves that loses least on folds that the tree did not see; of equals the fewest.

    folds: masks of examples, each held out in turn.
    """
    import numpy as np

    totals = np.zeros(leaves)
    for held in folds:
        stages = grow(values[~held], losses[~held], leaves, least)
        sums = [losses[held][range(held.sum()), chosen(stage, values[held])].sum() for stage in stages]
        totals += np.array(sums + sums[-1:] * (leaves - len(sums)))
    return int(totals.argmin()) + 1


def _node(rows: npt.NDArray[Any], losses: npt.NDArray[Any]) -> Grown:
    totals = losses[rows].sum(axis=0)
    order = totals.argsort(kind="stable")
    return Grown(rows, tuple((int(one), float(totals[one])) for one in order))


def _best(values: npt.NDArray[Any], losses: npt.NDArray[Any], node: Grown, least: int) -> _Split | None:
    import numpy as np

    found: _Split | None = None
    count = len(node.rows)
    for column in range(values.shape[1]):
        of_rows = values[node.rows, column]
        order = of_rows.argsort(kind="stable")
        ordered, sums = of_rows[order], losses[node.rows[order]].cumsum(axis=0)
        cuts = np.nonzero(ordered[:-1] < ordered[1:])[0]
        cuts = cuts[(cuts + 1 >= least) & (count - cuts - 1 >= least)]
        if not len(cuts):
            continue
        after = sums[cuts].min(axis=1) + (sums[-1] - sums[cuts]).min(axis=1)
        at = int(after.argmin())
        gain = node.loss - float(after[at])
        if gain > _gain(found) + 1e-12:
            limit = int(ordered[cuts[at]] + ordered[cuts[at] + 1]) // 2
            found = _Split(gain, column, limit, of_rows <= limit)
    return found


def _gain(split: _Split | None) -> float:
    return split.gain if split is not None else 0.0


def _copy(node: Grown) -> Grown:
    sides = (_copy(side) if side is not None else None for side in (node.below, node.above))
    return Grown(node.rows, node.ranked, node.split, *sides)
