"""What a GEMM must give, from the definition, in float64; with storage as kernels read it and a derived error bound."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import ml_dtypes
import numpy as np
import numpy.typing as npt

from ckgen.families.gemm.enums import Layout, OperandOp, Quant
from ckgen.families.gemm.reference_epilogue import after_epilogue
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.dtype import DType
from ckgen.model.tuned_row import Shape

Values = npt.NDArray[np.float64]
Storage = npt.NDArray[np.generic]

MX_K = 32
_ROWS, _CHUNK_BYTES = 16, 16
_NUMPY: dict[DType, npt.DTypeLike] = {
    DType.FP64: np.float64,
    DType.FP32: np.float32,
    DType.FP16: np.float16,
    DType.BF16: ml_dtypes.bfloat16,
    DType.INT8: np.int8,
    DType.INT4: ml_dtypes.int4,
    DType.INT32: np.int32,
    DType.FP4: ml_dtypes.float4_e2m1fn,
    DType.E8M0: ml_dtypes.float8_e8m0fnu,
    DType.FP8_FNUZ: ml_dtypes.float8_e4m3fnuz,
    DType.FP8_OCP: ml_dtypes.float8_e4m3fn,
    DType.BF8_FNUZ: ml_dtypes.float8_e5m2fnuz,
    DType.BF8_OCP: ml_dtypes.float8_e5m2,
}
_UNIT_ROUNDOFF = {DType.FP64: 2.0**-53, DType.FP32: 2.0**-24, DType.FP16: 2.0**-11, DType.BF16: 2.0**-8}
_LEAST = {DType.FP64: 2.0**-1074, DType.FP32: 2.0**-149, DType.FP16: 2.0**-24, DType.BF16: 2.0**-133}
_LARGEST = {DType.FP16: 65504.0, DType.BF16: (2 - 2.0**-7) * 2.0**127}


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


@dataclass(frozen=True, slots=True)
class Expected:
    """The exact result, [batch, M, N], and how far a correct kernel may be from it, elementwise."""

    c: Values
    bound: Values

    def excess(self, actual: Storage) -> float:
        """The largest error in units of its bound; above 1 the kernel is wrong."""
        found = np.asarray(actual, np.float64).reshape(self.c.shape)
        free = np.isinf(self.bound)
        if np.isnan(found[~free]).any():
            return float("inf")
        error = np.where(free, 0.0, np.abs(found - self.c))
        return float((error / np.where(free, 1.0, self.bound)).max(initial=0.0))


def make_operands(signature: GemmSignature, shape: Shape, seed: int) -> Operands:
    """Mixed-sign operands that the signature's types hold exactly, with scales near one.

    Every other D tensor is one row for all, which of them the seed decides.
    """
    random = np.random.default_rng(seed)
    batch, m, n, k = max(shape.batch, 1), shape.m, shape.n, shape.k

    def values(dtype: DType, *sizes: int) -> Values:
        if dtype is DType.INT8:
            return random.integers(-20, 21, sizes).astype(np.float64)
        if dtype is DType.INT4:
            return random.integers(-8, 8, sizes).astype(np.float64)
        if dtype.bits <= 8:
            return random.choice(_small_values(dtype), sizes)
        return decode(encode(random.uniform(-2.0, 2.0, sizes), dtype))

    def scales(*sizes: int) -> Values:
        assert signature.scale is not None
        if signature.scale is DType.E8M0:
            return 2.0 ** random.integers(-2, 3, sizes).astype(np.float64)
        return decode(encode(random.uniform(0.5, 1.5, sizes), signature.scale))

    a_sizes, b_sizes = _scale_sizes(signature, m, n, k)
    scaled = 1 if signature.quant is Quant.PER_TENSOR else batch
    return Operands(
        signature,
        values(signature.a, batch, m, k),
        values(signature.b, batch, k, n),
        scales(scaled, *a_sizes) if a_sizes else None,
        scales(scaled, *b_sizes) if b_sizes else None,
        values(DType.FP32, n) if signature.bias else None,
        tuple(values(signature.c, *sizes) for sizes in d_sizes(signature, shape, seed)),
        float(values(DType.FP32, 1)[0]),
        values(signature.a, batch, m, k) if signature.a_op is not OperandOp.NONE else None,
        values(signature.b, batch, k, n) if signature.b_op is not OperandOp.NONE else None,
    )


def d_sizes(signature: GemmSignature, shape: Shape, seed: int) -> tuple[tuple[int, int, int], ...]:
    """The sizes of the D tensors that go with a seed."""
    whole, row = (max(shape.batch, 1), shape.m, shape.n), (1, 1, shape.n)
    count = sum(op.takes_d for op in signature.epilogue)
    return tuple(row if (seed + index) % 2 else whole for index in range(count))


@cache
def _small_values(dtype: DType) -> Values:
    """Every value of a narrow float from -2 to 2."""
    codes = np.arange(1 << dtype.bits, dtype=np.uint8).view(_NUMPY[dtype])
    decoded = decode(codes)
    return decoded[np.abs(decoded) <= 2]


def expect(operands: Operands, k_batch: int = 1) -> Expected:
    """C = epilogue(scale · A·B + bias) in float64, rounded nowhere.

    The bound: K sums and the scalings in the accumulator's type, each faithfully rounded, what the epilogue makes of
    that, then one rounding to C for each of the k_batch splits; their sums may leave C's range where the result stays.
    """
    signature = operands.signature
    a, b = scaled_operands(operands)
    exact, size = a @ b, np.abs(a) @ np.abs(b)
    if operands.bias is not None:
        exact, size = exact + operands.bias, size + np.abs(operands.bias)
    k = operands.a.shape[-1]
    steps = k + 6 + k_batch
    if signature.acc is DType.INT32:
        steps = 0 if signature.c is DType.INT32 else 6 + k_batch
    roundoff = 2 * _UNIT_ROUNDOFF.get(signature.acc, _UNIT_ROUNDOFF[DType.FP32])
    bound = size * (steps * roundoff / (1 - steps * roundoff) if steps * roundoff < 1 else np.inf)
    if signature.epilogue:
        exact, bound = after_epilogue(signature.epilogue, operands.d, operands.alpha, exact, bound)
    if signature.c in _UNIT_ROUNDOFF:
        bound = bound + (size * (k_batch - 1) + np.abs(exact) + bound) * _UNIT_ROUNDOFF[signature.c] * 1.001
        bound = bound + k_batch * _LEAST[signature.c]
    least = 0.5 if signature.c is DType.INT32 else 2.0**-500
    bound = np.maximum(bound, least)
    reach = np.abs(exact) + bound if k_batch == 1 else size + bound
    return _saturated(exact, bound, reach, signature.c)


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
    return rows * np.repeat(np.repeat(scales, n, axis=-2), k, axis=-1)[..., :count, :length]


def _combined(first: Values, second: Values | None, op: OperandOp, dtype: DType) -> Values:
    """An operand of two tensors, rounded to its type; the first where there is no op."""
    if second is None:
        return first
    return decode(encode(first + second if op is OperandOp.ADD else first * second, dtype))


def encode(values: Values, dtype: DType) -> Storage:
    """Values in a type's own numpy form, rounded to nearest even."""
    rounded: Storage = (
        values.astype(np.float32).astype(_NUMPY[dtype]) if dtype.bits < 32 else values.astype(_NUMPY[dtype])
    )
    return rounded


