"""A module: one of the peer's table families, and what its rows mean."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class SplitK(Enum):
    """How a library spells its number of K splits in the column `splitK`."""

    LOG2 = "log2"
    LITERAL = "literal"
    IGNORED = "ignored"


@dataclass(frozen=True, slots=True)
class LibrarySplitK:
    """The meaning of `splitK` for rows of one library; a LITERAL 0 means that the kernel decides."""

    library: str
    meaning: SplitK


@dataclass(frozen=True, slots=True)
class Module:
    """What the table adapter must know of a module; the family knows the rest.

    `generated` are the libraries whose kernels ckgen builds (`ck`, `cktile`); every other library is external.
    `op` is what its tables are about. `prefixes` tell a kernel's library by its name's beginning, where no column does.
    """

    name: str
    batched: bool
    generated: tuple[str, ...]
    split_k: tuple[LibrarySplitK, ...]
    op: str = "gemm"
    prefixes: tuple[tuple[str, str], ...] = ()

    def split_k_of(self, library: str) -> SplitK:
        """LITERAL for a library that the module does not list."""
        for entry in self.split_k:
            if entry.library == library:
                return entry.meaning
        return SplitK.LITERAL
