"""HOW a GEMM is computed by a kernel that AMD ships as a code object."""

from __future__ import annotations

from dataclasses import dataclass

from ckgen.model.config import Tile

ASM = "asm"
"""The library's word in tables."""


@dataclass(frozen=True, slots=True)
class AsmConfig:
    """One kernel of asm_kernels.json: `kind` says how it is called, `name` which one it is."""

    kind: str
    name: str
    tile: Tile

    @property
    def macro_tile(self) -> Tile:
        """What one workgroup computes per K step."""
        return self.tile

    @property
    def k_grain(self) -> int:
        """The smallest K step that the main loop takes, in elements."""
        return self.tile.k

    @property
    def waves(self) -> None:
        """How they share the tile is not told."""
        return

    def text(self) -> str:
        """The kernel's own name, unmangled."""
        return self.name
