"""HOW GPU kernels compute the gradients of attention: ck_tile's, and ckgen's own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ckgen.families.common.config_words import Ints3
from ckgen.families.fmha.fma_tile import FmaTiled
from ckgen.model.backend import Backend
from ckgen.model.config import Tile
from ckgen.model.hash_once import HashOnce, hash_once

WAVES = 4


@hash_once
@dataclass(frozen=True, slots=True)
class CkTileBackwardConfig(HashOnce):
    """A workgroup has n0 keys of one query head and takes m0 rows of Q at a time, of heads of up to hdim elements.

    k4: keys at once of the product for dQ, along whose rows dq_waves of four waves stand. pad: both head dims are hdim
    (0), or multiples of it (8 or 1). grouped: dK and dV are summed over the query heads of a KV head, behind the
    kernel; else each KV head has one. ordered: each tile of keys writes dQ of its own, summed in their order behind the
    kernel; else tiles add to one.
    """

    backend: ClassVar[Backend] = Backend.CK_TILE
    pad: int
    m0: int
    n0: int
    k4: int
    hdim: int
    dq_waves: int
    grouped: bool = False
    ordered: bool = False

    @property
    def waves(self) -> Ints3:
        """Waves share the keys."""
        return (WAVES, 1, 1)

    @property
    def macro_tile(self) -> Tile:
        """Rows and columns of dK per workgroup, and rows of Q per step."""
        return Tile(self.n0, self.hdim, self.m0)

    @property
    def k_grain(self) -> int:
        """Rows of Q per step."""
        return self.m0

    def text(self) -> str:
        """Padding, tile, waves along rows of dQ; then whether heads are summed, and tiles of keys in order."""
        tile = f"{self.m0}x{self.n0}x{self.k4}x{self.hdim}"
        words = ("_grouped" if self.grouped else "") + ("_ordered" if self.ordered else "")
        return f"bwd_pad{self.pad}_{tile}_{self.dq_waves}{words}"


@hash_once
@dataclass(frozen=True, slots=True)
class HipBackwardConfig(FmaTiled):
    """A workgroup has m0 rows of Q or n0 keys, and takes as many of the others at a time, of heads of up to hdim."""

    m0: int
    n0: int
    hdim: int

    @property
    def macro_tile(self) -> Tile:
        """Rows and columns of dK per workgroup, and rows of Q per step."""
        return Tile(self.n0, self.hdim, self.m0)

    def text(self) -> str:
        """The tile and the head dim."""
        return f"bwd_{self.m0}x{self.n0}x{self.hdim}"
