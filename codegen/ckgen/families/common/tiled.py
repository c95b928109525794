"""What Configs share whose `tile` is what one workgroup computes, in elements or in packs of them along K."""

from __future__ import annotations

from ckgen.model.config import Tile
from ckgen.model.hash_once import HashOnce


class Tiled(HashOnce):
    """Base of such Configs; they are dataclasses with a field `tile`."""

    __slots__ = ()
    tile: Tile

    @property
    def macro_tile(self) -> Tile:
        """What one workgroup computes per K step."""
        return self.tile

    @property
    def k_grain(self) -> int:
        """The smallest K step that the main loop takes, in elements."""
        return self.tile.k


class PackedTiled(HashOnce):
    """Base of Configs whose `tile.k` counts packs of `k_pack` elements; dataclasses with these fields."""

    __slots__ = ()
    tile: Tile
    k_pack: int

    @property
    def macro_tile(self) -> Tile:
        """What one workgroup computes per K step, in elements."""
        return Tile(self.tile.m, self.tile.n, self.k_grain)

    @property
    def k_grain(self) -> int:
        """The smallest K step that the main loop takes, in elements."""
        return self.tile.k * self.k_pack
