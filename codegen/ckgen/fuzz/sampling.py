"""Which rows of a large result are held against the definition."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Budget:
    """How many products the definition may take, and how many elements may be compared."""

    products: int
    elements: int

    def part(self, of: int) -> Budget:
        """That of each of so many."""
        return Budget(self.products // max(of, 1), self.elements // max(of, 1))

    def rows(self, count: int, products: int, elements: int, seed: int) -> Rows | None:
        """Drawn rows of `count`, each of which takes so many products and has so many elements; None where all fit.

        One of each of as many equal parts as can be had, so that no tile of that many rows is left out; never none.
        """
        most = min(self.products // max(products, 1), self.elements // max(elements, 1))
        if most >= count:
            return None
        parts = max(most, 1)
        starts = np.arange(parts + 1, dtype=np.int64) * count // parts
        random = np.random.default_rng((seed, count))
        return random.integers(starts[:-1], starts[1:])
