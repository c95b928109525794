"""Grows a tree that loses the least time: a split is worth what it saves, or half of what it saves with a further one.

A further one is looked at because two may save what neither does: of tiles of 16 and of 32 rows the taller wins at 24
and at 64 rows, the other at 16 and at 48.

What is summed is the logarithm of a candidate's time over the best of its problem, so that the tree's loss is that of
the geometric mean of regrets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy.typing as npt

_DIGITS = 9
"""Of sums: what differs less is equal, on any machine."""
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
    split that is worth most comes first; of equals the first feature's, then the least limit's.
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
    """The fewest leaves that lose no more on folds that the tree did not see than the best number, but for a standard
    error of the difference.

    folds: masks of examples, each held out in turn.
    """
    import numpy as np

    lost = np.zeros((leaves, len(values)))
    for held in folds:
        stages = grow(values[~held], losses[~held], leaves, least)
        of = [losses[held][range(held.sum()), chosen(stage, values[held])] for stage in stages]
        lost[:, held] = np.array(of + of[-1:] * (leaves - len(of)))
    more = lost - lost[lost.sum(axis=1).argmin()]
    errors = more.std(axis=1, ddof=1) / np.sqrt(len(values))
    return int(np.argmax(np.round(more.mean(axis=1), _DIGITS) <= errors)) + 1


def _node(rows: npt.NDArray[Any], losses: npt.NDArray[Any]) -> Grown:
    totals = losses[rows].sum(axis=0)
    order = totals.argsort(kind="stable")
    return Grown(rows, tuple((int(one), float(totals[one])) for one in order))


def _best(values: npt.NDArray[Any], losses: npt.NDArray[Any], node: Grown, least: int) -> _Split | None:
    """The split that is worth most; of equals the one that gains more at once, then the first."""
    import numpy as np

    every = _splits(values[node.rows], least)
    if not every:
        return None
    sides = np.array([is_below for _, _, is_below in every], dtype=float)
    once, twice = _gains(sides, losses[node.rows], least)
    worth = np.round(np.maximum(once, twice / 2), _DIGITS)
    at = int(np.lexsort((-np.round(once, _DIGITS), -worth))[0])
    column, limit, is_below = every[at]
    return _Split(float(worth[at]), column, limit, is_below)


def _splits(values: npt.NDArray[Any], least: int) -> list[tuple[int, int, npt.NDArray[Any]]]:
    """Column, limit, and which rows are up to it: of those that part the rows alike the first."""
    import numpy as np

    found: dict[bytes, tuple[int, int, npt.NDArray[Any]]] = {}
    for column, of_rows in enumerate(values.T):
        ordered = np.sort(of_rows)
        cuts = np.nonzero(ordered[:-1] < ordered[1:])[0]
        cuts = cuts[(cuts + 1 >= least) & (len(of_rows) - cuts - 1 >= least)]
        limits = (ordered[cuts] + ordered[cuts + 1]) // 2
        for limit, is_below in zip(limits, of_rows <= limits[:, None], strict=True):
            found.setdefault(is_below.tobytes(), (column, int(limit), is_below))
    return list(found.values())


def _gains(sides: npt.NDArray[Any], losses: npt.NDArray[Any], least: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """What each split saves, and what it saves with the best further one of either side.

    sides: splits × rows, 1 for those below.
    """
    import numpy as np

    whole, count = losses.sum(axis=0)[:, None], len(losses)
    below, rows = losses.T @ sides.T, sides.sum(axis=1)
    lost = below.min(axis=0), (whole - below).min(axis=0)
    # Of pairs of splits, candidates first: what is below both.
    both = np.stack([(sides * of_one) @ sides.T for of_one in losses.T])
    in_both = sides @ sides.T
    first, second, rest = below[:, :, None], below[:, None], whole[:, None]
    pieces = (
        (in_both, both, rows[:, None] - in_both, first - both),
        (rows - in_both, second - both, count - rows[:, None] - rows + in_both, rest - first - second + both),
    )
    saved = np.zeros(len(sides))
    for of_side, (rows_in, losses_in, rows_out, losses_out) in zip(lost, pieces, strict=True):
        after = losses_in.min(axis=0) + losses_out.min(axis=0)
        after[(rows_in < least) | (rows_out < least)] = np.inf
        saved = np.maximum(saved, of_side - after.min(axis=1))
    once = whole.min() - lost[0] - lost[1]
    return once, once + saved


def _gain(split: _Split | None) -> float:
    return split.gain if split is not None else 0.0


def _copy(node: Grown) -> Grown:
    sides = (_copy(side) if side is not None else None for side in (node.below, node.above))
    return Grown(node.rows, node.ranked, node.split, *sides)
