"""The two layers of every expert: their weights as kernels read them, and what they compute."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckgen_emulator.production.layouts import shuffled
from ckgen_emulator.production.numbers import Float, wide
from ckgen_emulator.production.quantized import Quantized, largest, quantized

BLOCK = 128
"""Sides of the blocks of a weight that share a scale, and elements of a row that do."""

_ERF = np.vectorize(math.erf, otypes=[np.float64])


def activated(values: Float, activation: str) -> Float:
    """silu(x) = x / (1 + exp(-x)); gelu(x) = x (1 + erf(x / sqrt(2))) / 2."""
    if activation == "silu":
        return np.asarray(values / (1 + np.exp(-values)), np.float64)
    return np.asarray(0.5 * values * (1 + _ERF(values / math.sqrt(2))), np.float64)


@dataclass(frozen=True, slots=True)
class Weights:
    """One layer of all experts [expert, out, in]: shuffled bytes, scales, and what they stand for."""

    laid: NDArray[Any]
    scales: NDArray[np.float32] | None
    exact: Float

    @property
    def expert_bytes(self) -> int:
        """From one expert to the next."""
        return int(self.laid[0].nbytes)

    @property
    def expert_scale_bytes(self) -> int:
        """From one expert's scales to the next's."""
        return 0 if self.scales is None else int(self.scales[0].nbytes)


def weights(
    generator: np.random.Generator, shape: tuple[int, int, int], dtype: np.dtype[Any], blocks: bool = False
) -> Weights:
    """Random weights, so large that results have the size of inputs; a scale per row, or per block of 128 by 128."""
    values = (generator.standard_normal(shape) * (2 / math.sqrt(shape[2]))).astype(np.float32)
    made = in_blocks(values, dtype) if blocks else quantized(values, dtype)
    laid = np.stack([shuffled(one) for one in made.values])
    return Weights(laid, made.scales, made.exact)


def in_blocks(values: NDArray[np.float32], dtype: np.dtype[Any]) -> Quantized:
    """Weights with a scale per block [expert, out / 128, in / 128]."""
    experts, rows, columns = values.shape
    blocks = values.reshape(experts, rows // BLOCK, BLOCK, columns // BLOCK, BLOCK)
    scales = (np.abs(blocks).max((2, 4)) / largest(dtype)).astype(np.float32)
    wider = scales[:, :, None, :, None]
    rounded = (blocks / wider).astype(dtype)
    exact = (wide(rounded) * wider).reshape(values.shape)
    return Quantized(np.ascontiguousarray(rounded.reshape(values.shape)), scales, exact)


def rows_in_blocks(values: NDArray[np.float32], dtype: np.dtype[Any]) -> Quantized:
    """Rows with a scale per 128 elements, which kernels read as [columns / 128, row]."""
    rows, columns = values.shape
    made = quantized(values.reshape(rows, columns // BLOCK, BLOCK), dtype)
    assert made.scales is not None
    return Quantized(
        np.ascontiguousarray(made.values.reshape(values.shape)),
        np.ascontiguousarray(made.scales.T),
        made.exact.reshape(values.shape),
    )
