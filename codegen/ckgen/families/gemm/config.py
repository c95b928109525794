"""HOW a GEMM is computed: one frozen dataclass per backend family, each a `ckgen.model.config.Config`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ckgen.families.gemm.asm_config import AsmConfig
from ckgen.families.gemm.tiled import Tiled
from ckgen.model.config import Tile
from ckgen.model.strategy import Strategy

Ints2 = tuple[int, int]
Ints3 = tuple[int, int, int]
Ints4 = tuple[int, int, int, int]

_WAVE = 64


class Scheduler(Enum):
    """How a wave's memory and matrix instructions are interleaved."""

    INTRAWAVE = "intrawave"
    INTERWAVE = "interwave"

    def __str__(self) -> str:
        return self.value


class TilePipeline(Enum):
    """ck_tile's main loops; FLATMM reads a preshuffled B, ABQUANT scales blocks of A and B."""

    MEM = "mem"
    COMPV3 = "compv3"
    COMPV4 = "compv4"
    COMPV5 = "compv5"
    COMPV6 = "compv6"
    COMP_ASYNC = "comp_async"
    FLATMM = "flatmm"
    ABQUANT = "abquant"

    def __str__(self) -> str:
        return self.value


class Epilogue(Enum):
    """How ck_tile writes C: through LDS (CSHUFFLE) or straight from registers."""

    CSHUFFLE = "cshuffle"
    DEFAULT = "default"

    def __str__(self) -> str:
        return self.value


class _TiledByWaves(Tiled):
    """Configs that tell how many XDL tiles each wave computes."""

    __slots__ = ()
    xdl: Ints2
    xdl_per_wave: Ints2

    @property
    def waves(self) -> Ints3 | None:
        """Waves along M, N, K; None if the tile is no multiple of a wave's part."""
        return _waves_of_parts(self.tile, self.xdl, self.xdl_per_wave)


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
        return f"{self.block}x{self.tile}_{_x(self.xdl)}_{_x(self.xdl_per_wave)}_{_tail(self)}"


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
        shape = f"{_x(self.scale_block)}_{self.block}x{self.tile}_{self.ak1}x{self.bk1}"
        return f"{shape}_{_x(self.xdl)}_{_x(self.xdl_per_wave)}_{_tail(self)}"


@dataclass(frozen=True, slots=True)
class CkPreshuffledConfig:
    """Classic CK's GEMMs over a preshuffled B; their names tell the XDL tile but not its repeats per wave.

    `tile.k`, `ak1` and `bk1` count units of `k_pack` elements, as in the name: 2 for fp4, which is packed in pairs.
    """

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
    def macro_tile(self) -> Tile:
        """What one workgroup computes per K step, in elements."""
        return Tile(self.tile.m, self.tile.n, self.tile.k * self.k_pack)

    @property
    def k_grain(self) -> int:
        """The smallest K step that the main loop takes, in elements."""
        return self.tile.k * self.k_pack

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
        scale = f"{_x(self.scale_block)}_" if self.scale_block else ""
        pack = f"_pack{self.k_pack}" if self.k_pack != 1 else ""
        shape = f"{scale}{self.block}x{self.tile}_{self.ak1}x{self.bk1}"
        return f"{shape}_{_x(self.xdl)}_{_tail(self)}{pack}"


CkConfig = CkRowwiseConfig | CkBlockScaleConfig | CkPreshuffledConfig


@dataclass(frozen=True, slots=True)
class CkTileConfig(Tiled):
    """ck_tile's GEMMs. `scheduler` None is the pipeline's own; flags at their default are not in the name.

    `vector` is the elements per global access of A, B and C; 0 is the widest, 16 bytes.
    """

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
        words = [how, str(self.tile), _x(self.warps), str(self.warp_tile)]
        words += [word for field, word in _TILE_FLAGS if getattr(self, field)]
        words += [f"{word}{getattr(self, field)}" for field, word, usual in _TILE_INTS if getattr(self, field) != usual]
        return "_".join(words) + _strategy_word(self.strategy)


_TILE_FLAGS = (
    ("transpose_c", "tc"), ("permute_n", "pn"), ("persistent", "persistent"), ("a_row_major_scales", "aqrm"),
    ("structured_sparsity", "sparse"), ("double_smem", "smem2"),
)  # fmt: skip
_TILE_INTS = (
    ("partitioner_group_num", "group", 8), ("partitioner_m01", "m01n", 4), ("num_wave_groups", "wg", 1),
    ("vector", "vec", 0), ("block_per_cu", "bpc", 1),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class HostConfig:
    """A CPU GEMM: an mr x nr register tile inside mc x nc x kc cache blocks; `threads` 0 means all that the run has."""

    mr: int
    nr: int
    mc: int
    nc: int
    kc: int
    threads: int = 0
    strategy: Strategy = Strategy.DATA_PARALLEL

    @property
    def macro_tile(self) -> Tile:
        """The cache block."""
        return Tile(self.mc, self.nc, self.kc)

    @property
    def k_grain(self) -> int:
        """K is taken one by one at its end."""
        return 1

    @property
    def waves(self) -> None:
        """A CPU has none."""
        return

    def text(self) -> str:
        """Register tile, cache blocks, threads, the strategy where it is stream-K."""
        blocks = f"{self.mr}x{self.nr}_{self.mc}x{self.nc}x{self.kc}"
        return f"{blocks}_t{self.threads}{_strategy_word(self.strategy)}"


GemmConfig = CkConfig | CkTileConfig | AsmConfig | HostConfig


def strategy_of(config: GemmConfig) -> Strategy:
    """The Config's strategy; only some kinds of Config have a choice."""
    return config.strategy if isinstance(config, (CkTileConfig, HostConfig)) else Strategy.DATA_PARALLEL


def _strategy_word(strategy: Strategy) -> str:
    return f"_streamk_{strategy}" if strategy.is_stream_k else ""


def _x(values: tuple[int, ...]) -> str:
    return "x".join(map(str, values))


def _tail(config: CkConfig) -> str:
    clusters = "_".join(map(_x, (config.a_cluster, config.b_cluster, config.c_cluster)))
    stores = f"{_x(config.c_vector)}_{_x(config.cshuffle)}"
    return f"{clusters}_{stores}_{config.scheduler}_v{config.pipeline}"


def _waves_of_parts(tile: Tile, xdl: Ints2, per_wave: Ints2) -> Ints3 | None:
    m, m_rest = divmod(tile.m, xdl[0] * per_wave[0])
    n, n_rest = divmod(tile.n, xdl[1] * per_wave[1])
    return None if m_rest or n_rest else (m, n, 1)
