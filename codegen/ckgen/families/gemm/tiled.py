"""What Configs share whose `tile` is what one workgroup computes."""

from __future__ import annotations

from ckgen.model.config import Tile


class Tiled:
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
