"""What ckgen's own MX-FP8 kernels are good for: few rows, on the arch that has the scaled instructions."""

from __future__ import annotations

from dataclasses import replace

from ckgen.families.gemm.enums import NO_MOE, MoePart, Op
from ckgen.families.gemm.hip_config import HipConfig, HipKind
from ckgen.families.gemm.mxfp8_envelope import envelope
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.arch import ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.finding import RuleFinding
from ckgen.rules.checks import broken, exceeds, first, not_among
from ckgen.rules.rule_set import RuleSet

_HEADERS = "dispatcher_cpp/backends/hip/mxfp8_*.hpp"
_PRODUCT = "gemm_fp8_ocp_bf16_rcr_mx"
_MOST_SUMS = 64
_REGISTERS = 512
_SIMDS = 4
_ADDRESSES = 40
_STEP_REGISTERS = 9
"""Of a tile: 32 bytes of a lane and a scale."""
_CHUNK_REGISTERS = 16
_ROWS_UNDER_WAY = 48
"""Four rows of A as loaded, one converted, addresses."""


RULES = RuleSet(Backend.HIP, GemmSignature, HipConfig)


@RULES.config_rule("hip.mxfp8.arch", source=_HEADERS)
def has_scaled_instructions(config: HipConfig, arch: ArchSpec) -> RuleFinding | None:
    """The arch is one that the kernels are not empty on."""
    needed = envelope().instruction
    has = arch.instruction(needed) is not None
    return None if has else broken("the arch has no scaled 8-bit instructions", arch.name, needed)


@RULES.rule("hip.mxfp8.signature", source=_HEADERS)
def computes_the_signature(signature: GemmSignature, config: HipConfig, arch: ArchSpec) -> RuleFinding | None:
    """The kernel computes the signature: e4m3 operands, e8m0 scales of 32, bf16 C; of experts, a part of a layer."""
    product = signature
    if config.kind.is_moe and signature.op is Op.MOE and signature.moe.part is not MoePart.LAYER:
        product = replace(signature, op=Op.GEMM, epilogue=(), moe=NO_MOE)
    is_part = product is not signature
    computed = () if config.kind.is_moe and not is_part else (_PRODUCT,)
    return not_among(product.canonical(), computed, f"{config.text()} computes another product")


@RULES.config_rule("hip.mxfp8.numbers", source=_HEADERS)
def is_of_the_envelope(config: HipConfig, arch: ArchSpec) -> RuleFinding | None:
    """Rows, groups, splits and block_n are those that the kernels are written for."""
    found = envelope().kinds[config.kind]
    named = (
        ("m", config.m, found.m),
        ("n_sub", config.n_sub, found.n_sub),
        ("k_splits", config.k_splits, found.k_splits),
        ("block_n", config.block_n, found.block_n),
    )
    return first(*(not_among(str(value), tuple(map(str, taken)), name) for name, value, taken in named))


@RULES.config_rule("hip.mxfp8.sums", source=_HEADERS)
def sums_of_a_wave(config: HipConfig, arch: ArchSpec) -> RuleFinding | None:
    """A GEMV's sums fit the lanes of a wave, four to a register."""
    if config.kind is not HipKind.GEMV:
        return None
    sums = config.m * config.columns
    if sums % 4:
        return broken("the sums of a wave come four to a register", sums, 4)
    return exceeds(sums, _MOST_SUMS, "a wave's lanes hold the sums of all of them in the end")


@RULES.config_rule("hip.mxfp8.lds", source=_HEADERS)
def lds_of_the_splits(config: HipConfig, arch: ArchSpec) -> RuleFinding | None:
    """The sums of all splits fit the LDS of a workgroup."""
    return exceeds(config.lds_bytes, arch.lds_bytes, "bytes of the splits' sums")


@RULES.config_rule("hip.mxfp8.registers", source=_HEADERS)
def registers_of_a_wave(config: HipConfig, arch: ArchSpec) -> RuleFinding | None:
    """Sums and operands leave registers for all waves: of a GEMV for two on a SIMD, else for those of the workgroup."""
    if config.kind is HipKind.GEMV:
        needed = 2 * config.m * config.columns + _CHUNK_REGISTERS * config.columns + _ROWS_UNDER_WAY
        return exceeds(needed, _REGISTERS // 2, "registers of a lane")
    needed = 4 * config.tiles * config.n_sub + 2 * _STEP_REGISTERS * (config.tiles + config.n_sub) + _ADDRESSES
    return exceeds(needed, _REGISTERS // -(-config.k_splits // _SIMDS), "registers of a lane")
