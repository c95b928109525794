"""A line of a table of ckgen's own, as its family makes a row of it."""

from __future__ import annotations

from dataclasses import dataclass

from ckgen.model.diagnostic import Location
from ckgen.model.target import Target


@dataclass(frozen=True, slots=True)
class ToldRow:
    """Its cells. A number that the line leaves empty is 0, but for `splits` and `us`: None.

    `kernel` is the name of an instance of `signature`, which is the canonical name. `sizes` is the text of the column.
    """

    location: Location
    layer: int
    target: Target
    signature: str
    batch: int
    m: int
    n: int
    k: int
    experts: int
    top_k: int
    sizes: str
    kernel: str
    splits: int | None
    us: float | None
