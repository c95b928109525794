"""Code objects made by hand: an ELF file with one kernel, from the ABI's own description and nothing of ckgen."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

TEXT_ADDRESS = 0x1000
DESCRIPTOR_ADDRESS = 0x800


def packed(value: Any) -> bytes:
    """MessagePack, in the shortest form but for texts of 32 bytes and more."""
    if value is None:
        return b"\xc0"
    if isinstance(value, bool):
        return b"\xc3" if value else b"\xc2"
    if isinstance(value, int):
        if 0 <= value < 0x80:
            return bytes([value])
        return b"\xcd" + struct.pack(">H", value) if 0 <= value < 0x10000 else b"\xd3" + struct.pack(">q", value)
    if isinstance(value, str):
        data = value.encode()
        return (bytes([0xA0 | len(data)]) if len(data) < 32 else b"\xda" + struct.pack(">H", len(data))) + data
    if isinstance(value, list):
        return b"\xdc" + struct.pack(">H", len(value)) + b"".join(map(packed, value))
    body = b"".join(packed(key) + packed(item) for key, item in value.items())
    return (bytes([0x80 | len(value)]) if len(value) < 16 else b"\xde" + struct.pack(">H", len(value))) + body


def kernel(**changes: Any) -> dict[str, Any]:
    """The metadata of the kernel `k`; a change to None leaves a key out."""
    plain: dict[str, Any] = {
        ".name": "k",
        ".symbol": "k.kd",
        ".vgpr_count": 300,
        ".agpr_count": 44,
        ".sgpr_count": 30,
        ".vgpr_spill_count": 2,
        ".sgpr_spill_count": 3,
        ".private_segment_fixed_size": 12,
        ".group_segment_fixed_size": 65536,
        ".kernarg_segment_size": 24,
        ".wavefront_size": 64,
        ".max_flat_workgroup_size": 256,
        ".uses_dynamic_stack": False,
        ".args": [{".offset": 0, ".size": 8, ".value_kind": "global_buffer"}],
    }
    plain |= {f".{key}": value for key, value in changes.items()}
    return {key: value for key, value in plain.items() if value is not None}


def code_object(
    text: bytes = b"\x00\x00\x81\xbf",
    metadata: Mapping[str, Any] | None = None,
    *,
    flags: int = 0x54C,
    machine: int = 224,
    os_abi: int = 64,
    kind: int = 3,
    symbol_size: int | None = None,
    target: str = "amdgcn-amd-amdhsa--gfx942",
) -> bytes:
    """A linked code object with one kernel `k` of that text."""
    notes = metadata if metadata is not None else {"amdhsa.kernels": [kernel()], "amdhsa.target": target}
    body = packed(dict(notes))
    note = struct.pack("<III", 7, len(body), 32) + b"AMDGPU\0\0" + body + b"\0" * (-len(body) % 4)
    descriptor = struct.pack("<IIIIq", 65536, 12, 24, 0, TEXT_ADDRESS - DESCRIPTOR_ADDRESS) + b"\0" * 40
    names = b"\0k\0k.kd\0"
    size = len(text) if symbol_size is None else symbol_size
    symbols = b"\0" * 24
    symbols += struct.pack("<IBBHQQ", 1, 0x12, 3, 4, TEXT_ADDRESS, size)
    symbols += struct.pack("<IBBHQQ", 3, 0x11, 3, 3, DESCRIPTOR_ADDRESS, 64)
    parts = (
        (7, 0x200, note, 0),
        (11, 0x400, symbols, 5),
        (1, 0x800, descriptor, 0),
        (1, TEXT_ADDRESS, text, 0),
        (3, 0, names, 0),
    )
    blob, headers = b"\0" * 64, b"\0" * 64
    for sort, address, content, link in parts:
        headers += struct.pack("<IIQQQQIIQQ", 0, sort, 0, address, len(blob), len(content), link, 0, 4, 0)
        blob += content
    ident = b"\x7fELF\x02\x01\x01" + bytes([os_abi, 4]) + b"\0" * 7
    head = struct.pack("<16sHHIQQQIHHHHHH", ident, kind, machine, 1, 0, 0, len(blob), flags, 64, 0, 0, 64, 6, 0)
    return head + blob[64:] + headers
