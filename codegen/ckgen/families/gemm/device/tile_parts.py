"""What the units and expectations of every kind of ck_tile instance have in common."""

from __future__ import annotations

from ckgen.families.gemm.ck_tile_geometry import lds_bytes, leaves_tiles_over, multiplied, store_vector
from ckgen.families.gemm.config import CkTileConfig, Epilogue
from ckgen.families.gemm.instance import Instance
from ckgen.model.arch import ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.expectation import Expectation


def tile_config(instance: Instance) -> CkTileConfig:
    """The instance's Config; the instance must be one of ck_tile."""
    config = instance.config
    assert isinstance(config, CkTileConfig), f"{instance.name} is no ck_tile instance"
    return config


def matrix_steps(instance: Instance, arch: ArchSpec, *, preshuffle: bool = False) -> tuple[tuple[str, int], ...]:
    """The warp tile's instruction on an arch, and its number per wave and K step: an Expectation's `steps`."""
    config, signature = tile_config(instance), instance.signature
    tiles = arch.warp_tiles_for(Backend.CK_TILE, *multiplied(signature), signature.acc, preshuffle=preshuffle)
    row = next(row for row in tiles if row.tile == config.warp_tile)
    tile, part, waves = config.tile, config.warp_tile, config.warps
    per_wave = (tile.m // (waves[0] * part.m)) * (tile.n // (waves[1] * part.n)) * (tile.k // part.k)
    return ((row.instruction, per_wave * row.issues),)


def demands(
    instance: Instance, arch: ArchSpec, copies: int, lds: int | None = None, *, preshuffle: bool = False
) -> Expectation:
    """What a kernel's machine code must be: `copies` K steps in its text, no registers spilled, and as many bytes of
    LDS as the tiles take where `lds` does not say how many."""
    config = tile_config(instance)
    taken = lds_bytes(instance.signature, config, arch.wave_size) if lds is None else lds
    return Expectation(
        steps=matrix_steps(instance, arch, preshuffle=preshuffle),
        copies=copies,
        lds_bytes=min(taken, arch.lds_bytes),
        scratch_bytes=0,
        spills=0,
        waves_per_simd=config.block_per_cu,
    )


def shuffles_odd_tiles(instance: Instance) -> bool:
    """Whether the shuffling epilogue would write wrong rows: see `leaves_tiles_over`."""
    config = tile_config(instance)
    shuffled = config.epilogue is Epilogue.CSHUFFLE
    return shuffled and leaves_tiles_over(config, store_vector(instance.signature, config))
