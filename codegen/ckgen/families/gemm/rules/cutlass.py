"""What CUTLASS's warp-specialised GEMMs compute, and on what."""

from __future__ import annotations

from ckgen.families.gemm.cutlass_config import INSTRUCTION_M, CutlassConfig, CutlassSchedule
from ckgen.families.gemm.enums import Layout, Op, OperandOp, Quant, ScaleSides
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.arch import ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.dtype import DType
from ckgen.model.finding import RuleFinding
from ckgen.rules.checks import broken, exceeds, first, no_multiple, not_among
from ckgen.rules.rule_set import RuleSet

_HEADER = "dispatcher_cpp/backends/cutlass/gemm.hpp"
_CUTLASS = "CUTLASS 4.2 sm90_gmma_builder"
_WIDE = tuple(map(str, (DType.BF16, DType.FP16)))
_NARROW = tuple(map(str, (DType.FP8_OCP, DType.BF8_OCP, DType.INT8)))
_SCALED = tuple(map(str, (Quant.PER_TENSOR, Quant.ROWWISE, Quant.BLOCKSCALE)))
_OF_INT8 = tuple(map(str, (Quant.NONE, Quant.PER_TENSOR, Quant.ROWWISE)))
_OPS = (str(Op.GEMM), str(Op.GROUPED_GEMM))
_WIDE_BITS = 16
_MOST_SUMS = 192
_K_BYTES = 128
_BLOCK = 128
_ROWS_OF_PARTS = (str(INSTRUCTION_M), str(2 * INSTRUCTION_M))
_RESERVED = 1024
"""Bytes of shared memory that CUDA keeps of every workgroup."""

RULES = RuleSet(Backend.CUTLASS, GemmSignature, CutlassConfig)


@RULES.rule("cutlass.signature", source=_HEADER)
def is_a_product_of_rows(signature: GemmSignature, config: CutlassConfig, arch: ArchSpec) -> RuleFinding | None:
    """A GEMM, a batch or groups of them, of A and B as they are: of 16-bit floats in any layout, but in groups."""
    has_any_layout = signature.a.bits == _WIDE_BITS and not _is_grouped(signature)
    asked = (
        (str(signature.op), _OPS, "op"),
        (str(signature.layout), tuple(map(str, Layout)) if has_any_layout else (str(Layout.RCR),), "layout"),
        (str(signature.a_op), (str(OperandOp.NONE),), "operation on A"),
        (str(signature.b_op), (str(OperandOp.NONE),), "operation on B"),
    )
    found = first(*(not_among(has, wants, f"the kernels compute {what}") for has, wants, what in asked))
    preshuffled = broken("the kernels read B as it is", "preshuffled B", "none") if signature.preshuffle_b else None
    return found or preshuffled


@RULES.rule("cutlass.store", source="dispatcher_cpp/backends/cutlass/store.hpp")
def stores_of_whole_sums(signature: GemmSignature, config: CutlassConfig, arch: ArchSpec) -> RuleFinding | None:
    """A bias and the ops of an epilogue follow whole sums, without block scales or stream-K.

    An int32 C is the bare sum.
    """
    if not signature.bias and not signature.epilogue:
        return None
    beside = {
        "block scales": signature.quant is Quant.BLOCKSCALE,
        "stream-K": config.stream_k,
        "bare sums": signature.c is DType.INT32,
    }
    found = next((name for name, has in beside.items() if has), None)
    return broken("a bias or an epilogue stands beside whole sums", found, "none") if found else None


@RULES.rule("cutlass.types", source=_HEADER)
def types_are_floats(signature: GemmSignature, config: CutlassConfig, arch: ArchSpec) -> RuleFinding | None:
    """A and B of one 16-bit float, C of it, without scales; or of one 8-bit type, C a 16-bit float, with fp32 scales.

    Sums are in fp32, of int8 in int32, which leave the matrix unit at the end: there are no scales of blocks, and
    without scales C is int32.
    """
    is_narrow, is_whole = str(signature.a) in _NARROW, signature.a is DType.INT8
    is_bare = is_whole and signature.quant is Quant.NONE
    scales = _OF_INT8 if is_whole else _SCALED if is_narrow else (str(Quant.NONE),)
    results = (str(DType.INT32),) if is_bare else _WIDE if is_narrow else (str(signature.a),)
    return first(
        not_among(str(signature.a), (*_WIDE, *_NARROW), "the kernels multiply"),
        not_among(str(signature.b), (str(signature.a),), "B is of A's type"),
        not_among(str(signature.c), results, "C is"),
        not_among(str(signature.quant), scales, "of these types scales are"),
        not_among(str(signature.scale), (str(DType.FP32),), "scales are in") if is_narrow and not is_bare else None,
        not_among(str(signature.acc), (str(DType.INT32 if is_whole else DType.FP32),), "sums are in"),
    )


