"""Which values of a type a number may become that is known to within an error, by one rounding to nearest."""

from __future__ import annotations

import numpy as np

from ckgen.families.common.comparison import Expected
from ckgen.families.common.storage import Values, decode, encode
from ckgen.model.dtype import DType

_LARGEST = {
    DType.FP16: 65504.0, DType.BF16: (2 - 2.0**-7) * 2.0**127, DType.FP8_OCP: 448.0, DType.FP8_FNUZ: 240.0,
    DType.BF8_OCP: 57344.0, DType.BF8_FNUZ: 57344.0,
}  # fmt: skip
_TIE = {DType.FP64: 0.0, DType.FP32: 2.0**-40}
_NARROW_TIE = 2.0**-22
"""Of a number's size: so near to the middle of two values of its type, either is right. encode rounds to fp32 first."""


def rounded(exact: Values, error: Values, dtype: DType, *, truncates: bool = False, to_even: bool = False) -> Expected:
    """The values of `dtype` that exact ± error is rounded to: bound 0 where that is only one.

    Of two values that are as near, either is right; where the type cannot hold the number, any. truncates: rounding
    goes towards zero, or to nearest; numbers that are exactly known and that the type holds stay all the same.
    to_even: of two as near to a number that is exactly known, only the even one is right. fp32 must hold that number
    where the type is narrower.
    """
    if to_even and not truncates and not error.any():
        return _rounded_to_even(exact, dtype)
    tie = np.abs(exact) * _TIE.get(dtype, _NARROW_TIE)
    with np.errstate(over="ignore", invalid="ignore"):
        nearest = decode(encode(exact, dtype))
        least, most = (decode(encode(exact + side * np.maximum(error, tie), dtype)) for side in (-1, 1))
        if to_even:
            least, most = (np.where(error == 0, nearest, end) for end in (least, most))
    if truncates:
        cut = np.where((error == 0) & (nearest == exact), 0.0, _step(nearest, dtype))
        least, most = np.where(exact > 0, least - cut, least), np.where(exact < 0, most + cut, most)
    is_known = (least == most) | ((error == 0) & (nearest == exact))
    is_lost = np.abs(exact) + error >= _LARGEST.get(dtype, np.inf)
    with np.errstate(invalid="ignore"):
        center, half = np.where(is_known, nearest, (least + most) / 2), np.where(is_known, 0.0, (most - least) / 2)
    bound = np.where(is_lost, np.inf, np.where(np.isnan(exact), 0.0, half))
    return Expected(np.where(is_lost | np.isnan(exact), exact, center), bound)


def _rounded_to_even(exact: Values, dtype: DType) -> Expected:
    """The one right value of each number; any where the type cannot hold it."""
    with np.errstate(over="ignore", invalid="ignore"):
        nearest = decode(encode(exact, dtype))
    is_other = ~(np.abs(exact) < _LARGEST.get(dtype, np.inf))
    if not is_other.any():
        return Expected(nearest, no_error(exact))
    return Expected(np.where(is_other, exact, nearest), np.where(is_other & ~np.isnan(exact), np.inf, 0.0))


def no_error(values: Values) -> Values:
    """The error of values that are exact: a 0 for each, which takes no memory, and is read-only."""
    return np.broadcast_to(np.float64(0), values.shape)


def least_bits(values: Values) -> Values:
    """The value of each number's lowest bit that is set; infinity of 0."""
    fractions, exponents = np.frexp(values)
    whole = np.abs(fractions * 2.0**53).astype(np.int64)
    found: Values = np.where(values == 0, np.inf, np.ldexp((whole & -whole).astype(np.float64), exponents - 53))
    return found


def _step(values: Values, dtype: DType) -> Values:
    """From each value to the next one of its type, away from zero or towards it, whichever is farther."""
    bits, least = {DType.FP32: (23, -149), DType.FP16: (10, -24), DType.BF16: (7, -133)}[dtype]
    _, exponents = np.frexp(values)
    found: Values = np.exp2(np.maximum(exponents - 1 - bits, least).astype(np.float64))
    return found
