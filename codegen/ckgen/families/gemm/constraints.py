"""What each kind of Config asks of a problem, as the kernels' own host code does."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache
from typing import Any

from ckgen.families.common.asm_config import AsmConfig
from ckgen.families.gemm import ck_tile_geometry as geometry
from ckgen.families.gemm.asm_kernels import asm_kernel_of
from ckgen.families.gemm.config import (
    CkBlockScaleConfig,
    CkPreshuffledConfig,
    CkRowwiseConfig,
    CkTileConfig,
    CutlassConfig,
    CutlassSchedule,
    HipConfig,
    TilePipeline,
    strategy_of,
)
from ckgen.families.gemm.enums import Op, OperandOp, Quant
from ckgen.families.gemm.mxfp8_envelope import envelope, least_rows
from ckgen.families.gemm.problem_rules import Constraints
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.config import Config
from ckgen.model.dtype import DType

MAX_K_BATCH = 128
_VECTOR_BITS = 128
_ROWWISE_BK1 = 16
_REACH_BITS = 8 << 31
_MOST_ELEMENTS = 2**31 - 1
_COUNTED_BITS = 8 * (2**32 - 1)
_INDEXED_BITS = 8 * (2**31 - 1)
_SCALE_ROWS = 32
_COPIED_SCALES = 32
"""Scales of a tile's rows from which on the copy engine loads them."""
_MOST_SHARED = 8
"""Workgroups that sum parts of one tile, one after the other."""
_PREFETCHED = {1: 0, 3: 2, 4: 3, 5: 3}
_V2_STAGE_BYTES = 32768


@cache
def constraints_of(signature: GemmSignature, config: Config) -> Constraints:
    """The numbers that a problem of `signature` must satisfy for `config`, one of GEMM's own."""
    return of_whole_sums(signature, config, _constraints(signature, config))


def of_whole_sums(signature: GemmSignature, config: Config, found: Constraints) -> Constraints:
    """Without splits for an epilogue, which takes whole sums, and for stream-K, which splits by itself."""
    if not signature.epilogue and not strategy_of(config).is_stream_k:
        return found
    unsplit: dict[str, Any] = dict.fromkeys(("k_multiple_per_split", "split_grain", "split_turn", "split_lead"), 0)
    return replace(found, max_k_batch=1, atomic_split=False, **unsplit)


def _constraints(signature: GemmSignature, config: Config) -> Constraints:
    if isinstance(config, CkRowwiseConfig):
        return _rowwise(signature, config)
    if isinstance(config, CkBlockScaleConfig):
        return _counted(signature, _block_scale(config))
    if isinstance(config, CkPreshuffledConfig):
        return _counted(signature, _preshuffled(signature, config))
    if isinstance(config, CkTileConfig):
        return _ck_tile(signature, config)
    if isinstance(config, AsmConfig):
        return _counted(signature, _asm(config))
    if isinstance(config, HipConfig):
        return _hip(signature, config)
    if isinstance(config, CutlassConfig):
        return _cutlass(signature, config)
    return Constraints()