@RULES.rule("cutlass.blocks", source="CUTLASS 4.2 sm90_mma_tma_gmma_ss_warpspecialized_fp8_blockwise_scaling")
def blocks_fill_tiles(signature: GemmSignature, config: CutlassConfig, arch: ArchSpec) -> RuleFinding | None:
    """Scales of 1 x 128 of A and 128 x 128 of B; tiles of whole blocks of B or, of kc, in one; one along K; no cluster.

    Sums are kept twice. In a cluster along M or N compute-sanitizer sees scales written while they are read.
    """
    if signature.quant is not Quant.BLOCKSCALE:
        return None
    block, of_b = signature.scale_block, config.macro_tile.n
    is_in_one = config.schedule is CutlassSchedule.KC and _BLOCK % of_b == 0
    found = first(
        not_among(str(block.sides), (str(ScaleSides.BOTH),), "scales are of"),
        not_among(f"{block.n}x{block.k}", (f"{_BLOCK}x{_BLOCK}",), "a block of B is"),
        not_among(str(config.tile.k), (str(_BLOCK),), "tile K must be a block's"),
        None if is_in_one else no_multiple(of_b, _BLOCK, "tiles must have whole blocks of B"),
        exceeds(config.sums_per_thread, _MOST_SUMS // 2, "sums of a thread"),
        exceeds(config.cluster[0] * config.cluster[1], 1, "workgroups of a cluster"),
    )
    return found or (broken("stream-K has no block scales", "sk", "none") if config.stream_k else None)


@RULES.rule("cutlass.stream-k", source="CUTLASS 4.2 sm90_gemm_tma_warpspecialized_cooperative")
def shared_tiles_are_cooperative(signature: GemmSignature, config: CutlassConfig, arch: ArchSpec) -> RuleFinding | None:
    """Stream-K comes with the cooperative schedule, of one product."""
    if not config.stream_k:
        return None
    many = "a batch" if signature.batched else "groups" if _is_grouped(signature) else ""
    shared = broken("stream-K shares one product's tiles", many, "one") if many else None
    return shared or not_among(str(config.schedule), (str(CutlassSchedule.CO),), "stream-K has the schedule")


@RULES.rule("cutlass.parts", source="dispatcher_cpp/backends/cutlass/cluster_k.hpp")
def parts_meet_in_a_cluster(signature: GemmSignature, config: CutlassConfig, arch: ArchSpec) -> RuleFinding | None:
    """Only kc has K in parts, as many as a cluster has workgroups: of 16-bit floats or with block scales.

    Its tiles are of one warpgroup or two; two stages fit its part of an SM. Of one part with block scales
    compute-sanitizer sees scales written while they are read.
    """
    if config.schedule is not CutlassSchedule.KC:
        return exceeds(config.parts, 1, "parts of K without the schedule kc")
    beside = {
        "stream-K": config.stream_k,
        "groups": _is_grouped(signature),
        "a cluster along M or N": config.cluster != (1, 1),
    }
    found = next((name for name, has in beside.items() if has), None)
    part = arch.lds_bytes // config.resident - 2 * _RESERVED
    has_blocks = signature.quant is Quant.BLOCKSCALE
    return first(
        broken("a cluster that shares K has the whole of a product", found, "none") if found else None,
        None if has_blocks else not_among(str(signature.a), _WIDE, "a cluster that shares K multiplies"),
        broken("block scales of K in parts have", "1 part", "2 and more") if has_blocks and config.parts == 1 else None,
        not_among(str(config.tile.m), _ROWS_OF_PARTS, "tile M must be the instruction's of one warpgroup or two:"),
        exceeds(config.parts, arch.max_cluster, "workgroups of a cluster"),
        exceeds(config.least_shared_bytes(signature.a.bits), part, "bytes of shared memory of two stages"),
    )


@RULES.rule("cutlass.instruction", source=_CUTLASS)
def has_its_instruction(signature: GemmSignature, config: CutlassConfig, arch: ArchSpec) -> RuleFinding | None:
    """The arch has a matrix instruction of a warpgroup that is as wide as the tile."""
    known = {
        str(row.tile)
        for row in arch.matrix_instructions
        if (row.a, row.b, row.acc) == (signature.a, signature.b, signature.acc)
    }
    wanted = next((tile for tile in known if tile.startswith(f"{INSTRUCTION_M}x{config.tile.n}x")), None)
    if wanted is not None:
        return None
    return broken(f"{arch.name} has no matrix instruction of that width", config.tile.n, f"of {len(known)} tiles")


@RULES.rule("cutlass.tile", source=_CUTLASS)
def tile_is_whole(signature: GemmSignature, config: CutlassConfig, arch: ArchSpec) -> RuleFinding | None:
    """M in whole instructions of each warpgroup, N in whole stores, K in whole swizzled lines of shared memory."""
    rows = INSTRUCTION_M * (2 if config.schedule is CutlassSchedule.CO else 1)
    return first(
        no_multiple(config.tile.m, rows, "tile M must be whole instructions of its warpgroups"),
        no_multiple(config.tile.n, 16, "tile N must be whole stores"),
        no_multiple(config.tile.k * signature.a.bits // 8, _K_BYTES, "bytes of tile K must be whole swizzled lines"),
        exceeds(config.sums_per_thread, _MOST_SUMS, "sums of a thread"),
    )


@RULES.rule("cutlass.shared", source=_CUTLASS)
def two_stages_fit(signature: GemmSignature, config: CutlassConfig, arch: ArchSpec) -> RuleFinding | None:
    """Two stages of A and B, and C on its way out, fit a workgroup's shared memory."""
    stores = min(config.macro_tile.m * config.macro_tile.n * signature.c.bits // 8, 32768)
    return exceeds(config.least_shared_bytes(signature.a.bits) + stores, arch.lds_bytes, "bytes of shared memory")


@RULES.config_rule("cutlass.cluster", source="arch_specs")
def cluster_fits(config: CutlassConfig, arch: ArchSpec) -> RuleFinding | None:
    """A cluster of as many workgroups as the arch has, a power of two along each side."""
    m, n = config.cluster
    if m & (m - 1) or n & (n - 1):
        return broken("sides of a cluster must be powers of two", f"{m}x{n}", "1 2 4")
    return first(
        exceeds(m * n, arch.max_cluster, "workgroups of a cluster"),
        exceeds(config.threads, arch.max_threads_per_block, "threads of a workgroup"),
    )


def _is_grouped(signature: GemmSignature) -> bool:
    return signature.op is Op.GROUPED_GEMM
