"""Operands of a GEMM, made so that a wrong result can be told from a right one (docs/exactness.md).

make_operands: every sum of products is exact in the accumulator, in any order; what C's type cannot hold is rounded
once. make_integers: C's type holds the sums too, so that parts of C may be added up in it, in any order.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache, lru_cache
from math import floor, log2, prod

import numpy as np
import numpy.typing as npt

from ckgen.families.common.storage import SIGNIFICAND_BITS, Values, decode, encode
from ckgen.families.gemm.enums import MX_K, EpilogueOp, OperandOp, Quant
from ckgen.families.gemm.reference import Operands, scaled_operands
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.dtype import DType
from ckgen.model.op_words import FLOAT8
from ckgen.model.tuned_row import Shape

_LARGEST = {DType.INT8: 10.0, DType.INT4: 8.0}
"""Of operands; 2 for all other types."""
_FINEST = {
    DType.INT8: 0, DType.INT4: 0, DType.FP4: 1, DType.FP8_OCP: 9, DType.FP8_FNUZ: 10, DType.BF8_OCP: 16,
    DType.BF8_FNUZ: 17,
}  # fmt: skip
"""Fraction bits of the least values of narrow types; wider ones have more than are ever asked for."""
_COARSE_BITS = 2
"""Of one operand of two wide ones: then the other has more bits than any narrower type that a kernel may use."""
_MOST_DRAWN = 8_388_593
"""Values of larger operands come again after so many, a prime: never at the same place of a row, or of a tile."""
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
    random = np.random.default_rng(seed)
    batch, m, n, k = max(shape.batch, 1), shape.m, shape.n, shape.k
    a_bits, b_bits = _fraction_bits(signature, k, seed, fp8_sum_bits)

    def values(dtype: DType, bits: int, *sizes: int) -> Values:
        if dtype in _LARGEST:
            most = int(_LARGEST[dtype])
            return random.integers(-most, most + (dtype is not DType.INT4), sizes).astype(np.float64)
        if dtype.bits <= 8:
            return random.choice(_small_values(dtype, bits), sizes)
        if prod(sizes) > _MOST_DRAWN:
            return _large(dtype, bits, seed, sizes)
        return decode(encode(_rounded(random.uniform(-2.0, 2.0, sizes), bits), dtype))

    def scales(*sizes: int) -> Values:
        assert signature.scale is not None
        levels = _POWER_SCALES if signature.scale is DType.E8M0 else _BLOCK_SCALES
        found: Values = levels[_walk(random, sizes, len(levels))]
        if signature.quant in (Quant.BLOCKSCALE, Quant.MX):
            return found
        return decode(encode(found * random.uniform(0.95, 1.05, sizes), signature.scale))

    def second(op: OperandOp, dtype: DType, bits: int, *sizes: int) -> Values | None:
        return values(dtype, bits, *sizes) if op is not OperandOp.NONE else None

    a_sizes, b_sizes = _scale_sizes(signature, m, n, k)
    scaled = 1 if signature.quant is Quant.PER_TENSOR else batch
    return Operands(
        signature,
        values(signature.a, a_bits, batch, m, k),
        values(signature.b, b_bits, batch, k, n),
        scales(scaled, *a_sizes) if a_sizes else None,
        scales(scaled, *b_sizes) if b_sizes else None,
        values(DType.FP32, a_bits + b_bits, n) if signature.bias else None,
        tuple(values(signature.c, SIGNIFICAND_BITS[DType.FP32], *sizes) for sizes in d_sizes(signature, shape, seed)),
        float(values(DType.FP32, SIGNIFICAND_BITS[DType.FP32], 1)[0]),
        second(signature.a_op, signature.a, a_bits, batch, m, k),
        second(signature.b_op, signature.b, b_bits, batch, k, n),
    )


def _rounded(of: Values, bits: int) -> Values:
    return np.rint(np.ldexp(of, bits)) / 2.0**bits


@lru_cache(maxsize=2)
def _large(dtype: DType, bits: int, seed: int, sizes: tuple[int, ...]) -> Values:
    """Of more values than are drawn: kept, as neighbouring problems have the same B."""
    random = np.random.default_rng((seed, *sizes))
    found = np.resize(decode(encode(_rounded(random.uniform(-2.0, 2.0, _MOST_DRAWN), bits), dtype)), sizes)
    found.flags.writeable = False
    return found


def make_integers(signature: GemmSignature, shape: Shape, seed: int) -> Operands:
    """Integers up to 2 (20 for int32), or to 1 where K is large, and scales of 1 and 2.

    They are so few that no sum of magnitudes leaves C's exact integers, nor does what the epilogue makes of it. Then
    neither the order of summation nor the parts that C is added up from matter, and gelu and silu alone round.
    """
    random = np.random.default_rng(seed)
    batch, m, n, k = max(shape.batch, 1), shape.m, shape.n, shape.k
    like = make_operands(signature, shape, seed)  # for the sizes of its scales

    def integers(most: int, *sizes: int) -> Values:
        return random.integers(-most, most + 1, sizes).astype(np.float64)

    def scales(of: Values | None) -> Values | None:
        if of is None:
            return None
        found: Values = np.exp2(random.integers(0, 2, of.shape), dtype=np.float64)
        found.reshape(-1)[:2] = (1.0, 2.0)[: found.size]  # some neighbours differ, however few there are
        return found

    def second(like: Values | None, most: int) -> Values | None:
        return integers(most, *like.shape) if like is not None else None

    bias = integers(4, n) if signature.bias else None
    of_a, of_b = scales(like.a_scale), scales(like.b_scale)
    limit = 2.0 ** SIGNIFICAND_BITS.get(signature.c, 24)
    for most in (20, 2, 1) if signature.c is DType.INT32 else (2, 1):
        operands = Operands(signature, integers(most, batch, m, k), integers(most, batch, k, n), of_a, of_b, bias)
        operands = replace(
            operands,
            d=tuple(integers(2, *of.shape) for of in like.d),
            alpha=2.0,
            a1=second(like.a1, most),
            b1=second(like.b1, most),
        )
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
    count = sum(op.takes_d for op in signature.epilogue)
    return tuple(row if (seed + index) % 2 else whole for index in range(count))


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
    most = _LARGEST.get(dtype, 2.0)
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


@cache
def _small_values(dtype: DType, bits: int) -> Values:
    """Every value of a narrow float from -2 to 2 that is a multiple of 2^-bits."""
    codes = np.arange(1 << dtype.bits, dtype=np.uint8).view(encode(np.zeros(1), dtype).dtype)
    decoded = decode(codes)
    decoded = decoded[np.abs(decoded) <= 2]
    found: Values = decoded[np.ldexp(decoded, bits) % 1 == 0]
    return found


def _largest_sum(operands: Operands) -> float:
    """The largest sum of magnitudes that any element of C is made of, before and after each of the epilogue's ops."""
    a, b = scaled_operands(operands)
    size: npt.NDArray[np.float64] = np.abs(a) @ np.abs(b)
    bias = 0.0 if operands.bias is None else float(np.abs(operands.bias).max(initial=0))
    largest = after = float(size.max(initial=0)) + bias
    tensors = iter(operands.d)
    for op in operands.signature.epilogue:
        other = float(np.abs(next(tensors)).max(initial=0)) if op.takes_d else operands.alpha
        if op is EpilogueOp.ADD:
            after += other
        elif op in (EpilogueOp.MUL, EpilogueOp.SCALE):
            after *= other
        largest = max(largest, after)
    return largest


def _scale_sizes(signature: GemmSignature, m: int, n: int, k: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The sizes of A's and B's scales, empty for a side without."""
    block = signature.scale_block
    match signature.quant:
        case Quant.NONE:
            return (), ()
        case Quant.PER_TENSOR:
            return (1,), (1,)
        case Quant.ROWWISE:
            return (m,), (n,)
        case Quant.BLOCKSCALE:
            groups = -(-k // block.k)
            return (m, groups) if block.of_a else (), (-(-n // block.n), groups) if block.of_b else ()
    return (m, -(-k // MX_K)), (n, -(-k // MX_K))
