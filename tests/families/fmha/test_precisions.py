"""What the reference knows of float types is what the types themselves say."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from ckgen.families.fmha.reference import PRECISIONS
from ckgen.model.dtype import DType

TYPES = {
    DType.FP32: np.float32,
    DType.FP16: np.float16,
    DType.BF16: ml_dtypes.bfloat16,
    DType.FP8_OCP: ml_dtypes.float8_e4m3fn,
    DType.FP8_FNUZ: ml_dtypes.float8_e4m3fnuz,
    DType.BF8_OCP: ml_dtypes.float8_e5m2,
    DType.BF8_FNUZ: ml_dtypes.float8_e5m2fnuz,
}


@pytest.mark.parametrize("dtype", list(TYPES))
def test_a_precision_is_that_of_the_type(dtype: DType) -> None:
    told, known = ml_dtypes.finfo(TYPES[dtype]), PRECISIONS[dtype]
    assert known.roundoff == float(told.eps) / 2
    assert known.least == float(told.smallest_subnormal) / 2
    assert known.largest == float(told.max)


def test_no_other_type_is_known() -> None:
    assert PRECISIONS.keys() == TYPES.keys()
