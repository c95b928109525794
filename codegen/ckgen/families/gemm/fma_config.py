"""HOW ckgen's own kernels of fused multiply-adds compute any product, where no faster kernel does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ckgen.families.common.tiled import Tiled
from ckgen.model.backend import Backend
from ckgen.model.config import Tile
from ckgen.model.hash_once import hash_once

LANES = 256
"""Work-items of a workgroup, 16 along M and N."""
EDGE = 16


@hash_once
@dataclass(frozen=True, slots=True)
class FmaConfig(Tiled):
    """A workgroup of 256 computes `tile`, without matrix instructions; sums are fp32 or int32."""

    backend: ClassVar[Backend] = Backend.HIP
    tile: Tile

    @property
    def waves(self) -> None:
        """As many as 256 work-items are on the arch."""
        return

    @property
    def lds_bytes(self) -> int:
        """Of a workgroup: a step of A and of B, of 32 bits an element."""
        return (self.tile.m + self.tile.n) * self.tile.k * 4

    def text(self) -> str:
        """The tile."""
        return f"fma_{self.tile}"
