"""Whether two tensors share elements."""

from __future__ import annotations

import ctypes

import numpy as np
import numpy.typing as npt

from ckgen.tensors.errors import LayoutMismatch, OverlappingOutput
from ckgen.tensors.view import TensorView

_MOST_WORK = 10_000
"""Candidates of NumPy's exact search; beyond, two tensors whose ranges meet count as overlapping."""


def refuse_overlap(written: TensorView, other: TensorView) -> None:
    """OverlappingOutput where an element of the one may be one of the other."""
    if _share(written, other):
        raise OverlappingOutput(
            f"{written.name} is written and shares memory with {other.name}: give {written.name} memory of its own"
        )


def refuse_own_overlap(written: TensorView) -> None:
    """LayoutMismatch where two indices are one element, as in a broadcast tensor."""
    if written.size and any(n > 1 and s == 0 for n, s in zip(written.shape, written.strides, strict=True)):
        raise LayoutMismatch(f"{written.name} is written, and its stride of 0 makes several elements one: copy it")


def _share(one: TensorView, other: TensorView) -> bool:
    if one.place != other.place or not one.extent or not other.extent:
        return False
    if one.address + one.extent <= other.address or other.address + other.extent <= one.address:
        return False
    try:
        return bool(np.shares_memory(_bytes(one), _bytes(other), max_work=_MOST_WORK))  # type: ignore[arg-type]
    except np.exceptions.TooHardError:
        return True


def _bytes(view: TensorView) -> npt.NDArray[np.uint8]:
    """An array of the same addresses, that nobody reads."""

    strides = (*(stride * view.itemsize for stride in view.strides), 1)
    memory = memoryview((ctypes.c_uint8 * view.extent).from_address(view.address)).cast("B")
    return np.ndarray((*view.shape, view.itemsize), np.uint8, memory, strides=strides)
