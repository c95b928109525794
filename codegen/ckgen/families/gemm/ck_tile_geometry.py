"""Numbers that ck_tile derives from a dense Config: loads, stores, stages, LDS.

Source: the CK tree's gemm_universal_pipeline_ag_bg_cr_policy.hpp (GetGlobalVectorLoadSize, GetSmemSize), the pipelines
(PrefetchStages) and the epilogues (GetVectorSizeC, GetSmemSize). Tests hold these equal to the headers' own answers.
"""

from __future__ import annotations

from ckgen.families.gemm.config import CkTileConfig, Epilogue, TilePipeline
from ckgen.families.gemm.enums import OperandOp, Quant, ScaleSides
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.dtype import DType

DENSE = (
    TilePipeline.MEM,
    TilePipeline.COMPV3,
    TilePipeline.COMPV4,
    TilePipeline.COMPV5,
    TilePipeline.COMPV6,
    TilePipeline.COMP_ASYNC,
)
"""The pipelines of plain GEMMs: A and B unscaled, as they lie in memory."""

COMBINING = (TilePipeline.MEM, TilePipeline.COMPV3, TilePipeline.COMPV4)
"""Those that apply a function to what they load of A and B."""

_ACCESS_BYTES = (16, 8)
_IN_FLIGHT_BYTES = 32768
_MOST_STAGES = 8
_LANE_RUN = 4
"""Consecutive elements of C that a lane holds (kCM1PerLane), as the host half of ck_tile sees them on every arch."""


def is_multi_abd(signature: GemmSignature) -> bool:
    """Whether the unscaled GEMM is more than one product of two matrices: batched, with a bias or an epilogue, or of A
    or B two."""
    ops = (signature.a_op, signature.b_op)
    behind = signature.bias or bool(signature.epilogue)
    more = signature.batched or behind or ops != (OperandOp.NONE, OperandOp.NONE)
    return signature.quant is Quant.NONE and more


def is_group_quant(signature: GemmSignature) -> bool:
    """Whether groups of A alone or of B alone have scales."""
    return signature.quant is Quant.BLOCKSCALE and signature.scale_block.sides is not ScaleSides.BOTH


def multiplied(signature: GemmSignature) -> tuple[DType, DType]:
    """The types that the matrix instructions take. Scaled int4 weights become A's as they leave LDS, where they have as
    many bytes."""
    widened = is_group_quant(signature) and signature.b is DType.INT4
    return signature.a, signature.a if widened else signature.b


