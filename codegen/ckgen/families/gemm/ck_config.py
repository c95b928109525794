"""HOW classic CK computes a GEMM: one Config class per kind of kernel name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ckgen.families.common.config_words import Ints2, Ints3, Ints4, Scheduler, joined
from ckgen.families.common.tiled import PackedTiled, Tiled
from ckgen.model.backend import Backend
from ckgen.model.config import Tile
from ckgen.model.hash_once import hash_once

_WAVE = 64


class _TiledByWaves(Tiled):
    """Configs that tell how many XDL tiles each wave computes."""

    __slots__ = ()
    backend: ClassVar[Backend] = Backend.CK
    xdl: Ints2
    xdl_per_wave: Ints2

    @property
    def waves(self) -> Ints3 | None:
        """Waves along M, N, K; None if the tile is no multiple of a wave's part."""
        return _waves_of_parts(self.tile, self.xdl, self.xdl_per_wave)


@hash_once
@dataclass(frozen=True, slots=True)
class CkRowwiseConfig(_TiledByWaves):
    """Classic CK's rowwise-scaled and batched GEMMs (a8w8, batched_a8w8, batched_bf16)."""

    block: int
    tile: Tile
    xdl: Ints2
    xdl_per_wave: Ints2
    a_cluster: Ints3
    b_cluster: Ints3
    c_cluster: Ints4
    c_vector: tuple[int, ...]
    cshuffle: Ints2
    scheduler: Scheduler
    pipeline: int

    def text(self) -> str:
        """The fields as they stand in the table's name."""
        return f"{self.block}x{self.tile}_{joined(self.xdl)}_{joined(self.xdl_per_wave)}_{_tail(self)}"


@hash_once
@dataclass(frozen=True, slots=True)
class CkBlockScaleConfig(_TiledByWaves):
    """Classic CK's block-scaled GEMM (a8w8_blockscale); `scale_block` is elements of M, N, K per scale."""

    scale_block: Ints3
    block: int
    tile: Tile
    ak1: int
    bk1: int
    xdl: Ints2
    xdl_per_wave: Ints2
    a_cluster: Ints3
    b_cluster: Ints3
    c_cluster: Ints4
    c_vector: tuple[int, ...]
    cshuffle: Ints2
    scheduler: Scheduler
    pipeline: int

    def text(self) -> str:
        """The fields as they stand in the table's name."""
        shape = f"{joined(self.scale_block)}_{self.block}x{self.tile}_{self.ak1}x{self.bk1}"
        return f"{shape}_{joined(self.xdl)}_{joined(self.xdl_per_wave)}_{_tail(self)}"


@hash_once
@dataclass(frozen=True, slots=True)
class CkPreshuffledConfig(PackedTiled):
    """Classic CK's GEMMs over a preshuffled B; their names tell the XDL tile but not its repeats per wave.

    `tile.k`, `ak1` and `bk1` count units of `k_pack` elements, as in the name: 2 for fp4, which is packed in pairs.
    """

    backend: ClassVar[Backend] = Backend.CK
    scale_block: Ints3 | None
    block: int
    tile: Tile
    ak1: int
    bk1: int
    xdl: Ints2
    a_cluster: Ints3
    b_cluster: Ints3
    c_cluster: Ints4
    c_vector: tuple[int, ...]
    cshuffle: Ints2
    scheduler: Scheduler
    pipeline: int
    k_pack: int = 1

    @property
    def xdl_per_wave(self) -> None:
        """Not in the name; `waves` follows from the other fields."""
        return

    @property
    def waves(self) -> Ints3 | None:
        """The fewest waves along M for which M, N and both C-shuffle factors divide; None if none do."""
        total = self.block // _WAVE
        for m in range(1, total + 1):
            n, rest = divmod(total, m)
            spans = (m * self.xdl[0] * self.cshuffle[0], n * self.xdl[1] * self.cshuffle[1])
            if not rest and self.tile.m % spans[0] == 0 and self.tile.n % spans[1] == 0:
                return (m, n, 1)
        return None

    def text(self) -> str:
        """The fields as they stand in the table's name, and `_pack<n>` where K counts packed units."""
        scale = f"{joined(self.scale_block)}_" if self.scale_block else ""
        pack = f"_pack{self.k_pack}" if self.k_pack != 1 else ""
        shape = f"{scale}{self.block}x{self.tile}_{self.ak1}x{self.bk1}"
        return f"{shape}_{joined(self.xdl)}_{_tail(self)}{pack}"


CkConfig = CkRowwiseConfig | CkBlockScaleConfig | CkPreshuffledConfig


def _tail(config: CkConfig) -> str:
    clusters = "_".join(map(joined, (config.a_cluster, config.b_cluster, config.c_cluster)))
    stores = f"{joined(config.c_vector)}_{joined(config.cshuffle)}"
    return f"{clusters}_{stores}_{config.scheduler}_v{config.pipeline}"


def _waves_of_parts(tile: Tile, xdl: Ints2, per_wave: Ints2) -> Ints3 | None:
    m, m_rest = divmod(tile.m, xdl[0] * per_wave[0])
    n, n_rest = divmod(tile.n, xdl[1] * per_wave[1])
    return None if m_rest or n_rest else (m, n, 1)
