"""What classic CK's XDL device operations ask of a Config."""

from __future__ import annotations

from ckgen.families.gemm.config import CkBlockScaleConfig, CkConfig, CkPreshuffledConfig, CkRowwiseConfig
from ckgen.families.gemm.lds_buffers import lds_buffers
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.arch import ArchSpec, PipelineSpec
from ckgen.model.backend import Backend
from ckgen.model.finding import RuleFinding
from ckgen.rules.checks import broken, exceeds, first, no_multiple, not_among, tile_bytes
from ckgen.rules.rule_set import RuleSet

_CK = Backend.CK
_XDL_WAVE = 64
_DEVICE = "CK device operations, IsValidCompilationParameter"
_NAMES = "field identities of all measured kernel names"

RULES: RuleSet[GemmSignature, CkConfig] = RuleSet(
    Backend.CK, GemmSignature, CkRowwiseConfig, CkBlockScaleConfig, CkPreshuffledConfig
)


@RULES.config_rule("ck.arch.xdl", source="CK XDL device operations: waves of 64")
def arch_has_xdl(config: CkConfig, arch: ArchSpec) -> RuleFinding | None:
    """The arch has matrix instructions for waves of 64."""
    return None if arch.wave_size == _XDL_WAVE else broken(f"{arch.name} runs no XDL kernels", arch.wave_size, 64)


@RULES.config_rule("ck.block.waves", source=_DEVICE)
def block_is_whole_waves(config: CkConfig, arch: ArchSpec) -> RuleFinding | None:
    """The block is whole waves, and no more threads than the arch takes."""
    return first(
        no_multiple(config.block, _XDL_WAVE, "threads per block must be whole waves"),
        exceeds(config.block, arch.max_threads_per_block, "threads per block"),
    )


@RULES.config_rule("ck.tile.waves", source=_DEVICE)
def tile_is_whole_waves(config: CkConfig, arch: ArchSpec) -> RuleFinding | None:
    """M and N are whole waves' parts, and there are as many waves as the block has."""
    tile, per_wave = config.tile, config.xdl_per_wave
    if per_wave is None:
        if config.waves is None:
            return broken("no split of the block's waves divides M, N and the C shuffle", str(tile), config.block)
        return None
    parts = first(
        no_multiple(tile.m, config.xdl[0] * per_wave[0], "tile M must be a multiple of XDL M x XdlPerWave M"),
        no_multiple(tile.n, config.xdl[1] * per_wave[1], "tile N must be a multiple of XDL N x XdlPerWave N"),
    )
    if parts or config.waves is None:
        return parts
    threads = config.waves[0] * config.waves[1] * _XDL_WAVE
    return None if threads == config.block else broken("waves x 64 must be the block", threads, config.block)


@RULES.rule("ck.xdl.exists", source="CK MfmaSelector, matrix instructions")
def xdl_exists(signature: GemmSignature, config: CkConfig, arch: ArchSpec) -> RuleFinding | None:
    """The arch has a matrix instruction of this XDL tile for these types, whose K divides tile K."""
    types = (signature.a, signature.b, signature.acc)
    rows = arch.warp_tiles_for(_CK, *types)
    allowed = tuple(dict.fromkeys(f"{row.tile.m}x{row.tile.n}" for row in rows))
    reason = f"{arch.name} has no such instruction for {'·'.join(map(str, types))}"
    missing = not_among(f"{config.xdl[0]}x{config.xdl[1]}", allowed, reason)
    if missing:
        return missing
    grains = [row.tile.k for row in rows if (row.tile.m, row.tile.n) == config.xdl]
    return no_multiple(config.macro_tile.k, min(grains), "tile K must be a multiple of the instruction's K")


