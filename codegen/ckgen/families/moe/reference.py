"""What a mixture-of-experts layer or a part of it must give, from the definition, in float64, with a derived bound.

The formulas are those of `ckgen/moe.hpp`. A layer's H is rounded to C's type and then brought to A's (see
`reference_quantize`); its bound covers all that may follow from a code that falls on the other side.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ckgen.families.common.comparison import Expected
from ckgen.families.common.rounding import least_bits, rounded
from ckgen.families.common.storage import Values
from ckgen.families.gemm import reference as gemm
from ckgen.families.gemm import reference_data as gemm_data
from ckgen.families.gemm.enums import MoePart, Op, Quant
from ckgen.families.gemm.reference import scaled_a, scaled_b, store_a, store_b
from ckgen.families.gemm.reference_epilogue import after_epilogue
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.moe.reference_quantize import Known, quantize
from ckgen.model.dtype import DType
from ckgen.model.groups import Routing
from ckgen.model.tuned_row import Shape

_FAITHFUL = 2.0**-23
_UNIT_ROUNDOFF = {DType.FP32: 2.0**-24, DType.FP16: 2.0**-11, DType.BF16: 2.0**-8}
_LEAST = {DType.FP32: 2.0**-149, DType.FP16: 2.0**-24, DType.BF16: 2.0**-133}
_HELD = {DType.FP32: 2.0**24, DType.FP16: 2.0**11, DType.BF16: 2.0**8}
"""A type holds every integer up to this."""
_LARGE, _FAR = 24.0, 90.0
"""1 + e^-x is 1 in fp32 from the one on; below minus the other, x e^x is 0, or with an exp of limited range this:"""
_NEXT_TO_NOTHING = 2.0**-110
_LOST = 2.0**-40
"""So much of a number's last bit is lost when it is added."""
_LARGEST = {DType.FP16: 65504.0, DType.BF16: (2 - 2.0**-7) * 2.0**127}


@dataclass(frozen=True, slots=True)
class MoeSize:
    """A problem: N and K of the part, or of gate_up where it is a layer."""

    tokens: int
    n: int
    k: int
    routing: Routing


@dataclass(frozen=True, slots=True)
class Weights:
    """All experts' matrices of one product: [experts, K, rows], with scales as for the B of a batched GEMM."""

    values: Values
    scales: Values | None

    @property
    def rows(self) -> int:
        """Rows of one expert's matrix: the columns of what it gives."""
        return int(self.values.shape[-1])


@dataclass(frozen=True, slots=True)
class MoeOperands:
    """Exact values of one problem; `a` is [rows, K], of down a row per token and slot.

    is_exact: the data are those of `exact_operands`; what fp32 computes of them without any error has a bound of 0.
    """

    signature: GemmSignature
    size: MoeSize
    a: Values
    a_scale: Values | None
    w1: Weights | None
    w2: Weights | None
    ids: npt.NDArray[np.int32]  # [tokens, top_k]
    weights: npt.NDArray[np.float32]
    is_exact: bool = False

    def bytes_of_a(self) -> npt.NDArray[np.uint8]:
        """A as kernels read it."""
        return store_a(gemm.Operands(_alone(self.signature), self.a[None], self.a[None]))

    def bytes_of(self, weights: Weights) -> npt.NDArray[np.uint8]:
        """Weights as kernels read them, expert by expert, preshuffled where the signature says so."""
        return store_b(gemm.Operands(_alone(self.signature), weights.values, weights.values))


