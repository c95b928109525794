"""Device kernels that a part of a layer brings along, whatever computes it: gate_up sorts tokens, down quantises H."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ckgen.families.gemm.enums import MoePart, Quant
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.dtype import DType
from ckgen.model.expectation import Expectation

_SORT_LDS = 64 * 1024
_QUANTIZE_LDS = 1024
_SOURCES = {DType.BF16: "Bf16", DType.FP16: "Fp16"}
_TARGETS = {DType.INT8: "ToInt8", DType.FP8_FNUZ: "ToFp8", DType.FP8_OCP: "ToFp8"}
_WHOLE_ROWS = (Quant.ROWWISE, Quant.PER_TENSOR)


@dataclass(frozen=True, slots=True)
class StageVariant:
    """A kernel beside those that compute the part."""

    name: str


SORT, QUANTIZE = StageVariant("sort"), StageVariant("quantize")


def stage_variants(signature: GemmSignature) -> tuple[StageVariant, ...]:
    """What the code object of a part of the signature holds beside the part."""
    if signature.moe.part is MoePart.GATE_UP:
        return (SORT,)
    scaled = signature.quant in (*_WHOLE_ROWS, Quant.BLOCKSCALE) and signature.a in _TARGETS
    return (QUANTIZE,) if (scaled or _in_sorted_order(signature)) and signature.c in _SOURCES else ()


def _in_sorted_order(signature: GemmSignature) -> bool:
    """Whether A's scales are those of the sorted rows, as fp4 kernels read them."""
    return signature.quant is Quant.MX and signature.a is DType.FP4


def stage_values(signature: GemmSignature, symbols: dict[StageVariant, str]) -> dict[str, Any]:
    """The templates' values; the kernels' symbols are given."""
    sort, quantize = symbols.get(SORT), symbols.get(QUANTIZE)
    return {
        "sort": {"symbol": sort} if sort else None,
        "quantize": {
            "symbol": quantize,
            "source": _SOURCES[signature.c],
            "target": _TARGETS.get(signature.a, ""),
            "sorted": _in_sorted_order(signature),
            "part": 0 if signature.quant in _WHOLE_ROWS else signature.scale_block.k,
        }
        if quantize
        else None,
    }


def expected_stage(stage: StageVariant) -> Expectation:
    """No matrix instruction, no scratch."""
    lds = _SORT_LDS if stage is SORT else _QUANTIZE_LDS
    return Expectation(steps=(), copies=0, lds_bytes=lds, scratch_bytes=0, spills=0, waves_per_simd=1)
