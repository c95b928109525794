"""Operands with a scale per row, and how far rounding to their formats may carry a result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckgen_emulator.production.numbers import BF16, FP8_FNUZ, FP8_OCP, TO_BF16, TO_FP16, Float, wide

INT8: np.dtype[Any] = np.dtype(np.int8)
FP16: np.dtype[Any] = np.dtype(np.float16)

DEVIATIONS = 7.0
"""Independent roundings add up like random numbers: so many standard deviations are exceeded once in 4e11 elements."""

_EQUAL = 3.0**-0.5
"""Standard deviation of an error that is anywhere between -1 and 1 with equal probability."""

_FP8_HALF_ULP = 2.0**-4

_LIMITS = {FP8_FNUZ: (240.0, 2.0**-7), FP8_OCP: (448.0, 2.0**-6)}
"""Largest and smallest normal value."""


def fp8(arch: str) -> np.dtype[Any]:
    """The chip's e4m3."""
    return FP8_FNUZ if arch == "gfx942" else FP8_OCP


def largest(dtype: np.dtype[Any]) -> float:
    """The largest value that a quantised operand uses."""
    return 127.0 if dtype == INT8 else _LIMITS[dtype][0]


def is_quantized(dtype: np.dtype[Any]) -> bool:
    """Whether values of the type have a scale beside them."""
    return dtype.itemsize == 1


def to_float16(dtype: np.dtype[Any]) -> float:
    """Relative error of a kernel's conversion: to bf16 most round to nearest, to fp16 some truncate (v_cvt_pkrtz)."""
    return TO_BF16 if dtype == BF16 else 2 * TO_FP16


@dataclass(frozen=True, slots=True)
class Quantized:
    """`values` as a kernel reads them, a scale per row (the last axis; None without), and what both stand for."""

    values: NDArray[Any]
    scales: NDArray[np.float32] | None
    exact: Float


def quantized(values: NDArray[np.float32], dtype: np.dtype[Any]) -> Quantized:
    """Rounded to the type, after a scale per row where the type needs one."""
    if not is_quantized(dtype):
        rounded = values.astype(dtype)
        return Quantized(rounded, None, wide(rounded))
    scales = (np.abs(values).max(-1) / largest(dtype)).astype(np.float32)
    scaled = values / scales[..., None]
    rounded = (np.rint(scaled) if dtype == INT8 else scaled).astype(dtype)
    return Quantized(rounded, scales, wide(rounded) * scales[..., None].astype(np.float64))


def deviation(values: Float, dtype: np.dtype[Any], of: Float | None = None) -> Float:
    """Standard deviation of the error when a kernel itself rounds `values` to the type, a scale per row.

    `of`: the values whose largest gives the scale, if others.
    """
    if not is_quantized(dtype):
        return to_float16(dtype) * _EQUAL * np.abs(values)
    top = np.abs(values if of is None else of).max(-1, keepdims=True)
    if dtype == INT8:
        return np.broadcast_to(_EQUAL / 127 * top, values.shape)  # v_cvt_i32_f32 truncates
    smallest = _LIMITS[dtype][1] / largest(dtype)
    return np.asarray(_FP8_HALF_ULP * _EQUAL * np.maximum(np.abs(values), smallest * top), np.float64)
