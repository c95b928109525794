"""What a GEMM must give, from the definition, in float64; with storage as kernels read it and a derived error bound."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from ckgen.families.common.comparison import Expected
from ckgen.families.common.of_last import OfLast
from ckgen.families.common.rounding import no_error, rounded
from ckgen.families.common.storage import SIGNIFICAND_BITS, Storage, Values, decode, encode
from ckgen.families.gemm.enums import MX_K, OperandOp, Quant
from ckgen.families.gemm.reference_epilogue import after_epilogue, keeps_integers
from ckgen.families.gemm.reference_values import drawn_of, elementwise
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.dtype import DType

_ROWS, _CHUNK_BYTES = 16, 16
_AT_ONCE = 1 << 15
"""Values whose steps are looked at together, in a core's own cache."""
_FEW = 1 << 10
"""So many most often tell the step of all, which is then only held against the others."""
_STEPS = 6
"""Roundings beside those of a sum: an integer sum's conversion, products with scales, the bias."""


@dataclass(frozen=True, slots=True)
class Operands:
    """Exact values of one problem: A is [batch, M, K], B [batch, K, N]; scales as kernels take them, bias [N].

    Scales of each batch: rowwise [M], [N]; blockscale [M, K/k], [N/n, K/k] of an n x k scale block, None for a side
    without; mx [M, K/32], [N, K/32]. per_tensor is [1], [1] for all batches. D tensors are [batch, M, N] with 1 where
    one batch or row serves all; `a1` and `b1` are the second operands of a_op and b_op, and lie like A and B.
    """

    signature: GemmSignature
    a: Values
    b: Values
    a_scale: Values | None = None
    b_scale: Values | None = None
    bias: Values | None = None
    d: tuple[Values, ...] = ()
    alpha: float = 1.0
    a1: Values | None = None
    b1: Values | None = None


def of_rows(operands: Operands, rows: npt.NDArray[np.int64]) -> Operands:
    """What gives these rows of C alone."""

    def taken(values: Values | None) -> Values | None:
        return values if values is None or values.shape[1] == 1 else values[:, rows]

    scale = operands.a_scale
    if operands.signature.quant is not Quant.PER_TENSOR and scale is not None:
        scale = scale[:, rows]
    d = tuple(values if values.shape[1] == 1 else values[:, rows] for values in operands.d)
    return replace(operands, a=operands.a[:, rows], a_scale=scale, d=d, a1=taken(operands.a1))


def expect(operands: Operands) -> Expected:
    """C = epilogue(scale · A·B + bias), rounded once to C's type, as docs/exactness.md derives.

    Where every sum is exact in the accumulator and nothing else rounds, C is the nearest value of its type, the even
    one of two, and its bound is 0. Otherwise C is between the values that are the nearest to what the accumulator,
    scales and epilogue may make of it, at most.
    """
    return _stored(_before_rounding(operands), operands.signature.c)


def expect_of_integers(operands: Operands) -> Expected:
    """As expect, of make_integers' operands, any of which may be replaced by zeros, infinities and NaNs.

    C's type holds every sum of magnitudes, so that parts of C may be added up in it: every finite element is the one
    right integer, unless an epilogue makes other numbers of integers.
    """
    found = _before_rounding(operands)
    if keeps_integers(operands.signature.epilogue):
        found = Expected(found.c, np.where(np.isfinite(found.c), 0.0, found.bound))
    return _stored(found, operands.signature.c)


def _before_rounding(operands: Operands) -> Expected:
    sums, epilogue = _sums(operands), operands.signature.epilogue
    if not epilogue:
        return sums
    return Expected(*after_epilogue(epilogue, operands.d, operands.alpha, sums.c, sums.bound))


def _stored(found: Expected, dtype: DType) -> Expected:
    """Rounded once, to even."""
    return found if dtype is DType.INT32 else rounded(found.c, found.bound, dtype, to_even=True)


def quantum(values: Values) -> float:
    """The largest power of two that divides every finite element; infinity where all are 0."""
    flat, unit = drawn_of(values), np.inf
    for begin in range(0, flat.size, _AT_ONCE):
        part = flat[begin : begin + _AT_ONCE]
        if np.isinf(unit):
            unit = _quantum(part[:_FEW])
        if np.isinf(unit):
            unit = _quantum(part)
            continue
        with np.errstate(invalid="ignore", over="ignore", under="ignore"):
            multiple = part * (1 / unit)
            np.rint(multiple, out=multiple)
            multiple *= unit
        is_finer = multiple != part
        if is_finer.any():
            unit = min(unit, _quantum(part[is_finer]))
    return float(unit)


