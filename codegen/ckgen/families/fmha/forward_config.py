"""HOW ckgen's own HIP kernel computes attention of any options."""

from __future__ import annotations

from dataclasses import dataclass

from ckgen.families.fmha.fma_tile import FmaTiled
from ckgen.model.config import Tile
from ckgen.model.hash_once import hash_once


@hash_once
@dataclass(frozen=True, slots=True)
class HipForwardConfig(FmaTiled):
    """A workgroup has m0 rows, queries x query heads of one KV head, of heads of up to hdim; a step takes n0 keys."""

    m0: int
    n0: int
    hdim: int

    @property
    def macro_tile(self) -> Tile:
        """Rows and columns of V per workgroup, and keys per step."""
        return Tile(self.m0, self.hdim, self.n0)

    def text(self) -> str:
        """The tile and the head dim."""
        return f"fwd_{self.m0}x{self.n0}x{self.hdim}"