def decode(storage: Storage) -> Values:
    """Elements as float64, exactly."""
    if storage.dtype in (np.float64, np.float32, np.int32, np.int8):
        return storage.astype(np.float64)
    return storage.astype(np.float32).astype(np.float64)


def store_a(operands: Operands, of: Values | None = None) -> npt.NDArray[np.uint8]:
    """A's bytes, or another such tensor's, as the layout says; 4-bit types pack two along K, low half first."""
    values = operands.a if of is None else of
    rows = operands.signature.layout in (Layout.RCR, Layout.RRR)
    return _bytes(values if rows else np.swapaxes(values, -1, -2), operands.signature.a)


def store_b(operands: Operands, of: Values | None = None) -> npt.NDArray[np.uint8]:
    """B's bytes, or those of another such tensor, as the layout and preshuffling say."""
    signature, values = operands.signature, operands.b if of is None else of
    rows = signature.layout in (Layout.RRR, Layout.CRR)
    stored = _bytes(values if rows else np.swapaxes(values, -1, -2), signature.b)
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


def _bytes(values: Values, dtype: DType) -> npt.NDArray[np.uint8]:
    stored = np.ascontiguousarray(encode(values, dtype))
    sizes = (*stored.shape[:-1], stored.shape[-1] * stored.itemsize)
    raw: npt.NDArray[np.uint8] = stored.reshape(-1).view(np.uint8).reshape(sizes)
    if dtype.bits == 4:
        raw = np.bitwise_or(raw[..., 0::2] & 0xF, (raw[..., 1::2] & 0xF) << 4, dtype=np.uint8)
    return raw


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


def _saturated(exact: Values, bound: Values, reach: Values, c: DType) -> Expected:
    """Where C cannot hold what is stored on the way, which is `reach` at most, any value is right."""
    if c in _LARGEST:
        bound = np.where(reach >= _LARGEST[c], np.inf, bound)
    return Expected(exact, bound)