def make_operands(signature: GemmSignature, size: MoeSize, seed: int) -> MoeOperands:
    """Mixed-sign operands that the types hold exactly; each token goes to experts of its own, chosen at random."""
    random = np.random.default_rng(seed)
    alone, part, routing = _alone(signature), signature.moe.part, size.routing
    rows = size.tokens * (routing.top_k if part is MoePart.DOWN else 1)
    of_a = gemm_data.make_operands(alone, Shape(0, rows, 1, size.k), seed + 1)

    def weights(lines: int, k: int, own_seed: int) -> Weights:
        made = gemm_data.make_operands(alone, Shape(routing.experts, 1, lines, k), own_seed)
        scales = made.b_scale
        if signature.quant is Quant.PER_TENSOR:  # one per expert
            scales = random.uniform(0.5, 1.5, (routing.experts, 1)).astype(np.float32).astype(np.float64)
        return Weights(made.b, scales)

    gates = 2 if signature.moe.gated else 1
    is_layer = part is MoePart.LAYER
    w1 = None if part is MoePart.DOWN else weights(gates * size.n, size.k, seed + 2)
    w2_sizes = (size.k, size.n) if is_layer else (size.n, size.k)
    w2 = None if part is MoePart.GATE_UP else weights(*w2_sizes, seed + 3)
    order = random.random((size.tokens, routing.experts)).argsort(axis=1)
    chosen = random.uniform(0.1, 1.0, (size.tokens, routing.top_k)).astype(np.float32)
    scale = None if of_a.a_scale is None else of_a.a_scale[0]
    ids = order[:, : routing.top_k].astype(np.int32)
    return MoeOperands(signature, size, of_a.a[0], scale, w1, w2, ids, chosen)


def of_tokens(operands: MoeOperands, tokens: npt.NDArray[np.int64]) -> MoeOperands:
    """What gives the rows of these tokens alone."""
    top_k = operands.size.routing.top_k
    is_down = operands.signature.moe.part is MoePart.DOWN
    rows = (tokens[:, None] * top_k + np.arange(top_k)).reshape(-1) if is_down else tokens
    scale = operands.a_scale
    if operands.signature.quant is not Quant.PER_TENSOR and scale is not None:
        scale = scale[rows]
    return replace(
        operands,
        size=replace(operands.size, tokens=len(tokens)),
        a=operands.a[rows],
        a_scale=scale,
        ids=operands.ids[tokens],
        weights=operands.weights[tokens],
    )


def expect(operands: MoeOperands, adds_in_c: bool = False) -> Expected:
    """C: [tokens * top_k, N] of gate_up, else [tokens, columns of down].

    adds_in_c: the slots of a token are rounded and added one by one in C's type, in any order.
    """
    signature = operands.signature
    a = _scaled(operands.a, operands.a_scale, signature)
    if signature.moe.part is MoePart.DOWN:
        return _down(operands, a, np.zeros_like(a), adds_in_c)
    h = hidden(operands)
    if signature.moe.part is MoePart.GATE_UP:
        return _within(h, signature.c, h.reach)
    between = quantize(h, signature).value
    found = _down(operands, between.exact, between.bound, adds_in_c)
    overflown = (h.reach >= _LARGEST.get(signature.c, np.inf)).any()
    return Expected(found.c, np.where(overflown, np.inf, found.bound))


def hidden(operands: MoeOperands) -> Known:
    """H of gate_up, [tokens * top_k, N]: exact, and how far one rounded to C's type may be from it."""
    signature, size = operands.signature, operands.size
    assert operands.w1 is not None
    a = np.repeat(_scaled(operands.a, operands.a_scale, signature), size.routing.top_k, axis=0)
    sums = _products(operands, a, np.zeros_like(a), operands.w1)
    if signature.moe.weight_first:
        sums = _times(sums, Known(operands.weights.astype(np.float64).reshape(-1, 1), np.zeros((1, 1))))
    gate = _activated(operands, Known(sums.exact[:, : size.n], sums.bound[:, : size.n]))
    h = gate
    if signature.moe.gated:
        h = _times(gate, Known(sums.exact[:, size.n :], sums.bound[:, size.n :]))
    if operands.is_exact:
        stored = rounded(h.exact, h.bound, signature.c)
        return Known(stored.c, stored.bound)
    return Known(h.exact, h.bound + h.reach * _UNIT_ROUNDOFF[signature.c] * 1.001 + _LEAST[signature.c])


def _activated(operands: MoeOperands, x: Known) -> Known:
    """Of exact data, activations give large numbers back, and next to nothing for those that are far below 0."""
    found = Known(*after_epilogue(operands.signature.epilogue, (), 1.0, x.exact, x.bound))
    if not operands.is_exact or not operands.signature.epilogue:
        return found
    is_far = (x.bound == 0) & ((x.exact >= _LARGE) | (x.exact <= -_FAR) | (x.exact == 0))
    left = np.maximum(-x.exact, 0.0) * _NEXT_TO_NOTHING
    return Known(np.where(is_far, np.maximum(x.exact, 0.0), found.exact), np.where(is_far, left, found.bound))


