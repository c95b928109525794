"""Matrices between guard bands, and where operands lie."""

from __future__ import annotations

import ctypes
from dataclasses import replace

import numpy as np
import pytest

from ckgen.families.gemm.signature import parse_canonical
from ckgen.fuzz.case import Case
from ckgen.fuzz.layout import dense_refusal, placed
from ckgen.fuzz.memory import GUARD, Matrix, Region, Strides

SMALL = Strides(batch=2, lines=3, length=5, pitch=8, batch_pitch=40)
LARGE = Strides(batch=2, lines=3, length=1 << 22, pitch=1 << 22, batch_pitch=3 << 22)
SPARSE = Strides(batch=1, lines=2, length=5, pitch=1 << 33, batch_pitch=0)


def poke(matrix: Matrix, at: int, value: int = 1) -> None:
    ctypes.c_uint8.from_address(matrix.address + at).value ^= value


@pytest.mark.parametrize("strides", [SMALL, SPARSE])
def test_what_a_matrix_holds_is_at_its_strides(strides: Strides) -> None:
    stored = np.arange(strides.batch * strides.lines * 5, dtype=np.uint8).reshape(strides.batch, strides.lines, 5)
    matrix = Matrix(strides, 0xFF, stored)
    assert matrix.address % 64 == 0
    last = (strides.batch - 1) * strides.batch_pitch + (strides.lines - 1) * strides.pitch + 4
    assert ctypes.c_uint8.from_address(matrix.address + last).value == stored[-1, -1, -1]
    assert matrix.out_of_bounds_writes() == ""


@pytest.mark.parametrize("at", [-GUARD, -1, 5, 39, SMALL.extent, SMALL.extent + GUARD - 1])
def test_a_byte_that_is_not_its_own_is_found(at: int) -> None:
    matrix = Matrix(SMALL, 0xA5, None)
    poke(matrix, 41)
    assert matrix.out_of_bounds_writes() == ""
    poke(matrix, at)
    assert matrix.out_of_bounds_writes() == f"byte {at} was written"


@pytest.mark.parametrize("at", [-1, 5, (1 << 33) - 1, SPARSE.extent])
def test_a_byte_near_a_line_of_a_large_matrix_is_found(at: int) -> None:
    matrix = Matrix(SPARSE, 0xA5, None)
    assert Matrix(SPARSE, 0xA5, None).out_of_bounds_writes() == ""
    poke(matrix, at)
    assert matrix.out_of_bounds_writes() == "a byte near a line was written"


@pytest.mark.parametrize("at", [-GUARD, -1, LARGE.extent, LARGE.extent + GUARD - 1])
def test_a_byte_beside_a_large_matrix_without_gaps_is_found(at: int) -> None:
    matrix = Matrix(LARGE, 0xA5, None)
    poke(matrix, 41)
    assert matrix.out_of_bounds_writes() == ""
    poke(matrix, at)
    assert matrix.out_of_bounds_writes() == "a byte beside it was written"


def test_a_written_operand_is_found() -> None:
    matrix = Matrix(SMALL, 0xFF, np.zeros((2, 3, 5), np.uint8))
    poke(matrix, 48)
    assert matrix.out_of_bounds_writes() == "its elements were written"


def test_a_workspace_of_nothing_has_an_address() -> None:
    region = Region(0, 0xFF)
    assert region.address % 64 == 0 and region.is_clean()


def test_operands_lie_as_the_layout_says() -> None:
    case = Case(
        "gemm_bf16_crr_batched_epi_add_mul", "gfx942:80", m=3, n=4, k=5, batch=2, gap_a=1, gap_batch_b=7, gap_d=2
    )
    a, b, c, d0, d1 = placed(parse_canonical(case.signature), case)
    assert (a.lines, a.length, a.ld, a.batch_stride) == (5, 3, 4, 19)
    assert (b.lines, b.length, b.ld, b.batch_stride) == (5, 4, 4, 27)
    assert (c.lines, c.length, c.ld, c.batch_stride) == (3, 4, 4, 12)
    assert (d0.lines, d0.length, d0.ld, d0.batch_stride) == (3, 4, 6, 16)
    assert (d1.lines, d1.length, d1.ld, d1.batch_stride) == (3, 4, 0, 0)  # one row for all
    assert not any(one.refusal() for one in (a, b, c, d0, d1))


def test_strides_that_cannot_be_are_refused_in_the_runtime_s_words() -> None:
    signature = parse_canonical("gemm_bf16_rcr_batched")
    case = Case("gemm_bf16_rcr_batched", "gfx942:80", m=3, n=4, k=5, batch=2)
    assert placed(signature, replace(case, gap_a=-1))[0].refusal() == "the leading dimension of A = 4 is below 5"
    assert placed(signature, replace(case, gap_batch_b=-1))[1].refusal() == "the batch stride of B = 19 is below 20"
    assert placed(signature, replace(case, broadcast_b=True))[1].refusal() == ""
    assert placed(signature, replace(case, gap_c=2**62))[2].refusal() == "C has more bits than 64-bit integers count"
    assert dense_refusal(signature, replace(case, m=2**31, k=2**31)) == "A has more bits than 64-bit integers count"
