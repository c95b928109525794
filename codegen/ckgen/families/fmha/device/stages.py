"""The device kernel that attention with splits of KV brings along: it combines their partial results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ckgen.families.common.device.unit import fmha_symbol
from ckgen.families.common.device.variant import cpp_bool
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.model.dtype import DType
from ckgen.model.expectation import Expectation

TYPES = {DType.FP32: "float", DType.FP16: "_Float16", DType.BF16: "__bf16"}


@dataclass(frozen=True, slots=True, order=True)
class CombineVariant:
    """The kernel behind the one that splits."""

    name: str = "combine"


COMBINE = CombineVariant()


def stage_values(
    signature: FmhaSignature, instance_id: int, symbol: str, *, always: bool, o_factor: str = ""
) -> dict[str, Any]:
    """The templates' values; `always`: the kernel writes partial results of one split too.

    `o_factor`: what O is multiplied by, and by V's descale then; empty: by neither.
    """
    return {
        "combine": symbol,
        "o": TYPES[signature.c],
        "always": cpp_bool(always),
        "o_factor": o_factor,
        "symbol": fmha_symbol(instance_id),
    }


def expected_combine() -> Expectation:
    """No matrix instruction, no LDS, no scratch."""
    return Expectation(steps=(), copies=0, lds_bytes=0, scratch_bytes=0, spills=0, waves_per_simd=1)
