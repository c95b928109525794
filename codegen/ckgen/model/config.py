"""The little that shared code asks of any Config; everything else stays in its family and backend."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from ckgen.model.backend import Backend


@dataclass(frozen=True, slots=True)
class Tile:
    """M, N and K extents in elements."""

    m: int
    n: int
    k: int

    def __str__(self) -> str:
        return f"{self.m}x{self.n}x{self.k}"


class Config(Protocol):
    """HOW a Signature is computed. Implementations are frozen dataclasses, one per backend family."""

    @property
    def backend(self) -> Backend:
        """Who builds it."""
        ...

    @property
    def macro_tile(self) -> Tile:
        """What one workgroup computes per K step."""
        ...

    @property
    def k_grain(self) -> int:
        """The smallest K step that the main loop takes, in elements."""
        ...

    @property
    def waves(self) -> tuple[int, int, int] | None:
        """Waves per workgroup along M, N, K; None where the kernel's name does not tell."""
        ...

    def text(self) -> str:
        """The fields as they stand in an instance name: injective within (family, backend)."""
        ...

    def __hash__(self) -> int: ...
