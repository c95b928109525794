"""The two products of an MoE layer as signatures of their own."""

from __future__ import annotations

from dataclasses import replace

from ckgen.families.gemm.enums import MoePart
from ckgen.families.gemm.signature import GemmSignature


def part_signatures(layer: GemmSignature) -> tuple[GemmSignature, GemmSignature]:
    """gate_up and down of a layer: what is between them has the layer's C type, quantised again as A is."""
    gate_up = replace(layer, moe=replace(layer.moe, part=MoePart.GATE_UP))
    down = replace(layer, epilogue=(), moe=replace(layer.moe, part=MoePart.DOWN, gated=False))
    return gate_up, down