def _down(operands: MoeOperands, a: Values, a_bound: Values, adds_in_c: bool) -> Expected:
    signature, size = operands.signature, operands.size
    assert operands.w2 is not None
    slots = _products(operands, a, a_bound, operands.w2)
    if not signature.moe.weight_first:
        slots = _times(slots, Known(operands.weights.astype(np.float64).reshape(-1, 1), np.zeros((1, 1))))
    top_k = size.routing.top_k

    def added(of: Values) -> Values:
        total: Values = of.reshape(size.tokens, top_k, -1).sum(axis=1)
        return total

    exact, bound, reach = added(slots.exact), added(slots.bound), added(slots.reach)
    held = _HELD[signature.c] if adds_in_c else _HELD[DType.FP32]
    least = least_bits(slots.exact).reshape(size.tokens, top_k, -1).min(axis=1, initial=np.inf)
    is_known = operands.is_exact & (bound <= least * _LOST) & (reach <= held * least)
    known = rounded(exact, 2 * bound, signature.c)
    bound = bound + reach * (top_k + 1) * _FAITHFUL
    if operands.is_exact and not adds_in_c:
        return rounded(exact, np.where(is_known, 2 * added(slots.bound), bound), signature.c)
    roundings = 2 * top_k if adds_in_c else 1
    of_one = reach if adds_in_c else np.abs(exact) + bound
    bound = bound + roundings * (of_one * _UNIT_ROUNDOFF[signature.c] * 1.01 + _LEAST[signature.c])
    found = _within(Known(exact, bound), signature.c, reach + bound if adds_in_c else np.abs(exact) + bound)
    return Expected(found.c, np.where(is_known, known.bound, found.bound))


def _products(operands: MoeOperands, a: Values, a_bound: Values, weights: Weights) -> Known:
    """Each row times the matrix of its expert, as fp32 (int8: int32) sums of products, then scaled."""
    signature = operands.signature
    b = _scaled_weights(weights, signature)
    experts = operands.ids.reshape(-1)
    exact, bound = (np.empty((len(experts), weights.rows)) for _ in range(2))
    k = a.shape[1]
    steps = (6 if signature.acc is DType.INT32 else k + 6) * _FAITHFUL
    for expert in np.unique(experts):
        mine = experts == expert
        exact[mine] = a[mine] @ b[expert]
        size, moved = np.abs(a[mine]) @ np.abs(b[expert]), a_bound[mine] @ np.abs(b[expert])
        bound[mine] = moved + (size + moved) * steps / (1 - steps)
        if operands.is_exact:
            unit = least_bits(a[mine]).min(initial=np.inf) * least_bits(b[expert]).min(initial=np.inf)
            is_held = (moved <= unit * _LOST) & (size <= _HELD[DType.FP32] * unit)
            bound[mine] = np.where(is_held, 2 * moved, bound[mine])
    return Known(exact, bound)


def _times(x: Known, y: Known) -> Known:
    """The fp32 product; one that fp32 holds is exact."""
    grown = np.abs(x.exact) * y.bound + np.abs(y.exact) * x.bound + x.bound * y.bound
    exact = x.exact * y.exact
    is_held = (grown <= np.abs(exact) * _LOST) & (exact.astype(np.float32) == exact)
    return Known(exact, np.where(is_held, 2 * grown, grown + (np.abs(exact) + grown) * _FAITHFUL))


def _within(known: Known, c: DType, reach: Values) -> Expected:
    """Where C cannot hold what is stored on the way, any value is right."""
    return Expected(known.exact, np.where(reach >= _LARGEST.get(c, np.inf), np.inf, np.maximum(known.bound, 2.0**-500)))


def _alone(signature: GemmSignature) -> GemmSignature:
    """One product as a signature of op gemm."""
    return replace(signature, op=Op.GEMM, epilogue=())


def _scaled(a: Values, scale: Values | None, signature: GemmSignature) -> Values:
    rows = a[None]
    found: Values = scaled_a(gemm.Operands(_alone(signature), rows, rows, None if scale is None else scale[None]))[0]
    return found


def _scaled_weights(weights: Weights, signature: GemmSignature) -> Values:
    values = weights.values
    return scaled_b(gemm.Operands(_alone(signature), values, values, b_scale=weights.scales))
