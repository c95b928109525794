"""What a number that is known to within an error may be stored as, against all values of the types."""

from __future__ import annotations

import numpy as np
import pytest

from ckgen.families.common.rounding import rounded
from ckgen.families.common.storage import Values, decode, encode
from ckgen.model.dtype import DType

TYPES = (DType.BF16, DType.FP16, DType.FP8_OCP)


def around(dtype: DType) -> tuple[Values, Values]:
    """Neighbouring values of a type, lower and upper."""
    values = np.unique(decode(encode(np.linspace(1.0, 8.0, 1 << 15), dtype)))
    assert len(values) == 1 + 3 * {DType.BF16: 128, DType.FP16: 1024, DType.FP8_OCP: 8}[dtype]
    return np.concatenate([values[:-1], -values[1:]]), np.concatenate([values[1:], -values[:-1]])


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_halfway_between_two_values_either_is_right_or_only_the_even_one(dtype: DType) -> None:
    lower, upper = around(dtype)
    middle, none = (lower + upper) / 2, np.zeros_like(lower)
    either, even = rounded(middle, none, dtype), rounded(middle, none, dtype, to_even=True)
    assert (either.c == middle).all() and (either.bound == (upper - lower) / 2).all()
    assert (even.c == decode(encode(middle, dtype))).all() and (even.bound == 0).all()


@pytest.mark.parametrize("to_even", [False, True])
@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_an_error_that_reaches_no_middle_leaves_one_value(dtype: DType, to_even: bool) -> None:
    lower, upper = around(dtype)
    gap = upper - lower
    near = rounded(lower + gap / 4, gap / 5, dtype, to_even=to_even)
    assert (near.c == lower).all() and (near.bound == 0).all()
    over = rounded(lower + gap / 4, gap / 3, dtype, to_even=to_even)
    assert (over.c == (lower + upper) / 2).all() and (over.bound == gap / 2).all()


@pytest.mark.parametrize("to_even", [False, True])
def test_what_a_type_cannot_hold_may_be_anything_and_nan_is_asked_for(to_even: bool) -> None:
    exact = np.array([65504.0, 65000.0, -1e6, np.inf, np.nan])
    found = rounded(exact, np.array([0.0, 504.0, 0.0, 0.0, 0.0]), DType.FP16, to_even=to_even)
    assert np.array_equal(found.bound, [np.inf, np.inf, np.inf, np.inf, 0.0])
    assert np.array_equal(found.c, exact, equal_nan=True)
