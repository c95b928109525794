"""The fields of a GEMM signature, which its rules judge and its names spell."""

from __future__ import annotations

from dataclasses import dataclass

from ckgen.families.gemm.enums import (
    NO_MOE,
    USUAL_SCALE_BLOCK,
    EpilogueOp,
    Layout,
    MoeTraits,
    Op,
    OperandOp,
    Quant,
    ScaleBlock,
)
from ckgen.model.dtype import DType
from ckgen.model.hash_once import HashOnce


@dataclass(frozen=True, slots=True)
class GemmFields(HashOnce):
    """C = epilogue(scale · A·B): types, layouts, quantisation; nothing of how it is done. Bias is fp32."""

    a: DType
    b: DType
    c: DType
    acc: DType
    scale: DType | None
    layout: Layout = Layout.RCR
    quant: Quant = Quant.NONE
    preshuffle_b: bool = False
    batched: bool = False
    bias: bool = False
    epilogue: tuple[EpilogueOp, ...] = ()
    a_op: OperandOp = OperandOp.NONE
    b_op: OperandOp = OperandOp.NONE
    scale_block: ScaleBlock = USUAL_SCALE_BLOCK
    op: Op = Op.GEMM
    moe: MoeTraits = NO_MOE