@RULES.config_rule("ck.cluster.k", source=_NAMES)
def clusters_split_k(config: CkConfig, arch: ArchSpec) -> RuleFinding | None:
    """Tile K over a cluster's K0 is a whole number: the AK1 and BK1 that a name may tell."""
    for side, cluster in (("A", config.a_cluster), ("B", config.b_cluster)):
        uneven = no_multiple(config.tile.k, cluster[0], f"tile K must be a multiple of K0 of the {side} cluster")
        told = _told_k1(config, side)
        if uneven:
            return uneven
        if told is not None and config.tile.k // cluster[0] != told:
            return broken(f"tile K / K0 of the {side} cluster must be {side}K1", config.tile.k // cluster[0], told)
    return None


@RULES.config_rule("ck.cluster.block", source=f"{_DEVICE}; measured kernels")
def clusters_share_the_block(config: CkConfig, arch: ArchSpec) -> RuleFinding | None:
    """The A and B clusters take all threads of the block, or an even share of them."""
    return first(*(
        no_multiple(config.block, _product(cluster), f"the block must be a multiple of the {side} cluster's threads")
        for side, cluster in (("A", config.a_cluster), ("B", config.b_cluster))
    ))  # fmt: skip


@RULES.config_rule("ck.cluster.rows", source=_DEVICE)
def clusters_tile_rows(config: CkConfig, arch: ArchSpec) -> RuleFinding | None:
    """Tile M and N are multiples of what a cluster covers in them."""
    return first(
        no_multiple(config.tile.m, config.a_cluster[1], "tile M must be a multiple of M of the A cluster"),
        no_multiple(config.tile.n, config.b_cluster[1], "tile N must be a multiple of N of the B cluster"),
    )


@RULES.config_rule("ck.cluster.c", source=_NAMES)
def c_cluster_is_the_block(config: CkConfig, arch: ArchSpec) -> RuleFinding | None:
    """The C cluster has exactly the block's threads."""
    threads = _product(config.c_cluster)
    return None if threads == config.block else broken("threads of the C cluster", threads, config.block)


@RULES.config_rule("ck.cshuffle.repeats", source=_DEVICE)
def cshuffle_divides_repeats(config: CkConfig, arch: ArchSpec) -> RuleFinding | None:
    """The C shuffle takes whole groups of a wave's XDL tiles."""
    per_wave = config.xdl_per_wave or _repeats(config)
    if per_wave is None:
        return None
    return first(
        no_multiple(per_wave[0], config.cshuffle[0], "XdlPerWave M must be a multiple of the C shuffle's M"),
        no_multiple(per_wave[1], config.cshuffle[1], "XdlPerWave N must be a multiple of the C shuffle's N"),
    )


@RULES.config_rule("ck.cshuffle.stores", source=_DEVICE)
def cshuffle_stores_whole_vectors(config: CkConfig, arch: ArchSpec) -> RuleFinding | None:
    """One C shuffle is whole vectors for every thread of the C cluster."""
    shuffle = _shuffle_tile(config)
    if shuffle is None:
        return None
    return first(
        no_multiple(shuffle[0], config.c_cluster[1], "rows of one C shuffle must be a multiple of the C cluster's"),
        no_multiple(
            shuffle[1], config.c_cluster[3] * config.c_vector[0], "columns of one C shuffle must be whole vectors"
        ),
    )


@RULES.rule("ck.lds.staging", source="CK gridwise GEMMs, LDS of compiled instances")
def lds_staging(signature: GemmSignature, config: CkConfig, arch: ArchSpec) -> RuleFinding | None:
    """A and an unshuffled B, times the pipeline's buffers, fit in a workgroup's LDS."""
    tile = config.macro_tile
    used = tile_bytes(tile.m, tile.k, signature.a.bits)
    if not signature.preshuffle_b:
        used += tile_bytes(tile.n, tile.k, signature.b.bits)
    return exceeds(used * lds_buffers(signature, config, arch), arch.lds_bytes, "bytes of LDS")


@RULES.rule("ck.lds.cshuffle", source="CK gridwise GEMMs, C shuffle block descriptor")
def lds_cshuffle(signature: GemmSignature, config: CkConfig, arch: ArchSpec) -> RuleFinding | None:
    """One C shuffle fits in a workgroup's LDS."""
    shuffle = _shuffle_tile(config)
    if shuffle is None:
        return None
    return exceeds(tile_bytes(*shuffle, signature.c.bits), arch.lds_bytes, "bytes of LDS for the C shuffle")


@RULES.config_rule("ck.pipeline.exists", source="CK block GEMM pipelines")
def pipeline_exists(config: CkConfig, arch: ArchSpec) -> RuleFinding | None:
    """The arch has the pipeline version."""
    names = tuple(row.name for row in arch.pipelines if row.backend is _CK)
    return not_among(f"v{config.pipeline}", names, f"{arch.name} has no such ck pipeline")


@RULES.config_rule("ck.pipeline.scheduler", source="CK block GEMM pipelines")
def pipeline_schedules(config: CkConfig, arch: ArchSpec) -> RuleFinding | None:
    """The pipeline version has the scheduler."""
    pipeline = _pipeline(config, arch)
    if pipeline is None:
        return None
    return not_among(config.scheduler.value, pipeline.schedulers, f"{pipeline.name} has no such scheduler")


@RULES.config_rule("ck.scale.k", source="CK block-scale device operations")
def scale_blocks_are_whole(config: CkConfig, arch: ArchSpec) -> RuleFinding | None:
    """With block scales, tile K holds whole scale blocks."""
    block = config.scale_block if isinstance(config, CkBlockScaleConfig | CkPreshuffledConfig) else None
    return no_multiple(config.macro_tile.k, block[2], "tile K must hold whole scale blocks") if block else None


def _told_k1(config: CkConfig, side: str) -> int | None:
    if not isinstance(config, CkBlockScaleConfig | CkPreshuffledConfig):
        return None
    return config.ak1 if side == "A" else config.bk1


def _repeats(config: CkConfig) -> tuple[int, int] | None:
    """XdlPerWave by the fewest waves along M that divide, where the name does not tell it."""
    if config.waves is None:
        return None
    m, n, _ = config.waves
    return config.tile.m // (m * config.xdl[0]), config.tile.n // (n * config.xdl[1])


def _shuffle_tile(config: CkConfig) -> tuple[int, int] | None:
    if config.waves is None:
        return None
    m, n, _ = config.waves
    return m * config.xdl[0] * config.cshuffle[0], n * config.xdl[1] * config.cshuffle[1]


def _pipeline(config: CkConfig, arch: ArchSpec) -> PipelineSpec | None:
    return arch.pipeline(_CK, f"v{config.pipeline}")


def _product(values: tuple[int, ...]) -> int:
    found = 1
    for value in values:
        found *= value
    return found
