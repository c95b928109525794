"""Data of one product of a mixture of experts, and what a correct kernel may make of it.

gate_up: C[token, slot] = act(x · gate) * (x · up), x = A's row, times the routing weight where that comes first.
down: C[token] = the sum over slots of A[token, slot] · W, times the routing weight unless that came first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckgen.families.gemm.enums import EpilogueOp, MoePart, Quant
from ckgen.families.gemm.reference import preshuffle, shuffle_mx_scale
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.dtype import DType
from ckgen_emulator.production.expert_layers import BLOCK, activated, in_blocks
from ckgen_emulator.production.model import Output
from ckgen_emulator.production.numbers import BF16, FLOAT32, FP4, TO_BF16, Float
from ckgen_emulator.production.quantized import FP16, INT8, Quantized, fp8, quantized
from ckgen_emulator.production.routing import Routing, routed

_MX = 32
_APPROXIMATE = 1e-5  # of the activation: exp, erf and reciprocal in single precision


@dataclass(frozen=True, slots=True)
class PartProblem:
    """Sizes of a part: N is inter_dim of gate_up and model_dim of down, K the other; `seed` decides the data."""

    tokens: int
    n: int
    k: int
    experts: int = 4
    top_k: int = 2
    seed: int = 0


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


def part_data(signature: GemmSignature, arch: str, block_m: int, problem: PartProblem) -> PartData:
    """The problem for a kernel of the signature, a part over preshuffled weights, whose macro tile has block_m rows."""
    random = np.random.default_rng(problem.seed)
    routing = routed(random, problem.tokens, problem.experts, problem.top_k, block_m)
    first = signature.moe.part is MoePart.GATE_UP
    rows = problem.tokens * (1 if first else problem.top_k)
    rows_w = problem.n * (2 if signature.moe.gated else 1)
    made = _SCHEMES[signature.quant]
    a = made(random, (1, rows, problem.k), signature.a, arch)
    w = made(random, (problem.experts, rows_w, problem.k), signature.b, arch)
    exact_a, a_scale = a.exact.reshape(rows, problem.k), _scales_of_a(signature, a, routing, problem)
    w_scale: NDArray[Any] | None = None if w.scales is None else np.ascontiguousarray(w.scales)
    if w_scale is not None and signature.quant is Quant.MX:
        w_scale = shuffle_mx_scale(w_scale)
    laid = preshuffle(w.values.view(np.uint8).reshape(problem.experts, rows_w, -1))
    part = _gate_up if first else _down
    return PartData(a.values, laid, a_scale, w_scale, routing, part(signature, problem, routing, exact_a, w.exact))


def _scales_of_a(signature: GemmSignature, a: Quantized, routing: Routing, problem: PartProblem) -> NDArray[Any] | None:
    """Row-major; e8m0 in the order of the sorted rows, padding included, and shuffled."""
    if a.scales is None or signature.quant is Quant.PER_TENSOR:
        return a.scales
    scales: NDArray[Any] = a.scales.reshape(a.values.shape[1], -1)
    if signature.quant is not Quant.MX:
        return np.ascontiguousarray(scales)
    token, slot = routing.ids & 0xFFFFFF, routing.ids >> 24
    row = token if signature.moe.part is MoePart.GATE_UP else token * problem.top_k + slot
    known = row < len(scales)
    in_order = np.where(known[:, None], scales[np.where(known, row, 0)], np.uint8(127))
    return shuffle_mx_scale(in_order[None])


def _gate_up(signature: GemmSignature, problem: PartProblem, routing: Routing, a: Float, w: Float) -> Output:
    shape = (problem.tokens, problem.top_k, problem.n)
    exact, bound = np.empty(shape), np.empty(shape)
    activation = "silu" if signature.epilogue == (EpilogueOp.SILU,) else "gelu"
    for (token, slot), expert in np.ndenumerate(routing.experts):
        x = a[token] * (float(routing.weights[token, slot]) if signature.moe.weight_first else 1.0)
        sums, of_sums = w[expert] @ x, (problem.k + 4) * FLOAT32 * (np.abs(w[expert]) @ np.abs(x))
        gate, up = activated(sums[: problem.n], activation), sums[problem.n :]
        exact[token, slot] = gate * up
        moved = 1.2 * of_sums[: problem.n] * np.abs(up) + of_sums[problem.n :] * np.abs(
            gate
        )  # act's slope is below 1.2
        bound[token, slot] = moved + _APPROXIMATE * (np.abs(up) + np.abs(gate * up))
    rounded = _rounding(signature.c)
    return Output("c", np.empty(shape, _numpy(signature.c)), exact, bound + 1.01 * rounded * np.abs(exact))


def _down(signature: GemmSignature, problem: PartProblem, routing: Routing, a: Float, w: Float) -> Output:
    """Each slot's product is rounded to C's type and added in it, in any order."""
    shape = (problem.tokens, problem.n)
    exact, of_sums, added = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for (token, slot), expert in np.ndenumerate(routing.experts):
        weight = 1.0 if signature.moe.weight_first else float(routing.weights[token, slot])
        row = a[token * problem.top_k + slot]
        part = weight * (w[expert] @ row)
        exact[token] += part
        added[token] += np.abs(part)
        of_sums[token] += (problem.k + 4) * FLOAT32 * weight * (np.abs(w[expert]) @ np.abs(row))
    bound = of_sums + (1 + problem.top_k) * 1.01 * _rounding(signature.c) * added
    return Output("c", np.empty(shape, _numpy(signature.c)), exact, bound, zeroed=True)


def _numpy(dtype: DType) -> np.dtype[Any]:
    return BF16 if dtype is DType.BF16 else FP16


def _rounding(dtype: DType) -> float:
    return TO_BF16 if dtype is DType.BF16 else 2.0**-11


def _operand(dtype: DType, arch: str) -> np.dtype[Any]:
    known = {DType.BF16: BF16, DType.FP16: FP16, DType.INT8: INT8}
    return known.get(dtype, fp8(arch))


def _values(random: np.random.Generator, sizes: tuple[int, int, int]) -> NDArray[np.float32]:
    """So large that results have the size of inputs."""
    large = 2.0 if sizes[0] == 1 else 2 / np.sqrt(sizes[2])
    return (random.standard_normal(sizes) * large).astype(np.float32)


def _by_row(random: np.random.Generator, sizes: tuple[int, int, int], dtype: DType, arch: str) -> Quantized:
    return quantized(_values(random, sizes), _operand(dtype, arch))


def _by_matrix(random: np.random.Generator, sizes: tuple[int, int, int], dtype: DType, arch: str) -> Quantized:
    """A scale for all of A, and one for each expert."""
    made = quantized(_values(random, sizes).reshape(sizes[0], -1), _operand(dtype, arch))
    return Quantized(made.values.reshape(sizes), made.scales, made.exact.reshape(sizes))


def _by_block(random: np.random.Generator, sizes: tuple[int, int, int], dtype: DType, arch: str) -> Quantized:
    """A scale per 1x128 of A and per 128x128 of the weights."""
    values, operand = _values(random, sizes), _operand(dtype, arch)
    if sizes[0] != 1:
        return in_blocks(values, operand)
    made = quantized(values.reshape(1, sizes[1], -1, BLOCK), operand)
    return Quantized(made.values.reshape(sizes), made.scales, made.exact.reshape(sizes))


def _by_32(random: np.random.Generator, sizes: tuple[int, int, int], dtype: DType, arch: str) -> Quantized:
    """Packed fp4, the even element low, and an e8m0 scale per 32."""
    codes = random.integers(0, 16, sizes, np.uint8)
    codes[codes == 8] = 0
    scales = random.integers(121 if sizes[0] == 1 else 117, 126, (*sizes[:2], sizes[2] // _MX), np.uint8)
    exact = codes.view(FP4).astype(np.float64) * np.repeat(np.exp2(scales.astype(np.float64) - 127), _MX, axis=-1)
    return Quantized(codes[..., 0::2] | codes[..., 1::2] << 4, scales, exact)


_SCHEMES: dict[Quant, Callable[[np.random.Generator, tuple[int, int, int], DType, str], Quantized]] = {
    Quant.NONE: _by_row,
    Quant.PER_TENSOR: _by_matrix,
    Quant.ROWWISE: _by_row,
    Quant.BLOCKSCALE: _by_block,
    Quant.MX: _by_32,
}
