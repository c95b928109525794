"""How weights and scales are rearranged before the kernels see them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_PIECE = 16
"""Bytes of a row that stay together: what a lane loads at once."""


def shuffled(weights: NDArray[Any], rows: int = 16, columns: int = 16) -> NDArray[Any]:
    """Weights[N, bytes of K] in blocks of `rows` by `2 * columns` bytes, each by pieces of 16 bytes, then rows.

    aiter/ops/shuffle.py's shuffle_weight with layout (rows, columns). N and the row's bytes are multiples of a block's.
    """
    n, k = weights.view(np.uint8).shape
    width = 2 * columns
    blocks = weights.view(np.uint8).reshape(n // rows, rows, k // width, width // _PIECE, _PIECE)
    return np.ascontiguousarray(blocks.transpose(0, 2, 3, 1, 4)).reshape(n, k)


def shuffled_scales(scales: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Scales[rows, K / 32] of e8m0, padded with 1 to 256 rows and 8 columns, as aiter's e8m0_shuffle lays them.

    In blocks of 32 rows by 8 columns: column % 4, row % 16, column / 4, row / 16.
    """
    rows, columns = scales.shape
    padded = np.full((-(-rows // 256) * 256, -(-columns // 8) * 8), 127, np.uint8)
    padded[:rows, :columns] = scales
    blocks = padded.reshape(padded.shape[0] // 32, 2, 16, padded.shape[1] // 8, 2, 4)
    return np.ascontiguousarray(blocks.transpose(0, 3, 5, 2, 4, 1)).reshape(padded.shape)
