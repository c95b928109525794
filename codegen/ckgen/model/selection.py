"""Where a choice came from, and what it is: the same words in Python and C++."""

from __future__ import annotations

from dataclasses import dataclass

from ckgen.model.op_words import Tier as Tier
from ckgen.model.strategy import Strategy


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a caller asks beyond the sizes.

    `deterministic` refuses results that depend on workgroup order, `strategy` all instances of another one.
    """

    deterministic: bool = False
    strategy: Strategy = Strategy.ANY


NO_WISHES = Wishes()
