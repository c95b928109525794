"""What ckgen's own kernels of fused multiply-adds compute: any GEMM, or groups, whose sums are of 32 bits."""

from __future__ import annotations

from ckgen.families.gemm.enums import Op
from ckgen.families.gemm.fma_config import EDGE, LANES, FmaConfig
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.arch import ArchKind, ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.dtype import DType
from ckgen.model.finding import RuleFinding
from ckgen.rules.checks import broken, exceeds, first, no_multiple, not_among
from ckgen.rules.rule_set import RuleSet

_HEADER = "dispatcher_cpp/backends/hip/fma_gemm.hpp"
_SUMS = tuple(map(str, (DType.FP32, DType.INT32)))
_MOST_SUMS = 32
_SCALES = (None, DType.FP32, DType.E8M0)
_LEAST_GROUP = 16
_PLAIN = (DType.FP8, DType.BF8)

RULES = RuleSet(Backend.HIP, GemmSignature, FmaConfig)


@RULES.config_rule("hip.fma.arch", source=_HEADER)
def is_a_gpu(config: FmaConfig, arch: ArchSpec) -> RuleFinding | None:
    """A GPU whose workgroups have so many work-items and so much LDS."""
    if arch.kind is not ArchKind.GPU:
        return broken("the kernels are for GPUs", arch.name, "a GPU")
    return first(
        exceeds(LANES, arch.max_threads_per_block, "work-items of a workgroup"),
        exceeds(config.lds_bytes, arch.lds_bytes, "bytes of LDS of the kernel"),
    )


@RULES.rule("hip.fma.op", source=_HEADER)
def is_no_product_of_experts(signature: GemmSignature, config: FmaConfig, arch: ArchSpec) -> RuleFinding | None:
    """One GEMM, a batch of them, or groups."""
    return not_among(
        str(signature.op), (str(Op.GEMM), str(Op.GROUPED_GEMM)), "the kernels of fused multiply-adds compute op"
    )


@RULES.rule("hip.fma.types", source=_HEADER)
def types_are_of_a_flavour(signature: GemmSignature, config: FmaConfig, arch: ArchSpec) -> RuleFinding | None:
    """8-bit floats are of a flavour, which those of an arch without any are not."""
    plain = next((dtype for dtype in (signature.a, signature.b) if dtype in _PLAIN), None)
    return broken(f"{arch.name} has no 8-bit floats", str(plain), "fnuz ocp") if plain is not None else None


@RULES.rule("hip.fma.sums", source=_HEADER)
def sums_are_of_32_bits(signature: GemmSignature, config: FmaConfig, arch: ArchSpec) -> RuleFinding | None:
    """Products are added in fp32, those of int8 in int32; scales are fp32 or e8m0; a C of int32 is the bare sum."""
    if signature.scale not in _SCALES:
        return broken("scales are fp32 or e8m0", str(signature.scale), "fp32 e8m0")
    if signature.c is DType.INT32 and signature.bias:
        return broken("an int32 C takes no bias", "bias", "none")
    return not_among(str(signature.acc), _SUMS, "kernels without matrix instructions add products in")


@RULES.config_rule("hip.fma.tile", source=_HEADER)
def tile_is_whole(config: FmaConfig, arch: ArchSpec) -> RuleFinding | None:
    """16 work-items along M and N share the tile, all of them each step's elements; a step has one scale."""
    tile = config.tile
    if tile.k <= 0 or _LEAST_GROUP % tile.k:
        return broken("tile K must divide every group of scales", tile.k, _LEAST_GROUP)
    return first(
        no_multiple(tile.m, EDGE, "tile M must be whole rows of work-items"),
        no_multiple(tile.n, EDGE, "tile N must be whole columns of work-items"),
        no_multiple(tile.m * tile.k, LANES, "a step of A must be whole elements of each work-item"),
        no_multiple(tile.n * tile.k, LANES, "a step of B must be whole elements of each work-item"),
        exceeds(tile.m * tile.n // LANES, _MOST_SUMS, "sums of a work-item"),
        None
        if _LEAST_GROUP % tile.k == 0
        else broken("tile K must divide every group of scales", tile.k, _LEAST_GROUP),
    )
