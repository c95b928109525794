"""What ck_tile's GEMM kernels ask of a Config."""

from __future__ import annotations

from ckgen.families.gemm.ck_tile_geometry import multiplied
from ckgen.families.gemm.config import CkTileConfig, Epilogue, TilePipeline
from ckgen.families.gemm.enums import Quant
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.arch import ArchKind, ArchSpec, BOperand, PipelineSpec
from ckgen.model.backend import Backend
from ckgen.model.dtype import DType
from ckgen.model.finding import RuleFinding
from ckgen.rules.checks import broken, exceeds, first, no_multiple, not_among, tile_bytes
from ckgen.rules.rule_set import RuleSet

_TILE = Backend.CK_TILE
_DISPATCHER = "CK dispatcher, arch_filter"
_MIN_TILE = (16, 16, 8)
_LOAD_BYTES = 16
_SCALE_K = 128
_SHUFFLE_HAZARD = 32

RULES = RuleSet(Backend.CK_TILE, GemmSignature, CkTileConfig)


@RULES.config_rule("ck_tile.arch.gpu", source="ck_tile compiles for AMD GPUs only")
def arch_is_gpu(config: CkTileConfig, arch: ArchSpec) -> RuleFinding | None:
    """The arch is a GPU."""
    return not_among(arch.kind.value, (ArchKind.GPU.value,), f"{arch.name} cannot run ck_tile kernels")


@RULES.config_rule("ck_tile.tile.minimum", source=_DISPATCHER)
def tile_minimum(config: CkTileConfig, arch: ArchSpec) -> RuleFinding | None:
    """The block tile is a positive multiple of 16 x 16 x 8."""
    tile = config.tile
    pairs = zip("MNK", (tile.m, tile.n, tile.k), _MIN_TILE, strict=True)
    return first(
        *(no_multiple(extent, grain, f"tile {axis} must be a multiple of {grain}") for axis, extent, grain in pairs)
    )


@RULES.config_rule("ck_tile.tile.waves", source=_DISPATCHER)
def tile_is_whole_warp_tiles(config: CkTileConfig, arch: ArchSpec) -> RuleFinding | None:
    """The block tile is a multiple of waves times warp tile along M, N and K."""
    extents = (config.tile.m, config.tile.n, config.tile.k)
    parts = (config.warp_tile.m, config.warp_tile.n, config.warp_tile.k)
    found = (
        no_multiple(extent, waves * part, f"tile {axis} must be a multiple of waves x warp tile")
        for axis, extent, waves, part in zip("MNK", extents, config.warps, parts, strict=True)
    )
    return first(*found)


@RULES.config_rule("ck_tile.waves.supported", source=f"{_DISPATCHER}; measured kernels")
def waves_are_supported(config: CkTileConfig, arch: ArchSpec) -> RuleFinding | None:
    """Waves per block are one of the combinations that the arch runs; compv5 has its own along K."""
    if config.pipeline is TilePipeline.COMPV5 or config.warps in arch.waves_per_block:
        return None
    allowed = tuple("x".join(map(str, waves)) for waves in arch.waves_per_block)
    return not_among("x".join(map(str, config.warps)), allowed, f"{arch.name} does not run these waves per block")


@RULES.config_rule("ck_tile.waves.threads", source="HIP: threads per block")
def threads_per_block(config: CkTileConfig, arch: ArchSpec) -> RuleFinding | None:
    """Waves times wave size do not exceed the arch's threads per block."""
    threads = config.warps[0] * config.warps[1] * config.warps[2] * arch.wave_size
    return exceeds(threads, arch.max_threads_per_block, "threads per block")


@RULES.config_rule("ck_tile.waves.pipeline", source="CK dispatcher, per-arch validity table")
def waves_of_pipeline(config: CkTileConfig, arch: ArchSpec) -> RuleFinding | None:
    """A pipeline that is wrong above some number of waves on this arch stays below it."""
    pipeline = _pipeline(config, arch)
    if pipeline is None or not pipeline.max_waves:
        return None
    waves = config.warps[0] * config.warps[1] * config.warps[2]
    return exceeds(waves, pipeline.max_waves, f"waves per block with {pipeline.name} on {arch.name}")