def _rowwise(signature: GemmSignature, config: CkRowwiseConfig) -> Constraints:
    """MNKPadding takes any tile tail, in whole vectors; without scales (batched bf16) K is not padded.

    Each matrix within 2 GiB: from there on offsets mean "outside". Padded splits begin at whole vectors.
    """
    vector = math.lcm(config.tile.k // config.a_cluster[0], _ROWWISE_BK1)
    found = Constraints(
        n_multiple=config.c_vector[0],
        k_multiple=vector if signature.quant is Quant.ROWWISE else config.tile.k,
        min_k=_main_loop_k(config.pipeline, _v2_stages(signature, config), config.tile.k),
        max_ab=min(_REACH_BITS // signature.a.bits, _MOST_ELEMENTS),
        max_c=min(_REACH_BITS // signature.c.bits, _MOST_ELEMENTS),
    )
    if signature.batched:
        return found
    return replace(found, split_grain=vector, max_k_batch=MAX_K_BATCH, atomic_split=True)


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
    under_way = 3 if config.pipeline == 2 else 2
    return _with_atomic_split(Constraints(n_multiple=tile.n, k_multiple=tile.k, min_k=under_way * tile.k + 1), tile.k)


def _asm(config: AsmConfig) -> Constraints:
    """As asm_kinds.json says; splits are added to C and take whole K steps."""
    kernel = asm_kernel_of(config)
    found = Constraints(n_multiple=kernel.n_multiple, k_multiple=kernel.k_multiple, min_k=kernel.min_k)
    if kernel.max_splits == 1:
        return found
    return replace(_with_atomic_split(found, config.tile.k), max_k_batch=kernel.max_splits)


def _hip(signature: GemmSignature, config: HipConfig) -> Constraints:
    """Rows of A that one tile holds, K as the kernel steps, each matrix within what a raw buffer reaches."""
    most = envelope().max_bytes * 8
    return Constraints(
        min_m=least_rows(config.kind, config.m),
        max_m=config.m,
        measured_only=config.m >= envelope().measured_only,
        k_multiple=config.k_grain,
        max_ab=most // signature.a.bits,
        max_c=most // signature.c.bits,
    )


def _cutlass(signature: GemmSignature, config: CutlassConfig) -> Constraints:
    """Lines of A, B and C begin at whole accesses of the copy engine, and those of scales that it loads, which are none
    of groups. Splits have whole tiles of K. Groups without K have no descriptor."""
    rows_of_a, rows_of_b = signature.layout.a_is_row_major, signature.layout.b_is_row_major
    access = _VECTOR_BITS // signature.a.bits
    found = Constraints(
        m_multiple=0 if rows_of_a else access,
        n_multiple=max(_VECTOR_BITS // signature.c.bits, access if rows_of_b else 1),
        k_multiple=access if rows_of_a or not rows_of_b else 0,
    )
    if signature.op is Op.GROUPED_GEMM:
        return replace(found, min_k=1)
    copies_scales = config.schedule is CutlassSchedule.KC or config.macro_tile.m >= _COPIED_SCALES
    if signature.quant is Quant.BLOCKSCALE and copies_scales:
        found = replace(found, m_multiple=_VECTOR_BITS // DType.FP32.bits)
    if not config.stream_k:
        return found
    return replace(found, max_k_batch=_MOST_SHARED, split_grain=config.tile.k, min_k=config.tile.k)


def _counted(signature: GemmSignature, found: Constraints) -> Constraints:
    """A and B within what 32 bits count in bytes; these ops do not ask for it."""
    return replace(found, max_ab=_COUNTED_BITS // signature.a.bits)


def _ck_tile(signature: GemmSignature, config: CkTileConfig) -> Constraints:
    """ck_tile's IsSupportedArgument: each contiguous extent in whole vectors, and in whole tiles where not padded."""
    tile = config.tile
    if config.pipeline is TilePipeline.FLATMM:
        return _flatmm(signature, config)
    if config.pipeline is TilePipeline.ABQUANT:
        n_vector = _vector(config, signature.c.bits)
        return _with_atomic_split(Constraints(n_multiple=n_vector, k_multiple=tile.k), tile.k)
    if signature.quant is Quant.NONE:
        return _dense(signature, config)
    if signature.quant in (Quant.ROWWISE, Quant.PER_TENSOR) or geometry.is_group_quant(signature):
        return _scaled(signature, config)
    rows_of_a, rows_of_b = signature.layout.a_is_row_major, signature.layout.b_is_row_major
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


def _dense(signature: GemmSignature, config: CkTileConfig) -> Constraints:
    """The plain pipelines; K is free of its tile if padded, or if neither A nor B is contiguous along it."""
    tile = config.tile
    rows_of_a, rows_of_b = signature.layout.a_is_row_major, signature.layout.b_is_row_major
    of_a, of_b = geometry.load_vectors(signature, config)
    of_c = geometry.store_vector(signature, config)
    k_free = config.pad_k or (not rows_of_a and rows_of_b)
    found = Constraints(
        m_multiple=0 if rows_of_a else of_a if config.pad_m else tile.m,
        n_multiple=max(of_c, of_b if rows_of_b else 1) if config.pad_n else tile.n,
        k_multiple=max(of_a if rows_of_a else 1, 1 if rows_of_b else of_b) if k_free else tile.k,
        min_k=0 if k_free else geometry.least_k(config),
        max_ab=_INDEXED_BITS // signature.a.bits,
        max_c=_INDEXED_BITS // signature.c.bits,
    )
    combines = (signature.a_op, signature.b_op) != (OperandOp.NONE, OperandOp.NONE)
    if combines or signature.bias or (signature.c.bits == 16 and of_c % 2):
        return found
    if not k_free:
        return _with_atomic_split(found, tile.k)
    turn, lead = geometry.turn_and_lead(signature, config)
    found = replace(found, split_grain=config.warp_tile.k, split_turn=turn, split_lead=lead)
    return _with_atomic_split(found, tile.k if turn else 0)


def _flatmm(signature: GemmSignature, config: CkTileConfig) -> Constraints:
    """As its IsSupportedArgument, and what that does not ask for: see docs/upstream/ck_tile_flatmm.md."""
    tile, part = config.tile, config.warp_tile
    found = Constraints(
        n_multiple=max(part.n, geometry.store_vector(signature, config)) if config.pad_n else tile.n,
        k_multiple=part.k if config.pad_k else tile.k,
        max_ab=_INDEXED_BITS // signature.a.bits,
        max_c=_INDEXED_BITS // signature.c.bits,
    )
    return _with_atomic_split(found, tile.k)


def _scaled(signature: GemmSignature, config: CkTileConfig) -> Constraints:
    """QuantGemmKernel, whose scales are of rows, of all, or of groups of one side: K is never split."""
    of_a, of_b = geometry.load_vectors(signature, config)
    return Constraints(
        n_multiple=geometry.store_vector(signature, config) if config.pad_n else config.tile.n,
        k_multiple=max(of_a, of_b) if config.pad_k else config.tile.k,
        max_ab=_INDEXED_BITS // signature.a.bits,
        max_c=_INDEXED_BITS // signature.c.bits,
    )


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