def load_vectors(signature: GemmSignature, config: CkTileConfig, wave_size: int = 64) -> tuple[int, int]:
    """Elements per global load of A and of B."""
    if config.vector:
        return config.vector, config.vector
    tile, threads = config.tile, config.warps[0] * config.warps[1] * config.warps[2] * wave_size
    a_run = tile.k if signature.layout.a_is_row_major else tile.m
    b_run = tile.n if signature.layout.b_is_row_major else tile.k
    return (
        _widest(a_run, tile.m * tile.k // threads, signature.a.bits),
        _widest(b_run, tile.n * tile.k // threads, signature.b.bits),
    )


def store_vector(signature: GemmSignature, config: CkTileConfig) -> int:
    """Elements per global store of C."""
    if config.epilogue is Epilogue.DEFAULT:
        return _LANE_RUN if config.transpose_c else 1
    widest = config.vector or min(config.warps[1] * config.warp_tile.n, 128 // signature.c.bits)
    # as flatmm.hpp does, so that the epilogue takes one tile at once
    narrower = config.pipeline is TilePipeline.FLATMM and leaves_tiles_over(config, widest)
    return _held(config) if narrower else widest


def leaves_tiles_over(config: CkTileConfig, vector: int) -> bool:
    """Whether the C-shuffle takes several tiles of a wave along M at once, for stores of `vector` elements, and their
    number is no multiple of that: it then writes wrong rows, see docs/upstream/ck_tile_cshuffle_odd.md."""
    tiles = max(config.tile.m // (config.warps[0] * config.warp_tile.m), 1)
    return tiles % min(max(vector // _held(config), 1), tiles) != 0


def has_two_buffers(pipeline: TilePipeline) -> bool:
    """Whether the pipeline alternates between two LDS buffers."""
    return pipeline in (TilePipeline.COMPV4, TilePipeline.COMP_ASYNC)


def stages(signature: GemmSignature, config: CkTileConfig) -> int:
    """K tiles that the pipeline has under way before its main loop (PrefetchStages)."""
    match config.pipeline:
        case TilePipeline.MEM:
            waves = config.warps[0] * config.warps[1] * config.warps[2]
            step = (config.tile.m * signature.a.bits + config.tile.n * signature.b.bits) // 8 * config.tile.k
            return min(max(-(-(_IN_FLIGHT_BYTES // max(4 // waves, 1)) // step), 2), _MOST_STAGES)
        case TilePipeline.COMPV5:
            return 1
        case TilePipeline.COMPV6:
            return 3
    return 2


def turn_and_lead(signature: GemmSignature, config: CkTileConfig) -> tuple[int, int]:
    """K tiles per turn of the main loop, and those before and after it that are fewer than a turn more; 0 of each where
    one kernel takes any number of tiles."""
    match config.pipeline:
        case TilePipeline.COMPV3 | TilePipeline.COMPV5:
            return 0, 0
        case TilePipeline.MEM:
            turn = stages(signature, config)
            return turn, turn
    return 2, 3


def least_k(config: CkTileConfig) -> int:
    """The smallest K of one split: compv6 has no kernel for a single K tile."""
    return config.tile.k + 1 if config.pipeline is TilePipeline.COMPV6 else 0


def lds_bytes(signature: GemmSignature, config: CkTileConfig, wave_size: int = 64) -> int:
    """Static LDS of the kernel."""
    buffer = max(staging_bytes(signature, config), epilogue_bytes(signature, config, wave_size))
    return buffer * (2 if has_two_buffers(config.pipeline) else 1)


def staging_bytes(signature: GemmSignature, config: CkTileConfig) -> int:
    """LDS of one buffer of A and B; compv5 also passes C through it."""
    tile = config.tile
    operands = sum(
        -(-extent * tile.k * dtype.bits // 8 // 16) * 16
        for extent, dtype in zip((tile.m, tile.n), multiplied(signature), strict=True)
    )
    if config.pipeline is TilePipeline.COMPV5:
        return max(operands, tile.m * tile.n * signature.acc.bits // 8)
    return operands


def epilogue_bytes(signature: GemmSignature, config: CkTileConfig, wave_size: int = 64) -> int:
    """LDS of the C-shuffle, which holds C, or accumulators where ops follow; none without one."""
    rows, columns = shuffled_part(signature, config, wave_size)
    held = signature.acc if signature.epilogue else signature.c
    return rows * columns * held.bits // 8 if config.epilogue is Epilogue.CSHUFFLE else 0


def shuffled_part(signature: GemmSignature, config: CkTileConfig, wave_size: int = 64) -> tuple[int, int]:
    """Rows and columns of C that go through LDS at once: a warp tile per wave, or as many along M as make a store."""
    part, waves, tile = config.warp_tile, config.warps, config.tile
    rows, columns = part.m * waves[0], part.n * waves[1]
    held = _held(config, wave_size)
    more = min(max(store_vector(signature, config) // held, 1), max(tile.m // rows, 1))
    return (rows * more if tile.m % (rows * more) == 0 else rows), columns


def _held(config: CkTileConfig, wave_size: int = 64) -> int:
    """Elements of one warp tile of C in a lane."""
    return max(config.warp_tile.m * config.warp_tile.n // wave_size, 1)


def _widest(run: int, share: int, bits: int) -> int:
    """The widest access that divides the tile's contiguous run and each thread's share; else single elements."""
    for size in _ACCESS_BYTES:
        elements = size * 8 // bits
        if run % elements == 0 and share % elements == 0:
            return elements
    return 1
