"""Operands of a GEMM, made so that a wrong result can be told from a right one (docs/exactness.md).

make_operands: every sum of products is exact in the accumulator, in any order; what C's type cannot hold is rounded
once. make_integers: C's type holds the sums too, so that parts of C may be added up in it, in any order.
"""

from __future__ import annotations

from dataclasses import replace
from math import floor, log2

import numpy as np
import numpy.typing as npt

from ckgen.families.common.of_last import OfLast
from ckgen.families.common.storage import SIGNIFICAND_BITS, Values, decode, encode
from ckgen.families.gemm.enums import MX_K, EpilogueOp, OperandOp, Quant
from ckgen.families.gemm.reference import Operands, scaled_operands
from ckgen.families.gemm.reference_values import A1, B1, LARGEST, D, Integers, OfType, Source
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.dtype import DType
from ckgen.model.op_words import FLOAT8
from ckgen.model.tuned_row import Shape

_FINEST = {
    DType.INT8: 0, DType.INT4: 0, DType.FP4: 1, DType.FP8_OCP: 9, DType.FP8_FNUZ: 10, DType.BF8_OCP: 16,
    DType.BF8_FNUZ: 17,
}  # fmt: skip
"""Fraction bits of the least values of narrow types; wider ones have more than are ever asked for."""
_COARSE_BITS = 2
"""Of one operand of two wide ones: then the other has more bits than any narrower type that a kernel may use."""
_MOST_SUMMED = 1 << 30
"""Products of a problem, beyond which its sums of magnitudes are not made, but bounded."""
_BLOCK_SCALES = np.array([0.5, 0.75, 1.0, 1.25, 1.5])
_POWER_SCALES = np.array([0.5, 1.0, 2.0])

_Steps = npt.NDArray[np.int64]


def make_operands(signature: GemmSignature, shape: Shape, seed: int, fp8_sum_bits: int = 24) -> Operands:
    """Mixed-sign operands up to 2 in magnitude (int8 10, int4 8), multiples of a power of two.

    It is so coarse that no sum of products and of the bias leaves the accumulator's significand, in any order, up to a
    K of 100,000. Scales are around one, and neighbours differ by a tenth or more; those of blocks have few bits for the
    same reason as operands, those of rows and tensors, which follow the sum, as many as their type. Every other D
    tensor is one row for all, which the seed decides.

    fp8_sum_bits: of sums of 8-bit floats in the matrix unit, up to a block of K where scales have such. Of 13 bits, K
    beyond 2,048 is exact as signs are mixed: what is summed up so far is about 1.7 sqrt(K), and 2^13 is 20 times that
    up to a K of 50,000.
    """
    source = Source(signature, shape, seed)
    random, values = source.random, source.values
    a_bits, b_bits = _fraction_bits(signature, shape.k, seed, fp8_sum_bits)
    of_a, of_b = OfType(signature.a, a_bits), OfType(signature.b, b_bits)
    of_fp32 = SIGNIFICAND_BITS[DType.FP32]

    def scales(*sizes: int) -> Values:
        assert signature.scale is not None
        levels = _POWER_SCALES if signature.scale is DType.E8M0 else _BLOCK_SCALES
        found: Values = levels[_walk(random, sizes, len(levels))]
        if signature.quant in (Quant.BLOCKSCALE, Quant.MX):
            return found
        return decode(encode(found * random.uniform(0.95, 1.05, sizes), signature.scale))

    a_sizes, b_sizes = _scale_sizes(signature, shape)
    return Operands(
        signature,
        source.a(of_a),
        source.b(of_b),
        scales(*a_sizes) if a_sizes else None,
        scales(*b_sizes) if b_sizes else None,
        values(OfType(DType.FP32, a_bits + b_bits), shape.n) if signature.bias else None,
        tuple(
            values(OfType(signature.c, of_fp32), *sizes, of=D + index)
            for index, sizes in enumerate(d_sizes(signature, shape, seed))
        ),
        float(values(OfType(DType.FP32, of_fp32), 1)[0]),
        source.a(of_a, A1) if signature.a_op is not OperandOp.NONE else None,
        source.b(of_b, B1) if signature.b_op is not OperandOp.NONE else None,
    )


def make_integers(signature: GemmSignature, shape: Shape, seed: int) -> Operands:
    """Integers up to 2 (20 for int32), or to 1 where K is large, and scales of 1 and 2.

    They are so few that no sum of magnitudes leaves C's exact integers, nor does what the epilogue makes of it. Then
    neither the order of summation nor the parts that C is added up from matter, and gelu and silu alone round.
    """
    source = Source(signature, shape, seed)
    random, values = source.random, source.values

    def scales(sizes: tuple[int, ...]) -> Values | None:
        if not sizes:
            return None
        found: Values = np.exp2(random.integers(0, 2, sizes), dtype=np.float64)
        found.reshape(-1)[:2] = (1.0, 2.0)[: found.size]  # some neighbours differ, however few there are
        return found

    bias = values(Integers(4), shape.n) if signature.bias else None
    of_a, of_b = map(scales, _scale_sizes(signature, shape))
    limit = 2.0 ** SIGNIFICAND_BITS.get(signature.c, 24)
    levels: tuple[int, ...] = (20, 2, 1) if signature.c is DType.INT32 else (2, 1)
    if shape.m * shape.n * shape.k > _MOST_SUMMED:
        levels = tuple(most for most in levels if shape.k * most * most <= limit) or levels[-1:]
    for most in levels:
        integers, of_d = Integers(most), enumerate(d_sizes(signature, shape, seed))
        operands = Operands(
            signature, source.a(integers), source.b(integers), of_a, of_b, bias,
            tuple(values(Integers(2), *sizes, of=D + index) for index, sizes in of_d), 2.0,
            source.a(integers, A1) if signature.a_op is not OperandOp.NONE else None,
            source.b(integers, B1) if signature.b_op is not OperandOp.NONE else None,
        )  # fmt: skip
        if _largest_sum(operands) <= limit:
            return operands
    whole, density = operands, 1.0
    while (size := _largest_sum(operands)) > limit:
        density *= 0.95 * limit / size
        kept = random.random(whole.a.shape) < density
        a1 = np.where(kept, whole.a1, 0.0) if whole.a1 is not None else None
        operands = replace(operands, a=np.where(kept, whole.a, 0.0), a1=a1)
    return operands


