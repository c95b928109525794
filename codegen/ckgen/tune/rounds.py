"""The rounds of an exhaustive tune: which candidates a further one times."""

from __future__ import annotations

from collections.abc import Sequence

from ckgen.measure.model import Candidate
from ckgen.tune.losses import Turn, losses
from ckgen.tune.ties import CERTAIN, MOST_TURNS, standard_error

LEAST_ROUNDS = 4
"""Of all candidates: two that choose, two that price what was chosen."""
_KNOWN, _KNOWN_PART = 0.01, 0.2
"""A loss is known to so much, or to that part of itself: how far exactly a hopeless one is behind decides nothing."""


def unsettled(turns: Sequence[Turn]) -> tuple[Candidate, ...]:
    """Those whose loss to the fastest is not known well enough, and beside them the fastest; none: all are, or there
    were rounds enough."""
    every = sorted({one for turn in turns for one in turn})
    if len(turns) < LEAST_ROUNDS:
        return tuple(every)
    found = losses(turns)
    if found is None or len(turns) >= MOST_TURNS:
        return ()
    unsure = [
        one
        for one, loss in found.of.items()
        if one != found.best
        and (not loss.count or CERTAIN * standard_error(loss) > max(_KNOWN, _KNOWN_PART * loss.value))
    ]
    return tuple(sorted([found.best, *unsure])) if unsure else ()
