"""Where a choice came from, and what it is: the same words in Python and C++."""

from __future__ import annotations

from dataclasses import dataclass

from ckgen.model.op_words import Tier as Tier
from ckgen.model.strategy import Strategy


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a caller asks beyond the sizes.

    `deterministic` refuses results that depend on workgroup order, `strategy` all instances of another one.
    `batch_invariant` asks for one order of additions for every M, and so for `deterministic` too.
    """

    deterministic: bool = False
    strategy: Strategy = Strategy.ANY
    batch_invariant: bool = False

    def __post_init__(self) -> None:
        if self.batch_invariant:
            object.__setattr__(self, "deterministic", True)


NO_WISHES = Wishes()