def _quantum(values: Values) -> float:
    mantissa, exponent = np.frexp(values[np.isfinite(values) & (values != 0)])
    whole = np.abs(np.ldexp(mantissa, 53)).astype(np.int64)
    return float(np.ldexp((whole & -whole).astype(np.float64), exponent - 53).min(initial=np.inf))


@dataclass(frozen=True, slots=True)
class _Grid:
    """Values that are multiples of `unit` and no larger than `reach`."""

    reach: float
    unit: float

    @classmethod
    def of(cls, values: Values) -> _Grid:
        drawn = drawn_of(values)
        most, least = drawn.max(initial=0.0), drawn.min(initial=0.0)
        reach = max(most, -least)
        if not np.isfinite(reach):
            reach = np.abs(drawn[np.isfinite(drawn)]).max(initial=0.0)
        return cls(float(reach), quantum(drawn))

    def times(self, other: _Grid, terms: int = 1) -> _Grid:
        """Sums of so many products, each of a value and one of the other's."""
        return _Grid(terms * self.reach * other.reach, self.unit * other.unit)

    def plus(self, other: _Grid) -> _Grid:
        """Sums of two."""
        return _Grid(self.reach + other.reach, min(self.unit, other.unit))

    def fits(self, bits: int) -> bool:
        """Whether a float with a significand of so many bits holds all of them."""
        return self.reach <= self.unit * 2.0**bits


_last_grid, _last_narrow = OfLast[_Grid](), OfLast[npt.NDArray[np.float32]]()
"""Of B, which neighbouring problems share."""


def _sums(operands: Operands) -> Expected:
    """scale · A·B + bias, and how far a correct kernel may be from it before C's rounding."""
    signature = operands.signature
    a, b = _summed_operands(operands)
    products = _Grid.of(a).times(_last_grid.of(b, lambda: _Grid.of(b)), a.shape[-1])
    acc_bits = SIGNIFICAND_BITS.get(signature.acc, SIGNIFICAND_BITS[DType.FP32])  # integer sums become fp32
    is_exact = signature.acc is DType.INT32 or products.fits(acc_bits)
    sums = _product(a, b, is_narrow=products.fits(SIGNIFICAND_BITS[DType.FP32]))
    size = np.abs(sums) if is_exact else np.abs(a) @ np.abs(b)
    if signature.quant in (Quant.PER_TENSOR, Quant.ROWWISE):
        assert operands.a_scale is not None and operands.b_scale is not None
        scale = operands.a_scale[..., :, None] * operands.b_scale[..., None, :]
        sums, size, products = sums * scale, size * scale, products.times(_Grid.of(scale))
    if operands.bias is not None:
        sums, size = sums + operands.bias, size + np.abs(operands.bias)
        products = products.plus(_Grid.of(operands.bias))
    if signature.c is DType.INT32 or (is_exact and products.fits(acc_bits)):
        return Expected(sums, no_error(sums))
    lost = (_STEPS + (0 if is_exact else a.shape[-1])) * 2.0 ** (1 - acc_bits)
    return Expected(sums, size * (lost / (1 - lost) if lost < 1 else np.inf))


def _product(a: Values, b: Values, is_narrow: bool) -> Values:
    """A·B in float64; in float32, which is faster, where that rounds nothing either."""
    if not is_narrow:
        return a @ b
    found: Values = (_narrow(a) @ _last_narrow.of(b, lambda: _narrow(b))).astype(np.float64)
    return found


def _narrow(values: Values) -> npt.NDArray[np.float32]:
    return elementwise(values, lambda some: some.astype(np.float32))


def _summed_operands(operands: Operands) -> tuple[Values, Values]:
    """A and B as the accumulator sums them: with scales of blocks, but not with those that follow the sum."""
    signature = operands.signature
    if signature.quant not in (Quant.PER_TENSOR, Quant.ROWWISE):
        return scaled_operands(operands)
    a = _combined(operands.a, operands.a1, signature.a_op, signature.a)
    return a, _combined(operands.b, operands.b1, signature.b_op, signature.b)


def scaled_operands(operands: Operands) -> tuple[Values, Values]:
    """A and B with every element times its own scale: what the plain product then sums."""
    return scaled_a(operands), scaled_b(operands)


def scaled_a(operands: Operands) -> Values:
    """A with every element times its own scale."""
    signature = operands.signature
    a, scales = _combined(operands.a, operands.a1, signature.a_op, signature.a), operands.a_scale
    match signature.quant:
        case Quant.NONE:
            return a
        case Quant.BLOCKSCALE | Quant.MX:
            return _in_blocks(a, scales, 1, _scale_block(signature)[1])
    assert scales is not None
    return a * (scales[..., None] if signature.quant is Quant.PER_TENSOR else scales[..., :, None])


