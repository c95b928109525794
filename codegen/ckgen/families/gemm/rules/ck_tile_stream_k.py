"""ck_tile's stream-K rules: what workgroups that share tiles, and wait for each other, ask beyond the dense kernels."""

from __future__ import annotations

from ckgen.families.gemm import ck_tile_geometry as geometry
from ckgen.families.gemm.config import CkTileConfig, TilePipeline
from ckgen.families.gemm.enums import Quant
from ckgen.families.gemm.rules.ck_tile import RULES
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.arch import ArchKind, ArchSpec
from ckgen.model.finding import RuleFinding
from ckgen.model.strategy import Strategy
from ckgen.rules.checks import broken, exceeds, not_among

_PIPELINES = tuple(str(pipeline) for pipeline in (TilePipeline.MEM, TilePipeline.COMPV3, TilePipeline.COMPV4))
_SOURCE = "ckgen backends/ck_tile/stream_k.hpp"


@RULES.config_rule("ck_tile.stream_k.arch", source=_SOURCE)
def hand_over(config: CkTileConfig, arch: ArchSpec) -> RuleFinding | None:
    """Partial tiles are handed over by memory operations that say how far they reach."""
    if not config.strategy.is_stream_k or arch.cache_scopes:
        return None
    return broken("partial tiles are handed over by scopes of memory operations", arch.name, "an arch that has them")


@RULES.rule("ck_tile.stream_k.plain", source=_SOURCE)
def plain_product(signature: GemmSignature, config: CkTileConfig, arch: ArchSpec) -> RuleFinding | None:
    """The signature is a plain product of one batch: no scales, bias, epilogue or operands of two tensors."""
    if not config.strategy.is_stream_k:
        return None
    plain = signature.quant is Quant.NONE and not (
        signature.bias or signature.batched or signature.preshuffle_b or signature.epilogue
    )
    return None if plain else broken("stream-K computes plain products only", signature.canonical(), "plain")


@RULES.config_rule("ck_tile.stream_k.pipeline", source=_SOURCE)
def pipeline_takes_parts(config: CkTileConfig, arch: ArchSpec) -> RuleFinding | None:
    """The pipeline takes any number of K tiles with all waves: a part of a tile may be a single one."""
    if not config.strategy.is_stream_k:
        return None
    return not_among(str(config.pipeline), _PIPELINES, "a part of a tile may be one K tile, of all waves")


@RULES.config_rule("ck_tile.stream_k.grid", source=_SOURCE)
def grid_is_fixed_once(config: CkTileConfig, arch: ArchSpec) -> RuleFinding | None:
    """The kernel is not persistent too: its grid is fixed already."""
    if not (config.strategy.is_stream_k and config.persistent):
        return None
    return broken("a stream-K kernel's grid is fixed already", "persistent", "not persistent")


@RULES.config_rule("ck_tile.stream_k.undivided_k", source=_SOURCE)
def waves_hold_whole_parts(config: CkTileConfig, arch: ArchSpec) -> RuleFinding | None:
    """Waves and wave groups do not share the K of one tile."""
    if not config.strategy.is_stream_k:
        return None
    return exceeds(config.warps[2] * config.num_wave_groups, 1, "waves that share the K of one tile")


@RULES.rule("ck_tile.stream_k.atomic_c", source="packed 16-bit atomic additions, CDNA 3 ISA")
def c_is_added_to(signature: GemmSignature, config: CkTileConfig, arch: ArchSpec) -> RuleFinding | None:
    """Atomic: 16-bit elements of C are added in pairs."""
    if config.strategy is not Strategy.ATOMIC or signature.c.bits != 16:
        return None
    vector = geometry.store_vector(signature, config)
    return None if vector % 2 == 0 else broken("16-bit elements are added to C in pairs", vector, 2)


@RULES.rule("ck_tile.stream_k.resident", source="stream-K's forward progress: every workgroup is resident")
def workgroups_are_resident(signature: GemmSignature, config: CkTileConfig, arch: ArchSpec) -> RuleFinding | None:
    """block_per_cu workgroups have their LDS on one compute unit, for they wait for each other."""
    if not config.strategy.is_stream_k or config.pipeline not in geometry.DENSE or arch.kind is not ArchKind.GPU:
        return None
    used = config.block_per_cu * geometry.lds_bytes(signature, config, arch.wave_size)
    return exceeds(used, arch.lds_bytes, "bytes of LDS of the workgroups on one compute unit")
