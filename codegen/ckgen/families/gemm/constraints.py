"""What each kind of Config asks of a problem, as the kernels' own host code does."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from ckgen.families.gemm.config import (
    CkBlockScaleConfig,
    CkPreshuffledConfig,
    CkRowwiseConfig,
    CkTileConfig,
    GemmConfig,
    TilePipeline,
)
from ckgen.families.gemm.problem_rules import Constraints
from ckgen.families.gemm.signature import GemmSignature, Layout, Quant

MAX_K_BATCH = 128
_VECTOR_BITS = 128
_SCALE_ROWS = 32
_PREFETCHED = {1: 0, 3: 2, 4: 3, 5: 3}
_V2_STAGE_BYTES = 32768


@cache
def constraints_of(signature: GemmSignature, config: GemmConfig) -> Constraints:
    """The numbers that a problem of `signature` must satisfy for `config`."""
    if isinstance(config, CkRowwiseConfig):
        return _rowwise(signature, config)
    if isinstance(config, CkBlockScaleConfig):
        return _block_scale(config)
    if isinstance(config, CkPreshuffledConfig):
        return _preshuffled(signature, config)
    if isinstance(config, CkTileConfig):
        return _ck_tile(signature, config)
    return Constraints()


def _rowwise(signature: GemmSignature, config: CkRowwiseConfig) -> Constraints:
    """MNKPadding takes any tile tail, in whole vectors; without scales (batched bf16) K is not padded."""
    vector = config.tile.k // config.a_cluster[0]
    found = Constraints(
        n_multiple=config.c_vector[0],
        k_multiple=vector if signature.quant is Quant.ROWWISE else config.tile.k,
        min_k=_main_loop_k(config.pipeline, _v2_stages(signature, config), config.tile.k),
    )
    return found if signature.batched else _with_atomic_split(found, config.tile.k)


def _block_scale(config: CkBlockScaleConfig) -> Constraints:
    """Tails are padded in whole C vectors; K comes in whole scale groups, also in each split."""
    group = config.scale_block[2]
    found = Constraints(
        n_multiple=config.c_vector[0],
        k_multiple=group,
        min_k=_main_loop_k(config.pipeline, 2, config.tile.k),
    )
    return _with_atomic_split(found, group)


def _preshuffled(signature: GemmSignature, config: CkPreshuffledConfig) -> Constraints:
    """N and K in whole tiles, for B is read unpadded; fp4 pads N in the 32 rows of its scales instead."""
    tile = config.macro_tile
    if signature.quant is Quant.MX:
        found = Constraints(n_multiple=_SCALE_ROWS, k_multiple=tile.k, min_k=2 * tile.k + 1)
        return _with_atomic_split(found, tile.k)
    if config.scale_block is not None:
        return Constraints(n_multiple=tile.n, k_multiple=tile.k, min_k=_main_loop_k(config.pipeline, 2, tile.k))
    return _with_atomic_split(Constraints(n_multiple=tile.n, k_multiple=tile.k, min_k=2 * tile.k + 1), tile.k)


def _ck_tile(signature: GemmSignature, config: CkTileConfig) -> Constraints:
    """ck_tile's IsSupportedArgument: each contiguous extent in whole vectors, and in whole tiles where not padded."""
    tile = config.tile
    if config.pipeline is TilePipeline.FLATMM:
        return Constraints(n_multiple=0 if config.pad_n else tile.n, k_multiple=0 if config.pad_k else tile.k)
    if config.pipeline is TilePipeline.ABQUANT:
        n_vector = _vector(config, signature.c.bits)
        return _with_atomic_split(Constraints(n_multiple=n_vector, k_multiple=tile.k), tile.k)
    rows_of_a = signature.layout in (Layout.RCR, Layout.RRR)
    rows_of_b = signature.layout in (Layout.RRR, Layout.CRR)
    of_a, of_b = _vector(config, signature.a.bits), _vector(config, signature.b.bits)
    k_vector = max(of_a if rows_of_a else 1, 1 if rows_of_b else of_b)
    n_vector = max(_vector(config, signature.c.bits), of_b if rows_of_b else 1)
    k_free = config.pad_k or (not rows_of_a and rows_of_b)
    found = Constraints(
        m_multiple=0 if rows_of_a else of_a if config.pad_m else tile.m,
        n_multiple=n_vector if config.pad_n else tile.n,
        k_multiple=k_vector if k_free else tile.k,
        min_k=0 if config.pad_k else config.warp_tile.k,
    )
    splits = config.vector != 1 or signature.c.bits >= 32
    return _with_atomic_split(found, tile.k) if splits else found


def _with_atomic_split(found: Constraints, k_multiple_per_split: int) -> Constraints:
    return replace(found, k_multiple_per_split=k_multiple_per_split, max_k_batch=MAX_K_BATCH, atomic_split=True)


def _main_loop_k(pipeline: int, v2_stages: int, tile_k: int) -> int:
    """The least K for which the main loop turns once beyond what is prefetched: v2 and later have no other variant."""
    stages = _PREFETCHED.get(pipeline, v2_stages)
    return stages * tile_k + 1 if stages else 0


def _v2_stages(signature: GemmSignature, config: CkRowwiseConfig) -> int:
    """Tiles that v2 keeps in flight: enough for 32 KB per CU, between 2 and 8."""
    workgroups = max(1, 256 // config.block)
    step = (config.tile.m + config.tile.n) * config.tile.k * signature.a.bits // 8
    return min(max(-(-_V2_STAGE_BYTES // workgroups // step), 2), 8)


def _vector(config: CkTileConfig, bits: int) -> int:
    return config.vector or _VECTOR_BITS // bits
