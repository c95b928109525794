"""Kernel arguments as AMD's assembly kernels take them."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

SLOT = 16
"""Bytes of an argument of most kernels, whatever its size."""

_FORM = "form"
_POINTER, _U32, _F32 = "<u8", "<u4", "<f4"


def pointer() -> Any:
    """An array whose address is passed, or None for a null pointer."""
    return field(default=None, metadata={_FORM: _POINTER})


def u32(default: int = 0) -> Any:
    """A number of 32 bits."""
    return field(default=default, metadata={_FORM: _U32})


def f32(default: float = 0.0) -> Any:
    """A single-precision number."""
    return field(default=default, metadata={_FORM: _F32})


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Base of the kinds' argument structs: fields in their order, made by `pointer`, `u32` and `f32`."""

    def pack(self, slot: int = SLOT) -> bytes:
        """The argument segment, every argument at a multiple of `slot` bytes; 0: one directly after the other."""
        made = bytearray()
        for one in fields(self):
            form = one.metadata[_FORM]
            value = getattr(self, one.name)
            if form == _POINTER:
                value = _address(value)
            made += np.array(value, form).tobytes().ljust(slot, b"\0")
        return bytes(made)


def _address(array: NDArray[Any] | None) -> int:
    return 0 if array is None else int(array.ctypes.data)
