"""Layers in folds: what a rule is judged by is of no layer that it was fitted to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from ckgen.learn.examples import Example


def folds_of(examples: Sequence[Example], folds: int) -> Iterator[frozenset[tuple[int, int, int]]]:
    """Layers in so many folds, as even in rows as the largest first, each to the emptiest, makes them."""
    rows = Counter(example.group for example in examples)
    filled: list[tuple[int, list[tuple[int, int, int]]]] = [(0, []) for _ in range(min(folds, len(rows)))]
    for group in sorted(rows, key=lambda one: (-rows[one], one)):
        index = min(range(len(filled)), key=lambda i: (filled[i][0], i))
        filled[index] = filled[index][0] + rows[group], [*filled[index][1], group]
    return (frozenset(groups) for _, groups in filled)
