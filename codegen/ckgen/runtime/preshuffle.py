"""The order of a preshuffled B, both ways, by the library's own functions."""

from __future__ import annotations

import ctypes

from ckgen.runtime.abi import Abi

Buffer = bytes | bytearray | memoryview
"""Contiguous bytes; a NumPy array's `.data` is one."""


def preshuffle_b(abi: Abi, rows: Buffer, n: int, layout: int) -> bytearray:
    """`n` rows without gaps, shuffled."""
    source, target, row_bytes = _buffers(rows, n)
    abi.call("preshuffle_b", source, row_bytes, _address(target), n, row_bytes, layout)
    return target


def unpreshuffle_b(abi: Abi, shuffled: Buffer, n: int, layout: int) -> bytearray:
    """The rows again."""
    source, target, row_bytes = _buffers(shuffled, n)
    abi.call("unpreshuffle_b", source, _address(target), row_bytes, n, row_bytes, layout)
    return target


def _buffers(given: Buffer, n: int) -> tuple[ctypes.c_char_p, bytearray, int]:
    """The bytes, room for as many, and the bytes of a row; a remainder makes a row that the library refuses."""
    source = bytes(given)
    whole, rest = divmod(len(source), n) if n > 0 else (0, len(source))
    return ctypes.c_char_p(source), bytearray(len(source)), whole if rest == 0 else -1


def _address(room: bytearray) -> ctypes.Array[ctypes.c_char]:
    return (ctypes.c_char * len(room)).from_buffer(room)
