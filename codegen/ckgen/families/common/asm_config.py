"""HOW a kernel that AMD ships as a code object computes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ckgen.families.common.tiled import Tiled
from ckgen.model.backend import Backend
from ckgen.model.config import Tile
from ckgen.model.hash_once import hash_once

ASM = "asm"
"""The library's word in tables."""


@hash_once
@dataclass(frozen=True, slots=True)
class AsmConfig(Tiled):
    """One kernel of an asm_kernels.json: `kind` says how it is called, `name` which one it is."""

    backend: ClassVar[Backend] = Backend.ASM
    kind: str
    name: str
    tile: Tile

    @property
    def waves(self) -> None:
        """How they share the tile is not told."""
        return

    def text(self) -> str:
        """The kernel's own name, unmangled."""
        return self.name
