"""Tensors of attention in guarded memory, with strides of row, head and batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ckgen.families.elements import Storage
from ckgen.fuzz.arguments import UNREAD, UNWRITTEN, raw
from ckgen.fuzz.fmha_sizes import Rows
from ckgen.fuzz.memory import Bytes, Matrix, Strides


@dataclass(frozen=True, slots=True)
class Tensor:
    """`elements` are the matrix's own, [batch entries, heads, rows, columns] of a view; strides are in elements."""

    matrix: Matrix
    row: int
    head: int
    batch: int

    @property
    def address(self) -> int:
        """Of the first element."""
        return self.matrix.address


def gathered(values: Storage, rows: Rows, lengths: Sequence[int]) -> Storage:
    """[batch, rows, heads, columns] as it lies: of varlen [1, all rows, heads, columns]; what does not count is NaN."""
    batch, _, heads, columns = values.shape
    entries, count = (1, rows.total) if rows.starts else (batch, rows.pitch)
    found = np.full((entries, count, heads, columns * values.itemsize), UNREAD, np.uint8)
    for b, length in enumerate(lengths):
        entry, start = (0, rows.starts[b]) if rows.starts else (b, 0)
        found[entry, start : start + length] = _bytes(values[b, :length])
    return found.view(values.dtype)


def scattered(stored: Storage, rows: Rows, lengths: Sequence[int], longest: int) -> Storage:
    """The inverse, with zeros behind each length: [batch, longest, heads, columns]."""
    found = np.zeros((len(lengths), longest, *stored.shape[2:]), stored.dtype)
    for b, length in enumerate(lengths):
        entry, start = (0, rows.starts[b]) if rows.starts else (b, 0)
        found[b, :length] = stored[entry, start : start + length]
    return found


def tensor(stored: Storage, gap: int, *, head_first: bool, is_written: bool = False) -> Tensor:
    """[entries, rows, heads, columns] in memory: a line is a row of a head where `head_first`, else of all heads."""
    entries, rows, heads, columns = stored.shape
    size = stored.itemsize
    if head_first:
        pitch = columns + gap
        lines = _bytes(stored.transpose(0, 2, 1, 3)).reshape(entries * heads, rows, columns * size)
        strides = Strides(entries * heads, rows, columns * size, pitch * size, rows * pitch * size)
        found = (pitch, rows * pitch, heads * rows * pitch)
    else:
        pitch = heads * columns + gap
        lines = _bytes(stored).reshape(entries, rows, heads * columns * size)
        strides = Strides(entries, rows, heads * columns * size, pitch * size, rows * pitch * size)
        found = (pitch, columns, rows * pitch)
    return Tensor(Matrix(strides, UNWRITTEN if is_written else UNREAD, None if is_written else lines), *found)


def read(of: Tensor, like: Storage, *, head_first: bool) -> Storage:
    """What a kernel wrote, in the axes of `like` and its type."""
    entries, rows, heads, columns = like.shape
    lines = np.ascontiguousarray(of.matrix.lines).view(like.dtype)
    if head_first:
        return lines.reshape(entries, heads, rows, columns).transpose(0, 2, 1, 3)
    return lines.reshape(entries, rows, heads, columns)


def _bytes(values: Storage) -> Bytes:
    return raw(values)
