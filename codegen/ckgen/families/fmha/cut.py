"""What a kernel of gradients cuts towards zero, where others round to the nearest."""

from __future__ import annotations

from enum import StrEnum


class Cut(StrEnum):
    """Of numbers that become 16 bits. dQ is never cut: it is summed in fp32, and another kernel rounds it."""

    NOTHING = "nothing"
    FACTORS = "factors"
    """P and dS, that go into products."""
    ALL = "all"
    """dK and dV too."""

    @property
    def of_results(self) -> bool:
        """Whether dK and dV are cut."""
        return self is Cut.ALL
