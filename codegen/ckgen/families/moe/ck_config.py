"""HOW classic CK computes one product of an MoE layer, and the whole of what its kernels' names say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ckgen.families.common.config_words import Ints2, Ints3, joined
from ckgen.families.common.tiled import PackedTiled
from ckgen.families.gemm.enums import EpilogueOp, MoePart, Quant
from ckgen.model.backend import Backend
from ckgen.model.config import Tile
from ckgen.model.dtype import DType
from ckgen.model.hash_once import hash_once
from ckgen.model.word import Word


class CkMoeOp(Word):
    """The word of a kernel's name for its scheme of scales; `quant` and `weighted` say the same more plainly.

    SHUFFLED: scales of 1x32 and their operands are preshuffled. SPLITK: K may be split.
    """

    CAST = "TypeCast"
    CAST_WEIGHT = "TypeCastExpertWeight"
    SCALE = "MulABScale"
    SCALE_WEIGHT = "MulABScaleExpertWeight"
    SCALE_SHUFFLED = "MulABScaleShuffled"
    SCALE_WEIGHT_SHUFFLED = "MulABScaleExpertWeightShuffled"
    SCALE_INT4 = "MulABScaleWint4"
    SCALE_WEIGHT_INT4 = "MulABScaleExpertWeightWin4"
    BLOCK_SCALE = "MulABScaleExpertWeightA8W8blkscale"
    BLOCK_SCALE_SPLITK = "MulABScaleExpertWeightA8W8blkscaleSplitk"

    @property
    def splits_k(self) -> bool:
        """Whether K may be split."""
        return self is CkMoeOp.BLOCK_SCALE_SPLITK


@hash_once
@dataclass(frozen=True, slots=True)
class CkMoeConfig(PackedTiled):
    """Classic CK's MoE GEMMs over preshuffled weights: DeviceMoeGemm and its kin; XDL tiles are 16x16.

    The tile's M is block_m. `tile.n` is columns of C: where W1 is gated, as many of gate and of up. `tile.k` counts
    units of `k_pack` elements, as in the name: 2 for fp4, which is packed in pairs.
    """

    backend: ClassVar[Backend] = Backend.CK
    block: int
    tile: Tile
    wave_grid: Ints2
    op: CkMoeOp
    pipeline: int
    n_swizzle: bool = False
    k_pack: int = 1

    @property
    def waves(self) -> Ints3:
        """Waves along M, N, K."""
        return (*self.wave_grid, 1)

    def text(self) -> str:
        """The fields as they stand in the table's name, `_nswizzle` and `_pack<n>` where they are not as usual."""
        words = [f"{self.block}x{self.tile}", joined(self.wave_grid), str(self.op), f"v{self.pipeline}"]
        words += ["nswizzle"] * self.n_swizzle
        words += [f"pack{self.k_pack}"] * (self.k_pack != 1)
        return "_".join(words)


class NamedQuant(Word):
    """The peer's numbers for a scheme of scales, as kernel names have them."""

    NONE = "0"
    PER_TENSOR = "1"
    PER_TOKEN = "2"
    PER_1X32 = "3"
    PER_1X128 = "4"
    PER_128X128 = "5"

    @property
    def quant(self) -> Quant:
        """The same in a signature's words."""
        return _QUANTS[self]


_QUANTS = {
    NamedQuant.NONE: Quant.NONE,
    NamedQuant.PER_TENSOR: Quant.PER_TENSOR,
    NamedQuant.PER_TOKEN: Quant.ROWWISE,
    NamedQuant.PER_1X32: Quant.MX,
    NamedQuant.PER_1X128: Quant.BLOCKSCALE,
    NamedQuant.PER_128X128: Quant.BLOCKSCALE,
}


class NamedType(Word):
    """An element type as kernel names have it."""

    FP16 = "F16"
    BF16 = "B16"
    FP8 = "F8"
    INT8 = "I8"
    FP4 = "FP4X2"
    INT4 = "I4"

    @property
    def dtype(self) -> DType:
        """The type; fp8 in the flavour of the arch."""
        return DType[self.name]


@dataclass(frozen=True, slots=True)
class CkMoeKernel:
    """All that a kernel's name says: how it computes (`config`), and what."""

    part: MoePart
    block: int
    tile: Tile
    wave_grid: Ints2
    op: CkMoeOp
    pipeline: int
    n_swizzle: bool
    quant: NamedQuant
    weighted: bool
    activation: EpilogueOp | None
    a: NamedType
    b: NamedType
    c: NamedType

    @property
    def config(self) -> CkMoeConfig:
        """How it computes."""
        pack = 2 if self.a is NamedType.FP4 else 1
        return CkMoeConfig(self.block, self.tile, self.wave_grid, self.op, self.pipeline, self.n_swizzle, pack)
