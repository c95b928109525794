"""Kernels that take almost any problem of any signature, for those that no kernel set names.

No arch is named: all of a list are tried in order, and rules say which an arch can have.
"""

from __future__ import annotations

from ckgen.families.gemm.ck_tile_geometry import is_group_quant
from ckgen.families.gemm.config import (
    CkTileConfig,
    CutlassConfig,
    CutlassSchedule,
    FmaConfig,
    HostConfig,
    Scheduler,
    TilePipeline,
)
from ckgen.families.gemm.enums import Op, Quant
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.arch import CPU_LEVELS, ArchKind, ArchSpec
from ckgen.model.config import Config, Tile


def _dense(
    tile: Tile,
    warps: tuple[int, int, int],
    warp_tile: Tile,
    vector: int = 1,
    pipeline: TilePipeline = TilePipeline.COMPV3,
) -> CkTileConfig:
    return CkTileConfig(
        tile, warps, warp_tile, pipeline, Scheduler.INTRAWAVE, pad_m=True, pad_n=True, pad_k=True, vector=vector
    )


_DENSE = (
    _dense(Tile(64, 64, 64), (2, 2, 1), Tile(32, 32, 16)),
    _dense(Tile(64, 64, 64), (2, 2, 1), Tile(32, 32, 16), pipeline=TilePipeline.COMPV4),
    _dense(Tile(64, 64, 32), (2, 2, 1), Tile(16, 16, 16)),
    _dense(Tile(64, 64, 32), (4, 2, 1), Tile(16, 16, 16)),
    _dense(Tile(128, 16, 32), (8, 1, 1), Tile(16, 16, 16)),
    _dense(Tile(16, 128, 32), (1, 8, 1), Tile(16, 16, 16)),
    _dense(Tile(64, 64, 32), (4, 2, 1), Tile(16, 16, 16), vector=2),
    _dense(Tile(64, 64, 32), (4, 2, 1), Tile(16, 16, 16), vector=2, pipeline=TilePipeline.COMPV4),
    _dense(Tile(32, 32, 32), (2, 2, 1), Tile(16, 16, 32)),
    _dense(Tile(32, 32, 64), (2, 2, 1), Tile(16, 16, 64), vector=2),
)
"""Waves of 64 and of 32; elements of 16 bits, then others; with two elements per access where rows leave no less."""


def _scaled(tile: Tile, warps: tuple[int, int, int], warp_tile: Tile) -> CkTileConfig:
    return CkTileConfig(tile, warps, warp_tile, TilePipeline.COMPV3, Scheduler.INTRAWAVE, pad_n=True, pad_k=True)


_SCALED = (
    _scaled(Tile(16, 64, 256), (1, 4, 1), Tile(16, 16, 32)),
    _scaled(Tile(64, 64, 64), (2, 2, 1), Tile(32, 32, 16)),
    _scaled(Tile(64, 64, 64), (4, 2, 1), Tile(16, 16, 16)),
)


def _groups(tile: Tile, *, of_a: bool) -> CkTileConfig:
    return CkTileConfig(
        tile, (1, 4, 1), Tile(16, 16, 32), TilePipeline.COMPV3, Scheduler.INTRAWAVE, pad_n=True, transpose_c=of_a
    )


_GROUPS = (
    _groups(Tile(16, 64, 128), of_a=False),
    _groups(Tile(16, 128, 128), of_a=False),
    _groups(Tile(16, 64, 128), of_a=True),
)
_BLOCKS = tuple(
    CkTileConfig(Tile(64, 128, 128), (1, 4, 1), warp_tile, TilePipeline.ABQUANT, Scheduler.INTRAWAVE, transpose_c=True)
    for warp_tile in (Tile(16, 16, 32), Tile(16, 16, 128))
)
_PRESHUFFLED = tuple(
    CkTileConfig(tile, (1, 4, 1), warp_tile, TilePipeline.FLATMM, pad_m=True, pad_n=True, pad_k=True)
    for tile, warp_tile in (
        (Tile(32, 64, 64), Tile(16, 16, 32)),
        (Tile(64, 64, 128), Tile(16, 16, 64)),
        (Tile(64, 64, 128), Tile(16, 16, 128)),
        (Tile(64, 64, 128), Tile(16, 16, 32)),
    )
)


_WARPGROUPS = tuple(CutlassConfig(Tile(m, 128, k), (1, 1), CutlassSchedule.PP) for m, k in ((64, 64), (64, 128)))
_HOST_TILES = HostConfig(32, 32, 128, 512, 2048)
"""By tile instructions of a CPU that has some."""
_LAST = FmaConfig(Tile(64, 64, 16))
"""Without matrix instructions: where no other kernel is legal or can be built."""


def robust_configs(signature: GemmSignature, arch: ArchSpec) -> tuple[tuple[Config, ...], ...]:
    """Those of the kind of kernel that computes the signature, each alone."""
    if arch.kind is ArchKind.CPU:
        return ((_HOST_TILES,), (host_config(arch),))
    last = () if signature.op is Op.MOE else (_LAST,)
    return tuple((config,) for config in (*_of_gpus(signature), *_WARPGROUPS, *last))


def host_config(arch: ArchSpec, rows: int = 0) -> HostConfig:
    """A CPU kernel in the register tile of the arch's level, with blocks of so many rows if they are said."""
    if arch.name == CPU_LEVELS[0]:
        return HostConfig(6, 16, rows or 96, 512, 256)
    return HostConfig(14, 32, rows or 112, 512, 512)


def _of_gpus(signature: GemmSignature) -> tuple[Config, ...]:
    if signature.quant is Quant.BLOCKSCALE:
        return _GROUPS if is_group_quant(signature) else _BLOCKS
    if signature.preshuffle_b:
        return _PRESHUFFLED
    return _DENSE if signature.quant is Quant.NONE else _SCALED
