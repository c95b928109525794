"""In which order and grouping a kernel adds up one element of its result: what docs/batch_invariance.md rests on."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache

MOST_UNORDERED = 2
"""Parts that are added to zero one by one, in any order, with one result: 0 + a + b = 0 + b + a."""
ORDER_M = 128
"""The M that a default's cost is counted at where no ladder says the order: `kOrderM` of select/walk_order.hpp."""


@dataclass(frozen=True, slots=True)
class Order:
    """Words that are equal where the order of additions is: unsplit, and split, then in as many splits.

    Empty: the order depends on M, or is not known.
    """

    whole: str = ""
    split: str = ""

    @property
    def numbers(self) -> tuple[int, int]:
        """Both as ckgen::OrderClass has them; 0 where there is none."""
        return _number(self.whole), _number(self.split)

    def of(self, k_batch: int, *, adds_atomically: bool = False) -> OrderIn:
        """The order in so many splits; of 0 none is known, of atomic parts up to two."""
        whole, split = self.numbers
        if k_batch == 0 or (adds_atomically and k_batch > MOST_UNORDERED):
            return OrderIn()
        return OrderIn(whole if k_batch == 1 else split, k_batch)


@dataclass(frozen=True, slots=True)
class OrderIn:
    """An order of additions in so many splits; number 0: none that is the same for every M."""

    number: int = 0
    k_batch: int = 1


NO_ORDER = Order()


@cache
def _number(words: str) -> int:
    """32 bits of a digest of the words."""
    return int.from_bytes(hashlib.sha256(words.encode()).digest()[:4], "big") if words else 0
