"""What ckgen's own attention kernel over a KV cache is written for."""

from __future__ import annotations

from ckgen.families.fmha.enums import FmhaBias, FmhaDropout, FmhaEntry, FmhaQuant
from ckgen.families.fmha.hip_config import ROWS, HipFmhaConfig, product_of, step_of
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.model.arch import ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.dtype import DType
from ckgen.model.finding import RuleFinding
from ckgen.rules.checks import broken, exceeds, first, no_multiple, not_among
from ckgen.rules.rule_set import RuleSet

_HEADERS = "dispatcher_cpp/backends/hip/fmha_decode*.hpp"
_HEAD_DIM_GRAIN = 64
_MAX_HEAD_DIM = 256

RULES = RuleSet(Backend.HIP, FmhaSignature, HipFmhaConfig)


@RULES.config_rule("hip.fmha.arch", source=_HEADERS)
def has_the_instructions(config: HipFmhaConfig, arch: ArchSpec) -> RuleFinding | None:
    """The arch is one that the kernel is not empty on: it has products of bf16, as of fp16."""
    has = product_of(DType.BF16, arch) is not None
    return None if has else broken("the kernel is for archs with matrix instructions of bf16", arch.name, "16x16x16")


@RULES.rule("hip.fmha.types", source=_HEADERS)
def types_are_taken(signature: FmhaSignature, config: HipFmhaConfig, arch: ArchSpec) -> RuleFinding | None:
    """Q and O are bf16 or fp16; K and V the same, or e4m3 of the arch's flavour."""
    wide = (str(DType.BF16), str(DType.FP16))
    narrow = str(DType.FP8.resolve(arch.fp8_flavour)) if arch.fp8_flavour is not None else str(signature.a)
    return first(
        not_among(str(signature.a), wide, "type of Q"),
        not_among(str(signature.c), (str(signature.a),), "O is of Q's type"),
        not_among(str(signature.b), (str(signature.a), narrow), "type of K and V"),
    )


@RULES.rule("hip.fmha.features", source=_HEADERS)
def features_are_there(signature: FmhaSignature, config: HipFmhaConfig, arch: ArchSpec) -> RuleFinding | None:
    """Forward attention without bias, dropout, V by columns, and descales of blocks of rows."""
    traits = signature.traits
    absent = {
        "append": traits.entry is FmhaEntry.APPEND,
        "bwd": traits.entry is FmhaEntry.BACKWARD,
        "vcolumn": traits.v_column,
        str(traits.bias): traits.bias is not FmhaBias.NONE,
        str(traits.dropout): traits.dropout is not FmhaDropout.NONE,
        str(traits.quant): traits.quant is FmhaQuant.BLOCKSCALE,
    }
    word = next((word for word, asked in absent.items() if asked), None)
    return broken("our kernel over a KV cache does not have it", word, "none") if word else None


@RULES.rule("hip.fmha.tile", source=_HEADERS)
def tile_is_the_kernels(signature: FmhaSignature, config: HipFmhaConfig, arch: ArchSpec) -> RuleFinding | None:
    """16 rows, and a step of as many keys as four waves load 16 bytes of at a time."""
    step = step_of(signature.b.bits)
    return not_among(f"{config.m0}x{config.n0}", (f"{ROWS}x{step}",), f"rows and keys, of {signature.b}")


@RULES.config_rule("hip.fmha.head-dims", source=_HEADERS)
def head_dims_are_whole(config: HipFmhaConfig, arch: ArchSpec) -> RuleFinding | None:
    """Head dims are multiples of 64, at most 256."""
    return first(
        no_multiple(config.hdim_q, _HEAD_DIM_GRAIN, "head dim of Q must be a multiple of 64"),
        no_multiple(config.hdim_v, _HEAD_DIM_GRAIN, "head dim of V must be a multiple of 64"),
        exceeds(max(config.hdim_q, config.hdim_v), _MAX_HEAD_DIM, "head dim"),
    )
