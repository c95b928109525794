"""HOW ck_tile computes a GEMM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ckgen.families.common.config_words import Ints3, Scheduler, joined, strategy_word
from ckgen.families.common.tiled import Tiled
from ckgen.model.backend import Backend
from ckgen.model.config import Tile
from ckgen.model.hash_once import hash_once
from ckgen.model.strategy import Strategy
from ckgen.model.word import Word


class TilePipeline(Word):
    """ck_tile's main loops; FLATMM reads a preshuffled B, ABQUANT scales blocks of A and B."""

    MEM = "mem"
    COMPV3 = "compv3"
    COMPV4 = "compv4"
    COMPV5 = "compv5"
    COMPV6 = "compv6"
    COMP_ASYNC = "comp_async"
    FLATMM = "flatmm"
    ABQUANT = "abquant"


class Epilogue(Word):
    """How ck_tile writes C: through LDS (CSHUFFLE) or straight from registers."""

    CSHUFFLE = "cshuffle"
    DEFAULT = "default"


@hash_once
@dataclass(frozen=True, slots=True)
class CkTileConfig(Tiled):
    """ck_tile's GEMMs. `scheduler` None is the pipeline's own; flags at their default are not in the name.

    `vector` is the elements per global access of A, B and C; 0 is the widest, 16 bytes.
    """

    backend: ClassVar[Backend] = Backend.CK_TILE
    tile: Tile
    warps: Ints3
    warp_tile: Tile
    pipeline: TilePipeline
    scheduler: Scheduler | None = None
    epilogue: Epilogue = Epilogue.CSHUFFLE
    pad_m: bool = False
    pad_n: bool = False
    pad_k: bool = False
    transpose_c: bool = False
    permute_n: bool = False
    persistent: bool = False
    a_row_major_scales: bool = False
    structured_sparsity: bool = False
    double_smem: bool = False
    partitioner_group_num: int = 8
    partitioner_m01: int = 4
    num_wave_groups: int = 1
    vector: int = 0
    block_per_cu: int = 1
    strategy: Strategy = Strategy.DATA_PARALLEL

    @property
    def waves(self) -> Ints3:
        """Waves along M, N, K."""
        return self.warps

    def text(self) -> str:
        """Pipeline, scheduler, epilogue, padding, tiles, then a word for each flag that is not at its default."""
        pads = "".join(str(int(pad)) for pad in (self.pad_m, self.pad_n, self.pad_k))
        how = f"{self.pipeline}_{self.scheduler or 'default'}_{self.epilogue}_pad{pads}"
        words = [how, str(self.tile), joined(self.warps), str(self.warp_tile)]
        words += [word for field, word in TILE_FLAGS if getattr(self, field)]
        words += [f"{word}{getattr(self, field)}" for field, word, usual in TILE_INTS if getattr(self, field) != usual]
        return "_".join(words) + strategy_word(self.strategy)


TILE_FLAGS = (
    ("transpose_c", "tc"), ("permute_n", "pn"), ("persistent", "persistent"), ("a_row_major_scales", "aqrm"),
    ("structured_sparsity", "sparse"), ("double_smem", "smem2"),
)  # fmt: skip
"""Fields that are False unless said, and their words in names."""
TILE_INTS = (
    ("partitioner_group_num", "group", 8), ("partitioner_m01", "m01n", 4), ("num_wave_groups", "wg", 1),
    ("vector", "vec", 0), ("block_per_cu", "bpc", 1),
)  # fmt: skip
"""The same of numbers, with the usual one."""
