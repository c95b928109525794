"""Data of one product of a mixture of experts, and what a correct kernel may make of it.

Operands and bounds are those of docs/exactness_ops.md: almost every element has one right value. Down's slots may be
added in C's type, in any order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckgen.families.common.storage import encode
from ckgen.families.gemm.enums import MoePart, Quant
from ckgen.families.gemm.reference import shuffle_mx_scale
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.moe.exact_operands import exact_operands
from ckgen.families.moe.reference import MoeOperands, MoeSize, expect
from ckgen.model import groups
from ckgen.model.dtype import DType
from ckgen_emulator.production.model import Output
from ckgen_emulator.production.routing import Routing, by_expert


@dataclass(frozen=True, slots=True)
class PartProblem:
    """Sizes of a part: N is inter_dim of gate_up and model_dim of down, K the other; `seed` decides the data."""

    tokens: int
    n: int
    k: int
    experts: int = 4
    top_k: int = 2
    seed: int = 0

    @property
    def size(self) -> MoeSize:
        """As the reference has it."""
        return MoeSize(self.tokens, self.n, self.k, groups.Routing(self.experts, self.top_k))


@dataclass(frozen=True, slots=True)
class PartData:
    """Arrays as a kernel reads them; scales None without. A's scales are of the sorted rows where they are shuffled."""

    a: NDArray[Any]
    w: NDArray[Any]
    a_scale: NDArray[Any] | None
    w_scale: NDArray[Any] | None
    routing: Routing
    output: Output

    @property
    def inputs(self) -> tuple[NDArray[Any], ...]:
        """All that may be read."""
        sorted_rows = (self.routing.ids, self.routing.id_weights, self.routing.block_experts, self.routing.valid)
        return (self.a, self.w, *sorted_rows, *(one for one in (self.a_scale, self.w_scale) if one is not None))


def part_data(signature: GemmSignature, block_m: int, problem: PartProblem) -> PartData:
    """The problem for a kernel of the signature, a part over preshuffled weights, whose macro tile has block_m rows."""
    operands = exact_operands(signature, problem.size, problem.seed)
    routing = by_expert(operands.ids, operands.weights, problem.experts, block_m)
    weights = operands.w2 if signature.moe.part is MoePart.DOWN else operands.w1
    assert weights is not None
    w_scale = _stored(signature, weights.scales)
    if w_scale is not None and signature.quant is Quant.MX:
        w_scale = shuffle_mx_scale(w_scale)
    return PartData(
        operands.bytes_of_a(), operands.bytes_of(weights), _scales_of_a(operands, routing), w_scale, routing,
        _output(operands),
    )  # fmt: skip


def _output(operands: MoeOperands) -> Output:
    signature = operands.signature
    expected = expect(operands, adds_in_c=True)
    nothing = encode(np.zeros(expected.c.shape), signature.c)
    return Output("c", nothing, expected.c, expected.bound, signature.moe.part is MoePart.DOWN)


def _scales_of_a(operands: MoeOperands, routing: Routing) -> NDArray[Any] | None:
    """Row-major; e8m0 in the order of the sorted rows, padding included, and shuffled."""
    signature, size = operands.signature, operands.size
    scales = _stored(signature, operands.a_scale)
    if scales is None or signature.quant is not Quant.MX:
        return scales
    token, slot = routing.ids & 0xFFFFFF, routing.ids >> 24
    row = token * size.routing.top_k + slot if signature.moe.part is MoePart.DOWN else token
    known = token < size.tokens
    ones = encode(np.ones((1, scales.shape[1])), DType.E8M0)
    return shuffle_mx_scale(np.where(known[:, None], scales[np.where(known, row, 0)], ones)[None])


def _stored(signature: GemmSignature, scales: NDArray[np.float64] | None) -> NDArray[Any] | None:
    return None if scales is None or signature.scale is None else np.ascontiguousarray(encode(scales, signature.scale))
