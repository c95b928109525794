"""HOW GPU kernels append to a cache: ck_tile's, and ckgen's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ckgen.model.backend import Backend
from ckgen.model.config import Tile
from ckgen.model.hash_once import HashOnce, hash_once

WAVES = 4


@hash_once
@dataclass(frozen=True, slots=True)
class CkTileAppendConfig(HashOnce):
    """A workgroup has m0 rows of Q and n0 new rows of one head, of up to hdim elements.

    Pads: rows of Q need not be whole tiles, nor head dims hdim.
    """

    backend: ClassVar[Backend] = Backend.CK_TILE
    m0: int
    n0: int
    hdim: int
    pad_q: bool = True
    pad_hdim_q: bool = True
    pad_hdim_v: bool = True

    @property
    def waves(self) -> tuple[int, int, int]:
        """Waves share the rows."""
        return (WAVES, 1, 1)

    @property
    def macro_tile(self) -> Tile:
        """Rows and columns per workgroup."""
        return Tile(self.n0, self.hdim, 1)

    @property
    def k_grain(self) -> int:
        """Nothing is summed up."""
        return 1

    def text(self) -> str:
        """Padding of Q's rows, of new ones, of both head dims; then the tile."""
        pads = "".join(str(int(pad)) for pad in (self.pad_q, True, self.pad_hdim_q, self.pad_hdim_v))
        return f"append_pad{pads}_{self.m0}x{self.n0}x{self.hdim}"


@hash_once
@dataclass(frozen=True, slots=True)
class HipAppendConfig(HashOnce):
    """A workgroup has `rows` tokens of a sequence, of WAVES heads of K, V or Q."""

    backend: ClassVar[Backend] = Backend.HIP
    rows: int

    @property
    def waves(self) -> tuple[int, int, int]:
        """Waves share the heads."""
        return (1, WAVES, 1)

    @property
    def macro_tile(self) -> Tile:
        """Rows per workgroup; a head is not cut."""
        return Tile(self.rows, 1, 1)

    @property
    def k_grain(self) -> int:
        """Nothing is summed up."""
        return 1

    def text(self) -> str:
        """The rows."""
        return f"append_{self.rows}"
