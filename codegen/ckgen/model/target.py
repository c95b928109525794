"""What is built for: an arch and a compute-unit count."""

from __future__ import annotations

from typing import NamedTuple


class Target(NamedTuple):
    """An arch name and the count that its device reports; on a CPU the count is the number of cores."""

    gfx: str
    cu_num: int

    def __str__(self) -> str:
        return f"{self.gfx}:{self.cu_num}"
