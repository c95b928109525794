"""The sizes of an MoE problem as options say them."""

from __future__ import annotations

from dataclasses import dataclass

from ckgen.families.common.asked import Asked
from ckgen.families.gemm.asked import read_shape
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.groups import Routing
from ckgen.model.tuned_row import Shape


@dataclass(frozen=True, slots=True)
class RoutedSizes:
    """Tokens, N and K of the first product; how they are routed, and sorted: 0 for any block_m."""

    shape: Shape
    routing: Routing
    block_m: int = 0


def asked_sizes(signature: GemmSignature, asked: Asked) -> RoutedSizes:
    """What the options say; UsageError for one that is missing, of another op, or no number."""
    op = str(signature.op)
    asked.refuse_beside(op, ("shape", "experts", "top_k", "block_m", "module"))
    asked.demand(op, "shape", "experts", "top_k")
    return RoutedSizes(read_shape(signature, asked), Routing(asked.experts or 0, asked.top_k or 0), asked.block_m or 0)