def d_sizes(signature: GemmSignature, shape: Shape, seed: int) -> tuple[tuple[int, int, int], ...]:
    """The sizes of the D tensors that go with a seed."""
    whole, row = (max(shape.batch, 1), shape.m, shape.n), (1, 1, shape.n)
    tensors = sum(op.takes_d for op in signature.epilogue)
    return tuple(row if (seed + index) % 2 else whole for index in range(tensors))


def _fraction_bits(signature: GemmSignature, k: int, seed: int, fp8_sum_bits: int) -> tuple[int, int]:
    """Of A's and B's elements, so that K products and a bias of 2 fit the accumulator's significand."""
    product = _reach(signature.a, signature.a_op) * _reach(signature.b, signature.b_op)
    reach = 2.0 + max(k, 1) * product
    block, units = signature.scale_block, 1.0
    if signature.quant is Quant.MX:
        units = (_POWER_SCALES.max() / _POWER_SCALES.min()) ** 2
    elif signature.quant is Quant.BLOCKSCALE:
        units = (_BLOCK_SCALES.max() * 4) ** (block.of_a + block.of_b)
    room = SIGNIFICAND_BITS.get(signature.acc, 31)
    free = max(floor(room - log2(reach * units)), 0)
    if signature.a in FLOAT8 and signature.b in FLOAT8:
        of_a_block = block.k if signature.quant is Quant.BLOCKSCALE else k
        free = min(free, max(floor(fp8_sum_bits - log2(max(of_a_block, 1) * product)), 0))
    a_most, b_most = _FINEST.get(signature.a, room), _FINEST.get(signature.b, room)
    a_share = (free + seed % 2) // 2
    if min(signature.a.bits, signature.b.bits) >= 32 and free > 2 * _COARSE_BITS:
        a_share = free - _COARSE_BITS if seed % 2 else _COARSE_BITS
    a_bits = min(max(a_share, free - b_most), a_most)
    return _of_each(a_bits, signature.a_op), _of_each(min(free - a_bits, b_most), signature.b_op)


def _reach(dtype: DType, op: OperandOp) -> float:
    """The largest magnitude of an operand, after its op."""
    most = LARGEST.get(dtype, 2.0)
    return {OperandOp.NONE: most, OperandOp.ADD: 2 * most, OperandOp.MUL: most * most}[op]


def _of_each(bits: int, op: OperandOp) -> int:
    """Fraction bits of the two factors of an operand."""
    return bits // 2 if op is OperandOp.MUL else bits


def _walk(random: np.random.Generator, sizes: tuple[int, ...], count: int) -> _Steps:
    """Numbers below `count`, [sizes], no two neighbours along any axis alike."""
    found: _Steps = np.zeros((1,) * len(sizes), np.int64)
    for axis, size in enumerate(sizes):
        steps = np.cumsum(random.integers(1, count, size))
        found = found + steps.reshape([-1 if axis == at else 1 for at in range(len(sizes))])
    return found % count


def _largest_sum(operands: Operands) -> float:
    """The largest sum of magnitudes that any element of C is made of, before and after each of the epilogue's ops; of
    large problems, a bound of it."""
    size = _product_of_magnitudes(*scaled_operands(operands))
    bias = 0.0 if operands.bias is None else float(np.abs(operands.bias).max(initial=0))
    largest = after = size + bias
    tensors = iter(operands.d)
    for op in operands.signature.epilogue:
        other = float(np.abs(next(tensors)).max(initial=0)) if op.takes_d else operands.alpha
        if op is EpilogueOp.ADD:
            after += other
        elif op in (EpilogueOp.MUL, EpilogueOp.SCALE):
            after *= other
        largest = max(largest, after)
    return largest


_last_largest = OfLast[float]()


def _product_of_magnitudes(a: Values, b: Values) -> float:
    """The largest element."""
    if a.size * b.shape[-1] > _MOST_SUMMED:
        return float(np.abs(a).sum(-1).max() * _last_largest.of(b, lambda: max(b.max(), -b.min())))
    product: Values = np.abs(a) @ np.abs(b)
    return float(product.max(initial=0))


def _scale_sizes(signature: GemmSignature, shape: Shape) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The sizes of A's and B's scales, empty for a side without."""
    batch, m, n, k = max(shape.batch, 1), shape.m, shape.n, shape.k
    block = signature.scale_block
    match signature.quant:
        case Quant.NONE:
            return (), ()
        case Quant.PER_TENSOR:
            return (1, 1), (1, 1)
        case Quant.ROWWISE:
            return (batch, m), (batch, n)
        case Quant.BLOCKSCALE:
            groups = -(-k // block.k)
            return (batch, m, groups) if block.of_a else (), (batch, -(-n // block.n), groups) if block.of_b else ()
    return (batch, m, -(-k // MX_K)), (batch, n, -(-k // MX_K))
