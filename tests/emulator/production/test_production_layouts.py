"""Shuffles, element by element as the kernels address them."""

from __future__ import annotations

import numpy as np
import pytest

from ckgen_emulator.production.layouts import shuffled, shuffled_scales


@pytest.mark.parametrize(("rows", "columns"), [(16, 16), (32, 16)])
def test_weights(rows: int, columns: int) -> None:
    n, k = 3 * rows, 4 * columns
    weights = np.random.default_rng(0).integers(0, 256, (n, k), np.uint8)
    flat = shuffled(weights, rows, columns).reshape(-1)
    for row in range(n):
        for column in range(k):
            block = row // rows * (k // (2 * columns)) + column // (2 * columns)
            piece = column % (2 * columns) // 16
            at = ((block * (2 * columns // 16) + piece) * rows + row % rows) * 16 + column % 16
            assert flat[at] == weights[row, column]


def test_scales() -> None:
    """As aiter's fp4_utils computes the offset of a scale; rows and columns beyond count as 1."""
    scales = np.random.default_rng(0).integers(0, 127, (70, 10)).astype(np.uint8)
    laid = shuffled_scales(scales)
    assert laid.shape == (256, 16)
    flat = laid.reshape(-1)
    for row in range(256):
        for column in range(16):
            at = row % 32 // 16 + column % 8 // 4 * 2 + row % 16 * 4 + column % 4 * 64
            at += column // 8 * 256 + row // 32 * 32 * 16
            assert flat[at] == (scales[row, column] if row < 70 and column < 10 else 127)
