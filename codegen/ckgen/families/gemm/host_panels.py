"""What a CPU kernel's packed panels hold of a signature's operands, and so which menu of register tiles it has: as
`host_kind` of backends/host/gemm/blocking.cpp."""

from __future__ import annotations

from ckgen.families.gemm.enums import Layout, OperandOp, Quant
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.dtype import DType
from ckgen.model.op_words import FLOAT8
from ckgen.model.word import Word


class Panels(Word):
    """fp32; int8, as it is or widened to int16, as the level has instructions for; bf16, in which every narrower float
    is exact, by dot products of pairs."""

    F32 = "f32"
    INT8 = "int8"
    BF16 = "bf16"


def panels_of(signature: GemmSignature, *, has_dots: bool) -> Panels:
    """Those of a level with dot products of bf16 or without. Operands of two tensors need fp32, and so do scales per
    group of K but those of mx and of 8-bit floats in blocks of whole tiles' K."""
    if signature.a is DType.INT8:
        return Panels.INT8
    narrow = all(one is DType.BF16 or one in FLOAT8 for one in (signature.a, signature.b))
    grouped = signature.quant in (Quant.BLOCKSCALE, Quant.MX)
    suits_dots = _suits_groups(signature) if grouped else narrow
    combines = signature.a_op is not OperandOp.NONE or signature.b_op is not OperandOp.NONE
    return Panels.BF16 if has_dots and suits_dots and not combines else Panels.F32


def _suits_groups(signature: GemmSignature) -> bool:
    operands = (signature.a, signature.b)
    if signature.quant is Quant.BLOCKSCALE:
        return signature.scale_block.k % 32 == 0 and all(one in FLOAT8 for one in operands)
    return signature.layout is Layout.RCR and all(one in FLOAT8 or one is DType.FP4 for one in operands)
