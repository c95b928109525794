"""What ck_tile's GEMMs with scales for groups of A alone or of B alone ask of a Config."""

from __future__ import annotations

from ckgen.families.gemm.ck_tile_geometry import is_group_quant
from ckgen.families.gemm.config import CkTileConfig, Epilogue, TilePipeline
from ckgen.families.gemm.rules.ck_tile import RULES
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.arch import ArchSpec
from ckgen.model.dtype import DType
from ckgen.model.finding import RuleFinding
from ckgen.rules.checks import broken, first, no_multiple, not_among

_BRIDGE = "dispatcher_cpp/backends/ck_tile/group_quant.hpp"


@RULES.rule("ck_tile.group_quant.pipeline", source="ck_tile ops/gemm_quant/pipeline")
def pipeline_scales_groups(signature: GemmSignature, config: CkTileConfig, arch: ArchSpec) -> RuleFinding | None:
    """The pipeline is the one that scales groups of one side."""
    if not is_group_quant(signature):
        return None
    return not_among(config.pipeline.value, (TilePipeline.COMPV3.value,), "groups of one side are scaled by")


@RULES.rule("ck_tile.group_quant.group", source="ck_tile ops/gemm_quant, static_asserts of the block GEMMs")
def groups_fit_the_tile(signature: GemmSignature, config: CkTileConfig, arch: ArchSpec) -> RuleFinding | None:
    """The tile holds whole groups, and a group whole warp tiles along K."""
    if not is_group_quant(signature):
        return None
    block = signature.scale_block
    return first(
        no_multiple(block.k, config.warp_tile.k, "a scale group must be whole warp tiles along K"),
        no_multiple(config.tile.k, block.k, "tile K must hold whole scale groups"),
        no_multiple(config.tile.n, block.n, "tile N must hold whole scale groups") if block.of_b else None,
    )


@RULES.rule("ck_tile.group_quant.types", source="ck_tile ops/gemm_quant, the types of its block GEMMs")
def operands_are_of_one_type(signature: GemmSignature, config: CkTileConfig, arch: ArchSpec) -> RuleFinding | None:
    """B is like A, an 8-bit float, or int4 beside one: the product is of one type."""
    if not is_group_quant(signature):
        return None
    if signature.a.bits != 8:
        return broken("scales of groups go with an A of 8-bit floats", str(signature.a), "fp8 bf8")
    return not_among(str(signature.b), (str(signature.a), str(DType.INT4)), "operands under scales of groups are of")


@RULES.rule("ck_tile.group_quant.lane", source="ck_tile AQuantBlockUniversalGemmAsBsCr, AQPicker")
def a_lane_holds_a_row(signature: GemmSignature, config: CkTileConfig, arch: ArchSpec) -> RuleFinding | None:
    """C is transposed for scales of A, whose lanes then hold one row each, and is not for scales of B."""
    if not is_group_quant(signature):
        return None
    wanted = str(signature.scale_block.of_a).lower()
    return not_among(
        str(config.transpose_c).lower(), (wanted,), f"scales of {signature.scale_block.sides}: transpose_c"
    )


@RULES.rule("ck_tile.group_quant.pad_k", source=_BRIDGE)
def k_is_whole_tiles(signature: GemmSignature, config: CkTileConfig, arch: ArchSpec) -> RuleFinding | None:
    """K is not padded: the scales of a shorter last tile would be those of the next row."""
    if not is_group_quant(signature):
        return None
    return not_among(str(config.pad_k).lower(), ("false",), "scales of groups take whole tiles of K: pad_k")


@RULES.rule("ck_tile.group_quant.plain", source=_BRIDGE)
def nothing_else_is_done(signature: GemmSignature, config: CkTileConfig, arch: ArchSpec) -> RuleFinding | None:
    """Neither batch, bias nor preshuffled B; the C-shuffle; no option that the kernel does not take."""
    if not is_group_quant(signature):
        return None
    words = {
        "batched": signature.batched,
        "bias": signature.bias,
        "preshuffle_b": signature.preshuffle_b,
        "persistent": config.persistent,
        "permute_n": config.permute_n,
        "structured_sparsity": config.structured_sparsity,
        "double_smem": config.double_smem,
        "a_row_major_scales": config.a_row_major_scales,
        "vector": config.vector != 0,
        "num_wave_groups": config.num_wave_groups != 1,
        "epilogue": config.epilogue is not Epilogue.CSHUFFLE,
    }
    given = next((word for word, present in words.items() if present), None)
    return broken("the kernel with scales of groups has no such option", given, "none") if given else None
