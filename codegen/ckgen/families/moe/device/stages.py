"""Device kernels that a part of a layer brings along: gate_up sorts tokens, down quantises H and adds rows of slots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ckgen.families.gemm.enums import MoePart, Quant
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.dtype import DType
from ckgen.model.expectation import Expectation

_LDS = {"sort": 64 * 1024, "quantize": 1024, "add_slots": 0}
_MX_GROUP = 32
_SOURCES = {DType.BF16: "Bf16", DType.FP16: "Fp16"}
_TARGETS = {DType.INT8: "ToInt8", DType.FP8_FNUZ: "ToFp8", DType.FP8_OCP: "ToFp8"}
_WHOLE_ROWS = (Quant.ROWWISE, Quant.PER_TENSOR)


@dataclass(frozen=True, slots=True)
class StageVariant:
    """A kernel beside those that compute the part."""

    name: str


SORT, QUANTIZE, ADD_SLOTS = StageVariant("sort"), StageVariant("quantize"), StageVariant("add_slots")


def stage_variants(signature: GemmSignature) -> tuple[StageVariant, ...]:
    """What the code object of a part of the signature holds beside the part, whatever computes it."""
    if signature.moe.part is MoePart.GATE_UP:
        return (SORT,)
    scaled = signature.quant in (*_WHOLE_ROWS, Quant.BLOCKSCALE) and signature.a in _TARGETS
    known = scaled or _in_sorted_order(signature) or _in_order_of_a(signature)
    return (QUANTIZE,) if known and signature.c in _SOURCES else ()


def _in_sorted_order(signature: GemmSignature) -> bool:
    """Whether A's scales are those of the sorted rows, as fp4 kernels read them."""
    return signature.quant is Quant.MX and signature.a is DType.FP4


def _in_order_of_a(signature: GemmSignature) -> bool:
    """Whether A's scales are e8m0 in the order of its rows, as kernels of ckgen's own read them."""
    return signature.quant is Quant.MX and signature.a is DType.FP8_OCP and not signature.preshuffle_b


def _part(signature: GemmSignature) -> int:
    """Elements that share a scale; 0: those of a row."""
    if signature.quant is Quant.MX:
        return _MX_GROUP
    return 0 if signature.quant in _WHOLE_ROWS else signature.scale_block.k


def stage_values(signature: GemmSignature, symbols: dict[StageVariant, str]) -> dict[str, Any]:
    """The templates' values; the kernels' symbols are given."""
    sort, quantize, add_slots = (symbols.get(stage) for stage in (SORT, QUANTIZE, ADD_SLOTS))
    return {
        "sort": {"symbol": sort} if sort else None,
        "add_slots": {"symbol": add_slots} if add_slots else None,
        "quantize": {
            "symbol": quantize,
            "source": _SOURCES[signature.c],
            "target": _TARGETS.get(signature.a, ""),
            "sorted": _in_sorted_order(signature),
            "mx": _in_order_of_a(signature),
            "part": _part(signature),
        }
        if quantize
        else None,
    }


def expected_stage(stage: StageVariant) -> Expectation:
    """No matrix instruction, no scratch."""
    return Expectation(steps=(), copies=0, lds_bytes=_LDS[stage.name], scratch_bytes=0, spills=0, waves_per_simd=1)
