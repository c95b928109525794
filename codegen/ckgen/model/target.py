"""What is built for: an arch, a compute-unit count, and the product where several have that count."""

from __future__ import annotations

from typing import NamedTuple


class Target(NamedTuple):
    """An arch name and the count that its device reports; on a CPU the count is the number of cores.

    `sku` is `ArchSpec.skus[…].word` of one product; empty: any that reports the count.
    """

    gfx: str
    cu_num: int
    sku: str = ""

    def __str__(self) -> str:
        return ":".join((self.gfx, str(self.cu_num), *filter(None, (self.sku,))))

    @property
    def any_sku(self) -> Target:
        """The same, whatever the product."""
        return Target(self.gfx, self.cu_num)

    def concerns(self, other: Target) -> bool:
        """Whether what is said of the other may be about devices of this one: equal but for a product that one of the
        two leaves open."""
        return self[:2] == other[:2] and (not self.sku or not other.sku or self.sku == other.sku)
