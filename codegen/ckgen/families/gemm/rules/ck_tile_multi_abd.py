"""What ck_tile's GEMMs with a batch, a bias, D tensors or operands of two tensors ask beyond the dense ones."""

from __future__ import annotations

from ckgen.families.gemm.ck_tile_geometry import COMBINING, is_multi_abd
from ckgen.families.gemm.config import CkTileConfig, Epilogue
from ckgen.families.gemm.enums import Op, OperandOp, Quant
from ckgen.families.gemm.rules.ck_tile import RULES
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.arch import ArchSpec
from ckgen.model.dtype import DType
from ckgen.model.finding import RuleFinding
from ckgen.rules.checks import broken, not_among


@RULES.rule("ck_tile.multi_abd.pipeline", source="ck_tile pipelines, load_tile_with_elementwise")
def pipeline_combines(signature: GemmSignature, config: CkTileConfig, arch: ArchSpec) -> RuleFinding | None:
    """The pipeline applies a function to what it loads of A and B."""
    if not is_multi_abd(signature):
        return None
    names = tuple(pipeline.value for pipeline in COMBINING)
    return not_among(
        config.pipeline.value, names, "a batch, a bias, an epilogue or operands of two tensors have pipelines"
    )


@RULES.rule("ck_tile.multi_abd.epilogue", source="dispatcher_cpp/backends/ck_tile/multi_abd.hpp")
def epilogue_shuffles(signature: GemmSignature, config: CkTileConfig, arch: ArchSpec) -> RuleFinding | None:
    """C goes through the C-shuffle, behind which the ops are applied and D is read in whole vectors."""
    if not is_multi_abd(signature):
        return None
    return not_among(config.epilogue.value, (Epilogue.CSHUFFLE.value,), "ops are applied behind this epilogue")


@RULES.rule("ck_tile.multi_abd.grid", source="dispatcher_cpp/backends/ck_tile/multi_abd.hpp")
def grid_is_fixed(signature: GemmSignature, config: CkTileConfig, arch: ArchSpec) -> RuleFinding | None:
    """Each workgroup has one tile of one batch entry: the kernel is not persistent."""
    if not is_multi_abd(signature):
        return None
    return not_among(str(config.persistent).lower(), ("false",), "a persistent kernel has neither batch nor epilogue")


@RULES.rule("ck_tile.multi_abd.bias", source="dispatcher_cpp/backends/ck_tile/multi_abd.hpp")
def bias_is_added_once(signature: GemmSignature, config: CkTileConfig, arch: ArchSpec) -> RuleFinding | None:
    """An fp32 bias is added behind the C-shuffle, to a C of floats; the table of groups holds none."""
    if not signature.bias or not is_multi_abd(signature):
        return None
    if signature.op is not Op.GEMM:
        return broken("groups have no bias: a D tensor with a leading dimension of 0 is one, in C's type", True, "none")
    outs = tuple(map(str, (DType.BF16, DType.FP16, DType.FP32)))
    return not_among(str(signature.c), outs, "a bias is added to a C of")


@RULES.rule("ck_tile.multi_abd.scales", source="ck_tile ops/gemm_quant, which takes no D tensors")
def scaled_gemms_fuse_nothing(signature: GemmSignature, config: CkTileConfig, arch: ArchSpec) -> RuleFinding | None:
    """The kernels with scales take neither an epilogue nor operands of two tensors."""
    plain = not signature.epilogue and (signature.a_op, signature.b_op) == (OperandOp.NONE, OperandOp.NONE)
    if signature.quant is Quant.NONE or plain:
        return None
    return broken("ck_tile's scaled GEMMs apply no op to operands or C", signature.quant.value, "none")
