"""Elements of the data types in numpy: values as float64, and as they are stored."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import numpy.typing as npt

from ckgen.model.dtype import DType

Values = npt.NDArray[np.float64]
Storage = npt.NDArray[np.generic]

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
SIGNIFICAND_BITS = {DType.FP64: 53, DType.FP32: 24, DType.FP16: 11, DType.BF16: 8}
"""Every integer up to 2 to this power is a value of the type."""


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
