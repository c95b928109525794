"""What classic CK's MoE GEMMs ask of a Config: DeviceMoeGemm and its kin, over preshuffled weights."""

from __future__ import annotations

from ckgen.families.gemm.enums import MoePart, Op, Quant
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.moe.ck_config import CkMoeConfig, CkMoeOp
from ckgen.families.moe.lds import XDL, lds_bytes
from ckgen.model.arch import ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.finding import RuleFinding
from ckgen.rules.checks import broken, exceeds, first, no_multiple, not_among
from ckgen.rules.rule_set import RuleSet

_CK = Backend.CK
_WAVE = 64
_DEVICE = "DeviceMoeGemm and its kin in the pinned CK tree"
_PIPELINES = ("1", "3")
_CASTS = frozenset({CkMoeOp.CAST, CkMoeOp.CAST_WEIGHT})
_SCALES = frozenset({CkMoeOp.SCALE, CkMoeOp.SCALE_WEIGHT})
# The peer's ops of both kinds cast the sum, and CK's kernel multiplies by the scales: tables name either for 8 bits.
_OPS = {
    Quant.NONE: _CASTS,
    Quant.PER_TENSOR: _SCALES | _CASTS,
    Quant.ROWWISE: _SCALES | _CASTS,
    Quant.BLOCKSCALE: frozenset({CkMoeOp.BLOCK_SCALE, CkMoeOp.BLOCK_SCALE_SPLITK}),
    Quant.MX: frozenset({CkMoeOp.SCALE_SHUFFLED, CkMoeOp.SCALE_WEIGHT_SHUFFLED}),
}

RULES = RuleSet(Backend.CK, GemmSignature, CkMoeConfig)


@RULES.rule("ck.moe.part", source=_DEVICE)
def computes_the_part(signature: GemmSignature, config: CkMoeConfig, arch: ArchSpec) -> RuleFinding | None:
    """A part of an MoE layer with preshuffled weights; gate_up with a gate."""
    part = str(signature.moe.part) if signature.op is Op.MOE else str(signature.op)
    wanted = not_among(part, (MoePart.GATE_UP.value, MoePart.DOWN.value), "a kernel computes one part")
    if wanted:
        return wanted
    if not signature.preshuffle_b:
        return broken("weights must be preshuffled", "plain", "preshuffle")
    ungated = signature.moe.part is MoePart.GATE_UP and not signature.moe.gated
    return broken("gate_up must have gate and up rows", "ungated", "gated") if ungated else None


@RULES.rule("ck.moe.op", source="the peer's kernel names")
def op_is_of_the_scales(signature: GemmSignature, config: CkMoeConfig, arch: ArchSpec) -> RuleFinding | None:
    """The Config's op is one of the signature's scheme of scales."""
    allowed = tuple(sorted(map(str, _OPS[signature.quant])))
    return not_among(str(config.op), allowed, f"quantisation {signature.quant} has other ops")


@RULES.config_rule("ck.moe.waves", source=_DEVICE)
def block_is_the_wave_grid(config: CkMoeConfig, arch: ArchSpec) -> RuleFinding | None:
    """The block is the wave grid's waves of 64; M and N are whole XDL tiles of 16 in each wave."""
    waves_m, waves_n = config.wave_grid
    if arch.wave_size != _WAVE:
        return broken(f"{arch.name} runs no XDL kernels", arch.wave_size, _WAVE)
    if config.block != waves_m * waves_n * _WAVE:
        return broken("waves x 64 must be the block", waves_m * waves_n * _WAVE, config.block)
    return first(
        exceeds(config.block, arch.max_threads_per_block, "threads per block"),
        no_multiple(config.tile.m, XDL * waves_m, "tile M must be whole XDL tiles of each wave"),
        no_multiple(config.tile.n, XDL * waves_n, "tile N must be whole XDL tiles of each wave"),
    )


@RULES.rule("ck.moe.xdl", source="CK MfmaSelector, matrix instructions")
def xdl_exists(signature: GemmSignature, config: CkMoeConfig, arch: ArchSpec) -> RuleFinding | None:
    """The arch has a matrix instruction of 16x16 for these types, whose K divides tile K."""
    types = (signature.a, signature.b, signature.acc)
    grains = [row.tile.k for row in arch.warp_tiles_for(_CK, *types) if (row.tile.m, row.tile.n) == (XDL, XDL)]
    if not grains:
        return broken(f"{arch.name} has no such instruction for {'·'.join(map(str, types))}", "16x16", "none")
    return no_multiple(config.macro_tile.k, min(grains), "tile K must be a multiple of the instruction's K")


@RULES.config_rule("ck.moe.pipeline", source=_DEVICE)
def pipeline_exists(config: CkMoeConfig, arch: ArchSpec) -> RuleFinding | None:
    """The pipeline is one that CK has over preshuffled weights; none of them splits K."""
    if config.op.splits_k:
        return broken("CK's MoE GEMMs do not split K", str(config.op), "no splits")
    return not_among(str(config.pipeline), _PIPELINES, "CK's MoE GEMMs have other pipelines")


@RULES.rule("ck.moe.lds", source="GetSharedMemoryNumberOfByte in gridwise_moe_gemm.hpp and its kin")
def tiles_fit_in_lds(signature: GemmSignature, config: CkMoeConfig, arch: ArchSpec) -> RuleFinding | None:
    """A's tiles and C's, which take the same place, fit in LDS."""
    if min(config.wave_grid) < 1:
        return None
    return exceeds(lds_bytes(signature, config), arch.lds_bytes, "bytes of LDS")
