"""Which way a matrix lies in memory, and what is wrong with one that lies in none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ckgen.tensors.errors import LayoutMismatch, ShapeMismatch
from ckgen.tensors.view import TensorView


@dataclass(frozen=True, slots=True)
class Matrix:
    """The last two dimensions. is_row_major: rows lie one behind the other, `ld` elements apart; else columns.

    batch: how many there are, 0 for a tensor of two dimensions; batch_stride: elements from one to the next.
    """

    rows: int
    columns: int
    is_row_major: bool
    ld: int
    batch: int
    batch_stride: int


def matrix(view: TensorView, prefer_rows: bool = True) -> Matrix:
    """The matrix of a tensor of two or three dimensions; where it lies either way, or has no elements, as preferred.

    ShapeMismatch for other numbers of dimensions, LayoutMismatch where neither rows nor columns are without gaps.
    """
    if len(view.shape) not in (2, 3):
        raise ShapeMismatch(
            f"{view.name} has shape {view.shape}, and two dimensions are asked for, or three of a batch"
        )
    (rows, columns), (down, right) = view.shape[-2:], view.strides[-2:]
    ways = {
        True: (right == 1 or columns == 1) and (down >= columns or rows == 1),
        False: (down == 1 or rows == 1) and (right >= rows or columns == 1),
    }
    is_row_major = prefer_rows if ways[prefer_rows] or not view.size else not prefer_rows
    if not ways[is_row_major] and view.size:
        raise LayoutMismatch(
            f"{view.name}'s strides {view.strides} of shape {view.shape} are neither rows nor columns without gaps: "
            f"copy it, as with {view.name}.contiguous() or numpy.ascontiguousarray({view.name})"
        )
    step, length, lines = (down, columns, rows) if is_row_major else (right, rows, columns)
    ld = step if lines > 1 and view.size else length
    batch = view.shape[0] if len(view.shape) == 3 else 0
    return Matrix(rows, columns, is_row_major, ld, batch, view.strides[0] if batch > 1 else rows * ld)


def expect_shape(view: TensorView, *shapes: Sequence[int], why: str = "") -> None:
    """ShapeMismatch unless the shape is one of these."""
    if view.shape not in [tuple(shape) for shape in shapes]:
        wanted = " or ".join(str(tuple(shape)) for shape in shapes)
        raise ShapeMismatch(f"{view.name} has shape {view.shape}, and {wanted} is asked for{f' {why}' if why else ''}")


def expect_contiguous(view: TensorView) -> None:
    """LayoutMismatch for gaps or another order of dimensions."""
    if not view.is_contiguous:
        raise LayoutMismatch(
            f"{view.name}'s strides {view.strides} of shape {view.shape} leave gaps or exchange dimensions: copy it, "
            f"as with {view.name}.contiguous() or numpy.ascontiguousarray({view.name})"
        )
