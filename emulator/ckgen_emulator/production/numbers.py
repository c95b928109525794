"""Number formats of the operands, and how far rounding may take a correct result."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

BF16: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
FP8_FNUZ: np.dtype[Any] = np.dtype(ml_dtypes.float8_e4m3fnuz)
FP8_OCP: np.dtype[Any] = np.dtype(ml_dtypes.float8_e4m3fn)
FP4: np.dtype[Any] = np.dtype(ml_dtypes.float4_e2m1fn)

FLOAT32 = 2.0**-23
"""Relative error of one single-precision operation that may also truncate."""

TO_BF16 = 2.0**-8
"""Relative error of a conversion to bf16 that rounds to nearest; one that truncates has twice that."""

TO_FP16 = 2.0**-11
"""As TO_BF16, of a conversion to fp16."""

Float = NDArray[np.float64]


def normal(generator: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Values of a normal distribution, rounded to the type."""
    return generator.standard_normal(shape, np.float32).astype(dtype)


def wide(array: NDArray[Any]) -> Float:
    """The values in double precision: exact for every type here."""
    return array.astype(np.float32).astype(np.float64)


def product(a: NDArray[Any], b: NDArray[Any]) -> tuple[Float, Float]:
    """a[M, K] times the transpose of b[N, K], and the error of summing it in single precision in any order."""
    exact, absolute = wide(a) @ wide(b).T, np.abs(wide(a)) @ np.abs(wide(b)).T
    return exact, a.shape[1] * FLOAT32 * absolute
