"""Kernel arguments as AMD's assembly kernels take them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

SLOT = 16
"""Bytes of an argument of most kernels, whatever its size."""

Pointer: TypeAlias = NDArray[Any] | None
"""An array whose address is passed; None: a null pointer."""

U32: TypeAlias = int
"""A number of 32 bits."""

F32: TypeAlias = float
"""A single-precision number."""

_FORMS = {"Pointer": "<u8", "U32": "<u4", "F32": "<f4"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Arguments:
    """Base of the kinds' argument structs: fields of the three types above, by these names, in the kernel's order."""

    def pack(self, slot: int = SLOT) -> bytes:
        """The argument segment, every argument at a multiple of `slot` bytes; 0: one directly after the other."""
        made = bytearray()
        for one in fields(self):
            form = _FORMS[str(one.type)]
            value = getattr(self, one.name)
            if form == _FORMS["Pointer"]:
                value = 0 if value is None else value.ctypes.data
            made += np.array(value, form).tobytes().ljust(slot, b"\0")
        return bytes(made)
