"""Bytes of operands as kernels read them: pairs of 4 bits, shuffled rows, shuffled scales."""

from __future__ import annotations

import numpy as np
import pytest

from ckgen.families.gemm.reference import Operands, preshuffle, shuffle_mx_scale, store_a, store_b
from ckgen.families.gemm.signature import parse_signature


def test_rows_of_b_are_shuffled_in_chunks_of_16_bytes_of_16_rows() -> None:
    rows = np.random.default_rng(0).integers(0, 256, 32 * 64, np.uint8).reshape(1, 32, 64)
    found = preshuffle(rows).reshape(-1)
    assert preshuffle(rows).shape == rows.shape
    at = 0
    for block in range(2):
        for chunk in range(4):
            for row in range(16):
                assert found[at : at + 16].tolist() == rows[0, 16 * block + row, 16 * chunk : 16 * chunk + 16].tolist()
                at += 16


@pytest.mark.parametrize(("rows", "groups"), [(32, 8), (40, 12)])
def test_scales_lie_by_column_of_four_in_blocks_of_32_rows_and_8_groups(rows: int, groups: int) -> None:
    scales = np.arange(1, 2 * rows * groups + 1).reshape(2, rows, groups)
    found = shuffle_mx_scale(scales)
    blocks, columns = -(-rows // 32), -(-groups // 8)
    assert found.shape == (2 * blocks * 32 * columns * 8,)
    for (batch, row, group), scale in np.ndenumerate(scales):
        place = ((batch * blocks + row // 32) * columns + group // 8) * 256
        place += group % 4 * 64 + row % 16 * 4 + group % 8 // 4 * 2 + row % 32 // 16
        assert found[place] == scale
    assert (found != 0).sum() == scales.size


def test_of_two_elements_of_four_bits_the_first_is_the_low_half() -> None:
    signature = parse_signature("gemm_fp4_bf16_rcr_mx", None)
    rows = np.array([[[0.5, 6.0, -1.0, 1.5]]])  # codes 1, 7, 10, 3
    operands = Operands(signature, rows, np.swapaxes(rows, 1, 2))
    assert store_a(operands).tolist() == store_b(operands).tolist() == [[[0x71, 0x3A]]]
