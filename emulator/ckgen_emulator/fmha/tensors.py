"""Tensors of attention in memory: where rows of sequences lie, and what lies between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ckgen.model.dtype import DType
from ckgen_emulator.production.numbers import BF16, FP8_FNUZ, FP8_OCP, Float

NUMPY: Mapping[DType, np.dtype[Any]] = {
    DType.FP32: np.dtype(np.float32),
    DType.FP16: np.dtype(np.float16),
    DType.BF16: BF16,
    DType.FP8_FNUZ: FP8_FNUZ,
    DType.FP8_OCP: FP8_OCP,
}


@dataclass(frozen=True, slots=True)
class Rows:
    """Where the rows of each sequence begin; `pitch` rows in each of a batch, 0 where they lie one after the other."""

    starts: NDArray[np.int32]
    pitch: int

    @property
    def total(self) -> int:
        """Of all sequences."""
        return int(self.starts[-1])


@dataclass(frozen=True, slots=True)
class Tensor:
    """Memory, and strides of row, head and batch in it; columns lie together."""

    values: NDArray[Any]
    strides: tuple[int, int, int]


def bytes_in_memory(rows: Rows, lengths: tuple[int, ...], values: NDArray[np.uint8]) -> Tensor:
    """Bytes of scores, [batch, heads, rows, columns], heads first; 0 behind the rows that count."""
    (_, heads, _, columns), batches = values.shape, len(lengths) if rows.pitch else 1
    memory = np.zeros((batches, heads, max(rows.pitch or rows.total, 1), columns), np.uint8)
    for b, length in enumerate(lengths):
        start = 0 if rows.pitch else int(rows.starts[b])
        memory[b if rows.pitch else 0, :, start : start + length] = values[b, :, :length]
    pitch = memory.shape[2]
    return Tensor(memory.reshape(-1), (columns, pitch * columns, heads * pitch * columns))


def rows_in_memory(lengths: tuple[int, ...], spare: int, varlen: bool) -> Rows:
    """With `spare` rows behind each sequence; of a batch all sequences have as many."""
    each = [length + spare for length in lengths] if varlen else [max(lengths) + spare] * len(lengths)
    return Rows(np.concatenate([[0], np.cumsum(each)]).astype(np.int32), 0 if varlen else each[0])


def columns_of(rows: Rows, lengths: tuple[int, ...], values: Float, dtype: DType, head_first: bool) -> Tensor:
    """The same, of which rows lie together and each column is as many elements long as there are rows."""
    found = tensor_of(rows, lengths, values, dtype, True)
    heads, columns = values.shape[2:]
    pitch = rows.pitch or max(rows.total, 1)
    memory = found.values.reshape(-1, heads, pitch, columns)
    if head_first:
        flat, row, head = memory.transpose(0, 1, 3, 2), pitch, columns * pitch
    else:
        flat, row, head = memory.transpose(0, 3, 1, 2), heads * pitch, pitch
    return Tensor(np.ascontiguousarray(flat).reshape(-1), (row, head, heads * columns * pitch))


def tensor_of(rows: Rows, lengths: tuple[int, ...], values: Float, dtype: DType, head_first: bool) -> Tensor:
    """[batch, rows, heads, columns] in memory: NaN behind the rows that count."""
    heads, columns = values.shape[2:]
    batches = len(lengths) if rows.pitch else 1
    memory = np.full((batches, max(rows.pitch or rows.total, 1), heads, columns), np.nan)
    for b, length in enumerate(lengths):
        start = 0 if rows.pitch else int(rows.starts[b])
        memory[b if rows.pitch else 0, start : start + length] = values[b, :length]
    pitch = memory.shape[1]
    row, head = (columns, pitch * columns) if head_first else (heads * columns, columns)
    ordered = memory.transpose(0, 2, 1, 3) if head_first else memory
    flat = np.ascontiguousarray(ordered).reshape(-1)
    return Tensor(flat.astype(np.float32).astype(NUMPY[dtype]), (row, head, heads * pitch * columns))
