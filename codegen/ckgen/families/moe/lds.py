"""LDS of classic CK's MoE GEMMs: GetSharedMemoryNumberOfByte of gridwise_moe_gemm.hpp and its kin."""

from __future__ import annotations

from ckgen.families.gemm.enums import Quant
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.moe.ck_config import CkMoeConfig

XDL = 16
_SHUFFLED_BYTES = 4  # CShuffleDataType is float


def per_wave(config: CkMoeConfig) -> tuple[int, int]:
    """XDL tiles of a wave along M and N."""
    waves_m, waves_n = config.wave_grid
    return config.tile.m // (XDL * waves_m), config.tile.n // (XDL * waves_n)


def shuffle_m(signature: GemmSignature, config: CkMoeConfig) -> int:
    """XDL tiles of a wave along M that one turn through LDS stores: under scales of blocks all, as a lane stores two
    columns of every row."""
    return per_wave(config)[0] if signature.quant is Quant.BLOCKSCALE else min(2, per_wave(config)[0])


def lds_bytes(signature: GemmSignature, config: CkMoeConfig) -> int:
    """Bytes that a workgroup takes: in each buffer A's tile and, later, what one turn stores of C's, in fp32.

    Weights go straight to registers. Pipelines but 1 have two buffers.
    """
    tile = config.macro_tile
    rows = shuffle_m(signature, config) * XDL * config.wave_grid[0]
    of_a, of_c = tile.m * tile.k * signature.a.bits // 8, rows * tile.n * _SHUFFLED_BYTES
    return (1 if config.pipeline == 1 else 2) * max(of_a, of_c)
