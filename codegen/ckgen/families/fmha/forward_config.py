"""HOW ckgen's own HIP kernel computes attention of any options."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ckgen.families.common.config_words import Ints3
from ckgen.model.backend import Backend
from ckgen.model.config import Tile
from ckgen.model.hash_once import HashOnce, hash_once

WAVES = 4


@hash_once
@dataclass(frozen=True, slots=True)
class HipForwardConfig(HashOnce):
    """A workgroup has m0 rows, queries x query heads of one KV head, of heads of up to hdim; a step takes n0 keys."""

    backend: ClassVar[Backend] = Backend.HIP
    m0: int
    n0: int
    hdim: int

    @property
    def waves(self) -> Ints3:
        """Work-items share rows and keys."""
        return (WAVES, 1, 1)

    @property
    def macro_tile(self) -> Tile:
        """Rows and columns of V per workgroup, and keys per step."""
        return Tile(self.m0, self.hdim, self.n0)

    @property
    def k_grain(self) -> int:
        """Keys are taken one by one at their end."""
        return 1

    def text(self) -> str:
        """The tile and the head dim."""
        return f"fwd_{self.m0}x{self.n0}x{self.hdim}"
