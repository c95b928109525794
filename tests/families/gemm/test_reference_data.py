"""Operands of large problems: a drawn sequence, repeated, as kernels read it, of which parts still add up exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from ckgen.families.gemm.reference import Operands, expect, store_a, store_b
from ckgen.families.gemm.reference_data import make_integers, make_operands
from ckgen.families.gemm.reference_values import MOST_DRAWN
from ckgen.families.gemm.signature import GemmSignature, parse_canonical
from ckgen.model.tuned_row import Shape

Make = Callable[[GemmSignature, Shape, int], Operands]
LARGE = Shape(0, 128, 2200, 4096)
"""More products than sums of magnitudes are made of; B has more values than are drawn."""


@pytest.mark.parametrize("layout", ["rcr", "rrr"])
@pytest.mark.parametrize("make", [make_operands, make_integers])
def test_a_large_b_repeats_its_values_in_the_order_of_its_memory(make: Make, layout: str) -> None:
    operands = made(make, f"gemm_bf16_{layout}", LARGE)
    as_read = operands.b if layout == "rrr" else np.swapaxes(operands.b, -1, -2)
    assert as_read.flags.c_contiguous and not as_read.flags.writeable
    flat = as_read.reshape(-1)
    assert np.array_equal(flat[MOST_DRAWN:], flat[: flat.size - MOST_DRAWN])
    assert len(np.unique(flat[:4096])) > 2


def test_of_a_square_problem_a_is_neither_b_nor_its_transpose() -> None:
    operands = make_operands(parse_canonical("gemm_bf16_rcr"), Shape(0, 1450, 1450, 1450), 3)
    assert not np.array_equal(operands.a, operands.b)
    assert not np.array_equal(store_a(operands), store_b(operands)), "C would be symmetric"


def test_of_more_rows_b_is_the_same() -> None:
    few, many = (made(make_operands, "gemm_bf16_rcr", Shape(0, m, 2200, 4096)) for m in (16, 2200))
    assert many.b is few.b and not many.a.flags.writeable, "both are large"


@pytest.mark.parametrize("name", ["gemm_bf16_rcr", "gemm_fp16_crr", "gemm_fp8_ocp_bf16_rcr_rowwise"])
def test_what_is_made_of_a_large_operand_is_what_its_copy_gives(name: str) -> None:
    large = made(make_operands, name, Shape(0, 600, 650, 4096))
    copied = replace(large, a=large.a.copy(), b=large.b.copy())
    assert np.array_equal(store_a(large), store_a(copied))
    assert np.array_equal(store_b(large), store_b(copied))
    assert np.array_equal(expect(large).c, expect(copied).c)


def test_no_sum_of_magnitudes_of_a_large_problem_leaves_the_integers_of_c() -> None:
    operands = made(make_integers, "gemm_bf16_rcr", LARGE)
    sums = np.abs(operands.a) @ np.abs(operands.b)
    assert 128 < sums.max() <= 256, "as many as bf16 holds, and not much fewer"
    assert (np.count_nonzero(operands.a, axis=-1) > 100).all()


def made(make: Make, name: str, shape: Shape) -> Operands:
    return make(parse_canonical(name), shape, 3)