@RULES.rule("ck_tile.warp_tile.exists", source="ck_tile warp_gemm_dispatcher, matrix instructions")
def warp_tile_exists(signature: GemmSignature, config: CkTileConfig, arch: ArchSpec) -> RuleFinding | None:
    """The warp tile is one that ck_tile makes of this arch's matrix instructions for these types."""
    types = (*multiplied(signature), signature.acc)
    tiles = arch.warp_tiles_for(_TILE, *types, preshuffle=_reads_past_lds(config, arch))
    if any(row.tile == config.warp_tile for row in tiles):
        return None
    allowed = tuple(dict.fromkeys(str(row.tile) for row in tiles))
    reason = f"{arch.name} has no such warp tile for {'·'.join(map(str, types))}"
    return not_among(str(config.warp_tile), allowed, reason)


@RULES.rule("ck_tile.warp_tile.sparse", source="ck_tile warp_gemm_dispatcher")
def sparse_is_fp16(signature: GemmSignature, config: CkTileConfig, arch: ArchSpec) -> RuleFinding | None:
    """2:4 structured sparsity is there for fp16 only."""
    if not config.structured_sparsity or signature.a is DType.FP16:
        return None
    return not_among(str(signature.a), (str(DType.FP16),), "structured sparsity needs fp16 operands")


@RULES.config_rule("ck_tile.pipeline.exists", source=_DISPATCHER)
def pipeline_exists(config: CkTileConfig, arch: ArchSpec) -> RuleFinding | None:
    """The arch has the pipeline."""
    if _pipeline(config, arch) is not None:
        return None
    names = tuple(row.name for row in arch.pipelines if row.backend is _TILE)
    return not_among(config.pipeline.value, names, f"{arch.name} has no such ck_tile pipeline")


@RULES.config_rule("ck_tile.pipeline.scheduler", source=_DISPATCHER)
def pipeline_schedules(config: CkTileConfig, arch: ArchSpec) -> RuleFinding | None:
    """The pipeline has the scheduler; a name without one leaves it to the pipeline."""
    pipeline = _pipeline(config, arch)
    if pipeline is None or config.scheduler is None:
        return None
    return not_among(config.scheduler.value, pipeline.schedulers, f"{pipeline.name} has no such scheduler")


@RULES.rule("ck_tile.pipeline.b", source="ck_tile pipelines; measured kernels")
def pipeline_reads_b(signature: GemmSignature, config: CkTileConfig, arch: ArchSpec) -> RuleFinding | None:
    """A preshuffled B goes with a pipeline that reads it, a plain B with one that stages it."""
    pipeline = _pipeline(config, arch)
    if pipeline is None or pipeline.b_operand is BOperand.EITHER:
        return None
    given = BOperand.PRESHUFFLED if signature.preshuffle_b else BOperand.STAGED
    return not_among(given.value, (pipeline.b_operand.value,), f"{pipeline.name} cannot read this B")


@RULES.rule("ck_tile.pipeline.scale_k", source="ck_tile block-scale pipelines")
def scale_blocks_are_whole(signature: GemmSignature, config: CkTileConfig, arch: ArchSpec) -> RuleFinding | None:
    """With block scales, tile K holds whole scale blocks of 128."""
    if signature.quant is not Quant.BLOCKSCALE or config.pipeline is not TilePipeline.ABQUANT:
        return None
    return no_multiple(config.tile.k, _SCALE_K, "tile K must hold whole scale blocks")


