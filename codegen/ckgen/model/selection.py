"""Where a choice came from, and what it is: the same words in Python and C++."""

from __future__ import annotations

from dataclasses import dataclass

from ckgen.model.op_words import Tier as Tier
from ckgen.model.strategy import Strategy
from ckgen.model.tuned_row import Shape


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a caller asks beyond the sizes.

    `deterministic` refuses results that depend on workgroup order, `strategy` all instances of another one.
    """

    deterministic: bool = False
    strategy: Strategy = Strategy.ANY


NO_WISHES = Wishes()


@dataclass(frozen=True, slots=True)
class ProblemShape:
    """Sizes of a problem and the caller's wishes; `shape.batch` is 0 where the signature is not batched."""

    shape: Shape
    wishes: Wishes = NO_WISHES
