"""HOW ckgen's own HIP kernels compute a product of few rows of MX-FP8."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ckgen.model.backend import Backend
from ckgen.model.config import Tile
from ckgen.model.hash_once import HashOnce, hash_once
from ckgen.model.word import Word

WAVE = 64
_TILE = 16
_SUM_BYTES = 4


class HipKind(Word):
    """GEMV: packed FMA; MFMA: matrix instructions; MOE_*: the same for sorted tokens, each of its K."""

    GEMV = "gemv"
    MFMA = "mfma"
    MOE_DEEP = "moe_deep"
    MOE_SHALLOW = "moe_shallow"

    @property
    def is_moe(self) -> bool:
        """Whether it computes products of experts."""
        return self in (HipKind.MOE_DEEP, HipKind.MOE_SHALLOW)

    @property
    def k_step(self) -> int:
        """Elements of K that a wave takes at a time."""
        return 1024 if self is HipKind.GEMV else 128

    @property
    def k_grain(self) -> int:
        """What K is a multiple of: a block of scales, or a matrix instruction's."""
        return 32 if self is HipKind.GEMV else 128


@hash_once
@dataclass(frozen=True, slots=True)
class HipConfig(HashOnce):
    """A workgroup computes `m` rows of A times `n_sub` groups of `block_n` rows of B, a wave for each of `k_splits`.

    block_n is 1 for GEMV and 16 for MFMA; products of experts have 8 or 16 and one group, m is block_m, and half of
    gated ones' rows of B are up rows.
    """

    backend: ClassVar[Backend] = Backend.HIP
    kind: HipKind
    m: int
    n_sub: int
    k_splits: int
    block_n: int

    @classmethod
    def gemv(cls, m: int, n_sub: int, k_splits: int) -> HipConfig:
        """With `n_sub` rows of B."""
        return cls(HipKind.GEMV, m, n_sub, k_splits, 1)

    @classmethod
    def mfma(cls, m: int, n_sub: int, k_splits: int) -> HipConfig:
        """With `n_sub` tiles of 16 rows of B."""
        return cls(HipKind.MFMA, m, n_sub, k_splits, 16)

    @classmethod
    def moe(cls, kind: HipKind, block_m: int, block_n: int, k_splits: int) -> HipConfig:
        """With blocks of `block_m` sorted ids and `block_n` rows of an expert's B."""
        return cls(kind, block_m, 1, k_splits, block_n)

    @property
    def columns(self) -> int:
        """Rows of B, which are columns of C but for gated products."""
        return self.n_sub * self.block_n

    @property
    def macro_tile(self) -> Tile:
        """What one workgroup computes per K step."""
        return Tile(self.m, self.columns, self.kind.k_step)

    @property
    def k_grain(self) -> int:
        """The smallest K step that the main loop takes, in elements."""
        return self.kind.k_grain

    @property
    def waves(self) -> tuple[int, int, int]:
        """Waves along M, N, K."""
        return (1, 1, self.k_splits)

    @property
    def threads(self) -> int:
        """Work-items of a workgroup."""
        return self.k_splits * WAVE

    @property
    def tiles(self) -> int:
        """Tiles of 16 rows of A; a half one counts."""
        return -(-self.m // _TILE)

    @property
    def lds_bytes(self) -> int:
        """Of a workgroup: the sums of all splits, and what products of experts keep of their ids."""
        if self.kind is HipKind.GEMV:
            return self.k_splits * self.m * self.columns * _SUM_BYTES
        sums = self.k_splits * self.tiles * self.n_sub * _TILE * _TILE * _SUM_BYTES if self.k_splits > 1 else 0
        return sums + (2 * self.m * _SUM_BYTES if self.kind.is_moe else 0)

    def text(self) -> str:
        """Kind, rows, groups of columns, splits."""
        return f"mxfp8_{self.kind}_m{self.m}_n{self.n_sub}x{self.block_n}_k{self.k_splits}"