def scaled_b(operands: Operands) -> Values:
    """B with every element times its own scale."""
    signature = operands.signature
    b, scales = _combined(operands.b, operands.b1, signature.b_op, signature.b), operands.b_scale
    match signature.quant:
        case Quant.NONE:
            return b
        case Quant.BLOCKSCALE | Quant.MX:
            return np.swapaxes(_in_blocks(np.swapaxes(b, -1, -2), scales, *_scale_block(signature)), -1, -2)
    assert scales is not None
    return b * (scales[..., None] if signature.quant is Quant.PER_TENSOR else scales[..., None, :])


def _scale_block(signature: GemmSignature) -> tuple[int, int]:
    """Elements along N and K that share a scale of B."""
    block = signature.scale_block
    return (block.n, block.k) if signature.quant is Quant.BLOCKSCALE else (1, MX_K)


def _in_blocks(rows: Values, scales: Values | None, n: int, k: int) -> Values:
    """Rows of K elements times a scale for each n x k of them; as they are without scales."""
    if scales is None:
        return rows
    count, length = rows.shape[-2:]
    of_n, of_k = scales.shape[-2:]
    if (of_n * n, of_k * k) == (count, length):  # no block is cut, and scales need not be copied
        blocks = rows.reshape(*rows.shape[:-2], of_n, n, of_k, k)
        return (blocks * scales[..., :, None, :, None]).reshape(rows.shape)
    return rows * np.repeat(np.repeat(scales, n, axis=-2), k, axis=-1)[..., :count, :length]


def _combined(first: Values, second: Values | None, op: OperandOp, dtype: DType) -> Values:
    """An operand of two tensors, rounded to its type; the first where there is no op."""
    if second is None:
        return first
    return decode(encode(first + second if op is OperandOp.ADD else first * second, dtype))


def store_a(operands: Operands, of: Values | None = None) -> npt.NDArray[np.uint8]:
    """A's bytes, or another such tensor's, as the layout says; 4-bit types pack two along K, low half first."""
    signature, values = operands.signature, operands.a if of is None else of
    return _bytes(values, signature.layout.a_is_row_major, signature.a)


def store_b(operands: Operands, of: Values | None = None) -> npt.NDArray[np.uint8]:
    """B's bytes, or those of another such tensor, as the layout and preshuffling say."""
    signature, values = operands.signature, operands.b if of is None else of
    stored = _bytes(values, signature.layout.b_is_row_major, signature.b)
    return preshuffle(stored) if signature.preshuffle_b else stored


def preshuffle(rows: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """[batch, N, bytes of K] so that 16 rows' 16-byte chunks lie side by side, as `preshuffle_b` kernels read B."""
    batch, n, size = rows.shape
    blocks = rows.reshape(batch, n // _ROWS, _ROWS, size // _CHUNK_BYTES, _CHUNK_BYTES)
    return np.ascontiguousarray(blocks.transpose(0, 1, 3, 2, 4)).reshape(batch, n, size)


def shuffle_mx_scale(scales: Storage) -> Storage:
    """[batch, rows, groups] in the order of `mx_scale_shuffled` kernels, flat; what is padded is zero."""
    batch, rows, groups = scales.shape
    padded = np.zeros((batch, -(-rows // 32) * 32, -(-groups // 8) * 8), scales.dtype)
    padded[:, :rows, :groups] = scales
    blocks = padded.reshape(batch, padded.shape[1] // 32, 2, 16, padded.shape[2] // 8, 2, 4)
    return np.ascontiguousarray(blocks.transpose(0, 1, 4, 6, 3, 5, 2)).reshape(-1)


def _bytes(values: Values, is_row_major: bool, dtype: DType) -> npt.NDArray[np.uint8]:
    encoded = elementwise(values, lambda some: encode(some, dtype))
    stored = np.ascontiguousarray(encoded if is_row_major else np.swapaxes(encoded, -1, -2))
    sizes = (*stored.shape[:-1], stored.shape[-1] * stored.itemsize)
    raw: npt.NDArray[np.uint8] = stored.reshape(-1).view(np.uint8).reshape(sizes)
    if dtype.bits == 4:
        raw = two_to_a_byte(raw)
    return raw


def two_to_a_byte(raw: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """4-bit elements of a byte each, packed along the last dimension, low first."""
    packed: npt.NDArray[np.uint8] = np.bitwise_or(raw[..., 0::2] & 0xF, (raw[..., 1::2] & 0xF) << 4, dtype=np.uint8)
    return packed
