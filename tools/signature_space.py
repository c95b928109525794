"""The signatures of GEMMs, groups or experts that mean something, by what decides which kernels compute them.

One epilogue, one op of an operand and one activation stand for all, and each is there alone and with all others. Plain
8-bit floats stand for those of either flavour. Accumulators and scales are of the usual types.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

from ckgen.families.gemm.enums import (
    USUAL_SCALE_BLOCK,
    EpilogueOp,
    Layout,
    MoePart,
    MoeTraits,
    Op,
    OperandOp,
    Quant,
    ScaleBlock,
    ScaleSides,
)
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.dtype import DType

_ALIKE = (DType.FP64, DType.FP32, DType.FP16, DType.BF16, DType.FP8, DType.BF8, DType.INT8)
_FLOATS = (DType.FP16, DType.BF16, DType.FP8, DType.BF8)
_OPERANDS = (
    *zip(_ALIKE, _ALIKE, strict=True),
    (DType.FP8, DType.BF8),
    (DType.BF8, DType.FP8),
    *((a, DType.INT4) for a in _FLOATS),
)
_MX_OPERANDS = (
    (DType.FP8_OCP, DType.FP8_OCP),
    (DType.BF8_OCP, DType.BF8_OCP),
    (DType.FP8_OCP, DType.FP4),
    (DType.FP4, DType.FP4),
)
_RESULTS = (DType.BF16, DType.FP16, DType.FP32, DType.INT32, DType.FP64)
_SCALE_BLOCKS = (
    USUAL_SCALE_BLOCK,
    ScaleBlock(ScaleSides.BOTH, 1, 32),
    ScaleBlock(ScaleSides.A, 128, 128),
    ScaleBlock(ScaleSides.B, 128, 128),
    ScaleBlock(ScaleSides.B, 1, 128),
)
_BATCHED: dict[str, Any] = {"batched": True}
_BIAS: dict[str, Any] = {"bias": True}
_EPILOGUE: dict[str, Any] = {"epilogue": (EpilogueOp.MUL, EpilogueOp.GELU, EpilogueOp.ADD)}
_OF_TWO: dict[str, Any] = {"a_op": OperandOp.ADD}
_BESIDE: tuple[dict[str, Any], ...] = (
    {},
    _BATCHED,
    _BIAS,
    _EPILOGUE,
    _OF_TWO,
    _BIAS | _EPILOGUE,
    _BATCHED | _BIAS | _EPILOGUE | _OF_TWO,
)
"""What a product may have beside its types, layout and scales."""
_EXPERTS = (
    MoeTraits(MoePart.LAYER, gated=True),
    MoeTraits(MoePart.LAYER, gated=True, weight_first=True),
    MoeTraits(MoePart.LAYER),
    MoeTraits(MoePart.GATE_UP, gated=True),
    MoeTraits(MoePart.DOWN),
)


@cache
def every_signature(op: Op) -> tuple[GemmSignature, ...]:
    """Those of an operation, each once."""
    return tuple(_signatures(op))


def _signatures(op: Op) -> Iterator[GemmSignature]:
    for plain in _products():
        if op is Op.MOE:
            yield from _of_experts(plain)
            continue
        for words in _BESIDE:
            found = replace(plain, op=op, **words)
            if not found.problems():
                yield found


def _products() -> Iterator[GemmSignature]:
    """What is multiplied, and how it is laid out and scaled."""
    for quant in Quant:
        operands = _MX_OPERANDS if quant is Quant.MX else _OPERANDS
        blocks = _SCALE_BLOCKS if quant is Quant.BLOCKSCALE else (USUAL_SCALE_BLOCK,)
        for (a, b), c, layout, shuffled, block in product(operands, _RESULTS, Layout, (False, True), blocks):
            found = GemmSignature.of(a, c, b=b, layout=layout, quant=quant, preshuffle_b=shuffled, scale_block=block)
            if not found.problems():
                yield found


def _of_experts(plain: GemmSignature) -> Iterator[GemmSignature]:
    for traits in _EXPERTS:
        epilogue = () if traits.part is MoePart.DOWN else (EpilogueOp.SILU,)
        found = replace(plain, op=Op.MOE, epilogue=epilogue, moe=traits)
        if not found.problems():
            yield found
