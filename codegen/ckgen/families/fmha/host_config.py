"""HOW a CPU computes attention."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ckgen.model.backend import Backend
from ckgen.model.config import Tile
from ckgen.model.hash_once import HashOnce, hash_once


@hash_once
@dataclass(frozen=True, slots=True)
class HostFmhaConfig(HashOnce):
    """Tiles of m0 rows of Q of one head by n0 keys; `threads` 0 means all that the run has."""

    backend: ClassVar[Backend] = Backend.HOST
    m0: int
    n0: int
    threads: int = 0

    @property
    def macro_tile(self) -> Tile:
        """Rows of Q and keys per step; a head is not cut."""
        return Tile(self.m0, 1, self.n0)

    @property
    def k_grain(self) -> int:
        """Keys are taken one by one at their end."""
        return 1

    @property
    def waves(self) -> None:
        """A CPU has none."""
        return

    def text(self) -> str:
        """The tile, then the threads."""
        return f"{self.m0}x{self.n0}_t{self.threads}"