@RULES.rule("ck_tile.lds.staging", source="ck_tile pipelines, GetSmemSize")
def lds_staging(signature: GemmSignature, config: CkTileConfig, arch: ArchSpec) -> RuleFinding | None:
    """A and a staged B, in one buffer of the pipeline's, fit in its share of a workgroup's LDS."""
    pipeline = _pipeline(config, arch)
    if pipeline is None:
        return None
    used = tile_bytes(config.tile.m, config.tile.k, signature.a.bits)
    if not signature.preshuffle_b:
        used += tile_bytes(config.tile.n, config.tile.k, multiplied(signature)[1].bits)
    limit = pipeline.lds_budget(arch.lds_bytes)
    return exceeds(used, min(limit, arch.lds_bytes // 2) if config.double_smem else limit, "bytes of LDS per buffer")


@RULES.rule("ck_tile.lds.epilogue", source="ck_tile cshuffle epilogue, GetSmemSize")
def lds_epilogue(signature: GemmSignature, config: CkTileConfig, arch: ArchSpec) -> RuleFinding | None:
    """The C-shuffle's tile, one warp tile per wave, fits in a workgroup's LDS."""
    if config.epilogue is not Epilogue.CSHUFFLE:
        return None
    rows, columns = config.warps[0] * config.warp_tile.m, config.warps[1] * config.warp_tile.n
    return exceeds(tile_bytes(rows, columns, signature.c.bits), arch.lds_bytes, "bytes of LDS for the epilogue")


@RULES.config_rule("ck_tile.epilogue.repeat", source="CK dispatcher, cshuffle store gate")
def epilogue_repeat(config: CkTileConfig, arch: ArchSpec) -> RuleFinding | None:
    """With a C-shuffle, a 32-wide warp tile does not repeat an odd number of times above one: C would be wrong."""
    if config.epilogue is not Epilogue.CSHUFFLE:
        return None
    sides = (
        (config.tile.m, config.warps[0], config.warp_tile.m, "M"),
        (config.tile.n, config.warps[1], config.warp_tile.n, "N"),
    )
    for extent, waves, part, axis in sides:
        repeat = extent // max(waves * part, 1)
        if part == _SHUFFLE_HAZARD and repeat > 1 and repeat % 2:
            return broken(f"odd repeat of a 32-wide warp tile along {axis} under cshuffle", repeat, "1 or even")
    return None


@RULES.rule("ck_tile.preshuffle.loads", source="CK dispatcher, preshuffle validity")
def preshuffle_loads(signature: GemmSignature, config: CkTileConfig, arch: ArchSpec) -> RuleFinding | None:
    """Past-LDS pipelines load A in whole 16-byte vectors, and the waves' rows tile M evenly."""
    if not _reads_past_lds(config, arch) or config.warps[0] * config.warp_tile.m == 0:
        return None
    repeats = config.tile.m // (config.warps[0] * config.warp_tile.m)
    lane = tile_bytes(config.warp_tile.m * repeats, config.warp_tile.k, signature.a.bits) // arch.wave_size
    per_load = _LOAD_BYTES * 8 // signature.a.bits
    columns = config.tile.k // per_load
    spread = first(
        no_multiple(lane, _LOAD_BYTES, "bytes of A per lane must be whole 16-byte loads"),
        no_multiple(config.tile.k, per_load, "tile K must be whole 16-byte loads"),
        no_multiple(arch.wave_size, columns, "a wave must cover whole rows of A's tile"),
    )
    if spread:
        return spread
    rows = arch.wave_size // columns * config.warps[0] * config.warps[1] * config.warps[2]
    return no_multiple(config.tile.m, rows, "tile M must be a multiple of the rows that all waves load")


def _pipeline(config: CkTileConfig, arch: ArchSpec) -> PipelineSpec | None:
    return arch.pipeline(_TILE, config.pipeline.value)


def _reads_past_lds(config: CkTileConfig, arch: ArchSpec) -> bool:
    pipeline = _pipeline(config, arch)
    return pipeline is not None and pipeline.b_operand is BOperand.PRESHUFFLED
