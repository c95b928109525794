"""Argument bytes: slots of 16 bytes, or one directly after the other."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from ckgen_emulator.production.bf16_gemm import GemmArguments
from ckgen_emulator.production.fp8_gemm import FlatmmArguments
from ckgen_emulator.production.slots import F32, U32, Arguments, Pointer


@dataclass(frozen=True, slots=True, kw_only=True)
class _Some(Arguments):
    array: Pointer = None
    scale: F32 = 0
    count: U32 = 0
    none: Pointer = None


def test_slots() -> None:
    array = np.zeros(4, np.int32)
    some = _Some(array=array, scale=0.5, count=7)
    address = array.ctypes.data
    assert some.pack() == struct.pack("<Q8xf12xI12xQ8x", address, 0.5, 7, 0)
    assert some.pack(slot=0) == struct.pack("<QfIQ", address, 0.5, 7, 0)


def test_fields_lie_where_the_launchers_have_them() -> None:
    """Of gfx942's bf16 GEMM: A at 0x20, M at 0xe0, the splits at 0x110, 0x120 bytes in all."""
    a = np.zeros(1, np.uint16)
    packed = GemmArguments(a=a, m=3, splits=5).pack()
    assert len(packed) == 0x120
    assert struct.unpack_from("<Q", packed, 0x20) == (a.ctypes.data,)
    assert struct.unpack_from("<I", packed, 0xE0) == (3,)
    assert struct.unpack_from("<I", packed, 0x110) == (5,)
    assert len(FlatmmArguments().pack(slot=0)) == 11 * 8 + 6 * 4
