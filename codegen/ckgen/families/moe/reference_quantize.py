"""H of a MoE layer as it is between its products: rounded to A's type, with scales of A's scheme made from H itself.

rowwise, per_tensor and blockscale: scale = the largest magnitude of its elements / the type's largest value, 1 where
all are zero. mx: 2^(floor(log2(largest magnitude)) - the type's largest exponent), as the OCP MX specification says,
at least 2^-127. An element becomes element / scale, rounded to nearest even, at most the type's largest value.

The bound follows the rounding: of an H that is known to within some error, either end of that interval is quantised
under either end of the scale's; no value in between can be stored as less than the lesser or more than the greater.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from ckgen.families.common.storage import Values, decode, encode
from ckgen.families.gemm.enums import MX_K, Quant
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.dtype import DType

_LARGEST = {
    DType.INT8: 127.0,
    DType.FP4: 6.0,
    DType.FP8_FNUZ: 240.0,
    DType.FP8_OCP: 448.0,
    DType.BF8_FNUZ: 57344.0,
    DType.BF8_OCP: 57344.0,
    DType.FP16: 65504.0,
    DType.BF16: (2 - 2.0**-7) * 2.0**127,
    DType.FP32: (2 - 2.0**-23) * 2.0**127,
}
_FAITHFUL = 2.0**-23


@dataclass(frozen=True, slots=True)
class Known:
    """Values to within a bound, elementwise."""

    exact: Values
    bound: Values

    @property
    def reach(self) -> Values:
        """The largest magnitudes that they may have."""
        reach: Values = np.abs(self.exact) + self.bound
        return reach


@dataclass(frozen=True, slots=True)
class Quantized:
    """Codes as values of their type, their scales, and what the two stand for."""

    codes: Values
    scales: Values | None
    value: Known


def quantize(h: Known, signature: GemmSignature) -> Quantized:
    """H, [rows, columns], as the down product reads it; as it is where it has no scales and the type is the same."""
    dtype = signature.a
    if signature.quant is Quant.NONE or (signature.quant is Quant.BLOCKSCALE and not signature.scale_block.of_a):
        if dtype is signature.c:
            return Quantized(h.exact, None, h)
        codes, one = stored(h.exact, dtype), np.ones_like(h.exact)
        return Quantized(codes, None, Known(codes, _farthest(h, codes, one, one, signature)))
    blocks = _blocks(h, signature)
    largest = np.abs(blocks.exact).max(axis=-1, keepdims=True, initial=0.0)
    least = np.maximum(np.abs(blocks.exact) - blocks.bound, 0.0).max(axis=-1, keepdims=True, initial=0.0)
    most = blocks.reach.max(axis=-1, keepdims=True, initial=0.0)
    scale = _scale(largest, signature)
    low, high = _scale(least, signature), _scale(most, signature)
    if signature.quant is not Quant.MX:
        is_held = (low == high) & (low.astype(np.float32) == low)
        low, high = (np.where(is_held, end, end * (1 + side * _FAITHFUL)) for end, side in ((low, -1), (high, 1)))
    codes = stored(blocks.exact / scale, dtype)
    bound = _farthest(blocks, codes * scale, low, high, signature)
    rows, columns = h.exact.shape

    def whole(of: Values) -> Values:
        return of.reshape(rows, -1)[:, :columns]

    return Quantized(whole(codes), scale[..., 0], Known(whole(codes * scale), whole(bound)))


def stored(values: Values, dtype: DType) -> Values:
    """The nearest values of a type, to nearest even, at most its largest."""
    largest = _LARGEST[dtype]
    if dtype is DType.INT8:
        return np.clip(np.rint(values), -largest, largest)
    return decode(encode(np.clip(values, -largest, largest), dtype))


def _blocks(h: Known, signature: GemmSignature) -> Known:
    """H with the elements that share a scale along the last axis, filled up with zeros."""
    if signature.quant is Quant.PER_TENSOR:
        return Known(h.exact.reshape(1, -1), h.bound.reshape(1, -1))
    if signature.quant is Quant.ROWWISE:
        return h
    size = MX_K if signature.quant is Quant.MX else signature.scale_block.k
    more = -h.exact.shape[1] % size

    def cut(of: Values) -> Values:
        return np.pad(of, ((0, 0), (0, more))).reshape(of.shape[0], -1, size)

    return Known(cut(h.exact), cut(h.bound))


def _scale(largest: Values, signature: GemmSignature) -> Values:
    most = _LARGEST[signature.a]
    if signature.quant is Quant.MX:
        with np.errstate(divide="ignore"):
            exponent = np.floor(np.log2(largest)) - np.floor(np.log2(most))
        scale: Values = np.exp2(np.clip(exponent, -127, 127))
        return scale
    return np.where(largest == 0, 1.0, largest / most)


def _farthest(h: Known, center: Values, low: Values, high: Values, signature: GemmSignature) -> Values:
    """How far what is stored may be from `center`, which the exact H gives, its scale anywhere from `low` to `high`."""
    # A scale of mx is one of powers of two; any other may be between the ends where the quotient was taken.
    pairs = ((low, low), (high, high)) if signature.quant is Quant.MX else tuple(product((low, high), repeat=2))
    farthest = np.zeros_like(center)
    for end, (divisor, scale) in product((h.exact - h.bound, h.exact + h.bound), pairs):
        for turned in (1 - _FAITHFUL, 1 + _FAITHFUL):
            found = stored(end / divisor * turned, signature.a) * scale
            farthest = np.maximum(farthest, np.abs(found - center))
    return farthest
