"""Weights packed once for the CPU's own instances, by the library's own functions; see ckgen/prepack.hpp."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_uint64

from ckgen.families.gemm.signature import parse_canonical
from ckgen.runtime.abi import Abi
from ckgen.runtime.preshuffle import Buffer

_ALIGNMENT = 64


def packed_b_bytes(abi: Abi, signature: int, n: int, k: int, batch: int) -> int:
    """Bytes of a packed B, its header included."""
    found = c_uint64()
    abi.call("packed_b_bytes", signature, n, k, batch, byref(found))
    return found.value


def pack_b(abi: Abi, signature: int, b: Buffer, n: int, k: int, batch: int) -> memoryview:
    """B without gaps between rows and entries of the batch, packed into memory aligned to 64 bytes."""
    packed = _aligned(packed_b_bytes(abi, signature, n, k, batch))
    given, wanted = (
        memoryview(b).nbytes,
        n * k * batch * parse_canonical(abi.call("signature_text", signature)).b.bits // 8,
    )
    if given != wanted:
        raise ValueError(f"B of {n} x {k}, {batch} of them, is {wanted} bytes without gaps, and {given} are given")
    source = ctypes.c_char_p(b) if isinstance(b, bytes) else ctypes.c_char_p(bytes(b))
    abi.call("pack_b", signature, source, n, k, 0, batch, 0, _address(packed), len(packed))
    return packed


def check_packed_b(abi: Abi, signature: int, packed: Buffer, n: int, k: int, batch: int) -> None:
    """RuntimeFailure, with what is wrong, unless these bytes are such a B, whole."""
    wanted = packed_b_bytes(abi, signature, n, k, batch)
    head = bytes(memoryview(packed).cast("B")[:_ALIGNMENT]).ljust(_ALIGNMENT, b"\0")
    abi.call("check_packed_b", signature, n, k, batch, ctypes.c_char_p(head))
    given = memoryview(packed).nbytes
    if given != wanted:
        raise ValueError(f"the packed B is {wanted} bytes, and {given} are given")


def _aligned(size: int) -> memoryview:
    """That many bytes from a multiple of 64 on."""
    room = bytearray(size + _ALIGNMENT)
    skip = -ctypes.addressof(ctypes.c_char.from_buffer(room)) % _ALIGNMENT
    return memoryview(room)[skip : skip + size]


def _address(view: memoryview) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(view))
