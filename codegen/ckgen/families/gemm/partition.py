"""What planning must know of a stream-K partition; the arithmetic itself is ckgen/stream_k.hpp's."""

from __future__ import annotations

from dataclasses import dataclass

from ckgen.families.common.problem_finding import ProblemFinding
from ckgen.families.gemm.config import CkTileConfig, HostConfig, strategy_of
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.problem_rules import supports
from ckgen.model.config import Config
from ckgen.model.selection import NO_WISHES, Wishes
from ckgen.model.strategy import Strategy
from ckgen.model.tuned_row import Shape

_MOST_TILES = 1 << 62
_TILE_TRAFFIC = 64
_FIX_UP = 2 * _TILE_TRAFFIC
_FEW_ROWS = 4


@dataclass(frozen=True, slots=True)
class Partition:
    """Tiles, the K iterations of each, and the workgroups that share those of the last `sk_tiles`."""

    num_tiles: int
    iters_per_tile: int
    grid: int

    @property
    def sk_tiles(self) -> int:
        """Tiles that may be split; the others are whole."""
        rest = self.num_tiles % self.grid
        return 0 if rest == 0 else min(self.num_tiles, self.grid + rest)

    @property
    def dp_tiles(self) -> int:
        """Whole tiles, as many for each workgroup."""
        return self.num_tiles - self.sk_tiles

    @property
    def sk_iters(self) -> int:
        """Iterations of all tiles that may be split."""
        return self.sk_tiles * self.iters_per_tile

    @property
    def feasible(self) -> bool:
        """Whether each workgroup gets an iteration."""
        return self.sk_tiles == 0 or self.sk_iters >= self.grid

    @property
    def max_iters_per_workgroup(self) -> int:
        """Iterations of the busiest workgroup."""
        return self.dp_tiles // self.grid * self.iters_per_tile + -(-self.sk_iters // self.grid)


def blocks_per_cu(config: Config) -> int:
    """Workgroups of a stream-K kernel that a compute unit holds at once."""
    return config.block_per_cu if isinstance(config, CkTileConfig) else 1


def workgroups_of(config: Config, cu_num: int) -> int:
    """The workgroups of a stream-K kernel: those that are resident, or a host kernel's threads."""
    if isinstance(config, HostConfig) and config.threads:
        return config.threads
    return max(cu_num, 1) * blocks_per_cu(config)


def partition_of(config: Config, shape: Shape, cu_num: int) -> Partition:
    """How a stream-K kernel shares a legal problem."""
    tile = config.macro_tile
    tiles = -(-shape.m // tile.m) * -(-shape.n // tile.n) * max(shape.batch, 1)
    return Partition(min(tiles, _MOST_TILES), -(-shape.k // tile.k), workgroups_of(config, cu_num))


def parts_of(instance: Instance, shape: Shape, k_batch: int, cu_num: int) -> int:
    """How many parts an element of C is added up from in C's own type, at most; 1 where they meet ahead of it."""
    config = instance.config
    strategy = strategy_of(config)
    if not strategy.is_stream_k:
        return max(k_batch, 1) if instance.constraints.atomic_split else 1
    found = partition_of(config, shape, cu_num)
    if strategy is not Strategy.ATOMIC or not found.sk_tiles:
        return 1
    return -(-(found.iters_per_tile - 1) // (found.sk_iters // found.grid)) + 1


def describe(config: Config, shape: Shape, cu_num: int) -> str:
    """As in `stream-K linear: 9 tiles of 81 iterations of K on 80 workgroups`."""
    found = partition_of(config, shape, cu_num)
    shares = f"{found.num_tiles} tiles of {found.iters_per_tile} iterations of K on {found.grid} workgroups"
    whole = f", {found.dp_tiles} data-parallel" if found.dp_tiles else ""
    return f"stream-K {strategy_of(config)}: {shares}{whole}"


def runs(
    instance: Instance, shape: Shape, k_batch: int, cu_num: int, wishes: Wishes = NO_WISHES
) -> ProblemFinding | None:
    """The first demand of an instance that a legal problem fails on so many compute units; None if it can run."""
    finding = strategy_finding(instance.config, shape, cu_num, wishes)
    return finding if finding is not None else supports(instance.constraints, shape, k_batch, wishes)


def strategy_finding(config: Config, shape: Shape, cu_num: int, wishes: Wishes) -> ProblemFinding | None:
    """What the Config's strategy lacks. A wish comes first: who asks for one hears of the instances that have it."""
    own, wish = strategy_of(config), wishes.strategy
    if wish not in (Strategy.ANY, own):
        return ProblemFinding("gemm.stream_k.strategy", own.code, wish.code)
    if not own.is_stream_k:
        return None
    if wishes.deterministic and own is Strategy.ATOMIC:
        return ProblemFinding("gemm.stream_k.atomic", workgroups_of(config, cu_num), 1)
    found = partition_of(config, shape, cu_num)
    return None if found.feasible else ProblemFinding("gemm.stream_k.too-few-tiles", found.sk_iters, found.grid)


def stream_k_cost(config: Config, shape: Shape, cu_num: int) -> int:
    """The iterations of the busiest workgroup at a tile's cost, and the fix-up, per element of K: what a wave of plain
    workgroups costs.

    The fix-up's steps count 128 per accumulator, as two bytes of A or B count 64. Tile instructions cost a quarter, as
    everywhere, and a quarter of that more: each tile packs its rows of A. Few rows have kernels of their own, but here.
    """
    found, tile = partition_of(config, shape, cu_num), config.macro_tile
    unit = _host_tile_cost(config, shape) if isinstance(config, HostConfig) else tile_cost(tile.m, tile.n)
    cost = found.max_iters_per_workgroup * tile.k * unit
    if isinstance(config, HostConfig) and config.has_tiles and shape.m > _FEW_ROWS:
        cost = cost * 5 // 16
    if found.sk_tiles:
        splits = -(-(found.iters_per_tile - 1) // (found.sk_iters // found.grid)) + 1
        cost += _FIX_UP * tile.m * tile.n * _fix_up_steps(strategy_of(config), splits)
    return -(-cost // shape.k)


def tile_cost(m: int, n: int) -> int:
    """The cost of one element of K of one tile."""
    return m * n + _TILE_TRAFFIC * (m + n)


def _host_tile_cost(config: HostConfig, shape: Shape) -> int:
    """A macro tile on a CPU: the register tiles of it that the problem fills."""
    rows, columns = -(-min(shape.m, config.mc) // config.mr), -(-min(shape.n, config.nc) // config.nr)
    return rows * columns * tile_cost(config.mr, config.nr)


def _fix_up_steps(strategy: Strategy, splits: int) -> int:
    """How often a tile's accumulators are stored or loaded one after the other, where it has so many parts."""
    if strategy is Strategy.ATOMIC:
        return 2 * splits
    return splits if strategy is Strategy.LINEAR else 1 + 2 * (splits - 1).bit_length()
