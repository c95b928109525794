"""How M between and beyond the measured sizes is answered: data that Python and the emitted tables share."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path


class MPolicy(Enum):
    """LADDER is ckgen's own; AITER reproduces the peer's rounding of M."""

    LADDER = "ladder"
    AITER = "aiter"


@dataclass(frozen=True, slots=True)
class NearGap:
    """Rounding up is `near` while M' <= max(M + add, M * factor); beyond it is `far`."""

    add: int
    factor: int

    def holds(self, m: int, measured: int) -> bool:
        """Whether the measured size answers m as `near`."""
        return measured <= max(m + self.add, m * self.factor)


@cache
def near_gap() -> NearGap:
    """The gap in selection_policy.json."""
    data = json.loads((Path(__file__).with_name("selection_policy.json")).read_text(encoding="utf-8"))
    return NearGap(add=data["near_add"], factor=data["near_factor"])
