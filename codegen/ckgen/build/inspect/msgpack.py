"""The part of MessagePack that AMDGPU metadata uses: maps, arrays, text, integers, booleans, nil."""

from __future__ import annotations

import struct
from typing import TypeAlias

from ckgen.build.inspect.elf import Source
from ckgen.model.errors import InputError

Value: TypeAlias = "bool | int | str | list[Value] | dict[str, Value] | None"

_DEEPEST = 16
_INTEGERS = {
    0xCC: struct.Struct(">B"), 0xCD: struct.Struct(">H"), 0xCE: struct.Struct(">I"), 0xCF: struct.Struct(">Q"),
    0xD0: struct.Struct(">b"), 0xD1: struct.Struct(">h"), 0xD2: struct.Struct(">i"), 0xD3: struct.Struct(">q"),
}  # fmt: skip
_LENGTHS = {
    0xD9: struct.Struct(">B"), 0xDA: struct.Struct(">H"), 0xDB: struct.Struct(">I"),
    0xDC: struct.Struct(">H"), 0xDD: struct.Struct(">I"), 0xDE: struct.Struct(">H"), 0xDF: struct.Struct(">I"),
}  # fmt: skip
_CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}


def decode(source: Source, offset: int, size: int) -> Value:
    """The one value in that span of a file; InputError O003 with the offset of what is malformed."""
    cursor = _Cursor(source, offset, offset + size)
    value = cursor.value(0)
    if cursor.at != cursor.end:
        raise cursor.refusal(f"{cursor.end - cursor.at} bytes follow the metadata")
    return value


class _Cursor:
    def __init__(self, source: Source, at: int, end: int) -> None:
        self.source, self.at, self.end = source, at, end

    def refusal(self, message: str) -> InputError:
        return self.source.refusal(message, self.at, code="O003")

    def take(self, size: int) -> bytes:
        if size > self.end - self.at:
            raise self.refusal(f"metadata cut short: {size} bytes wanted, {self.end - self.at} left")
        self.at += size
        return self.source.data[self.at - size : self.at]

    def number(self, layout: struct.Struct) -> int:
        return int(layout.unpack(self.take(layout.size))[0])

    def value(self, depth: int) -> Value:
        if depth > _DEEPEST:
            raise self.refusal(f"metadata nested deeper than {_DEEPEST}")
        tag = self.take(1)[0]
        if tag < 0x80:
            return tag
        if tag >= 0xE0:
            return tag - 0x100
        if tag in _CONSTANTS:
            return _CONSTANTS[tag]
        if tag in _INTEGERS:
            return self.number(_INTEGERS[tag])
        if tag < 0x90 or tag in (0xDE, 0xDF):
            return self.pairs(tag & 0xF if tag < 0x90 else self.number(_LENGTHS[tag]), depth)
        if tag < 0xA0 or tag in (0xDC, 0xDD):
            return self.items(tag & 0xF if tag < 0xA0 else self.number(_LENGTHS[tag]), depth)
        if tag < 0xC0 or tag in _LENGTHS:
            return self.text(tag & 0x1F if tag < 0xC0 else self.number(_LENGTHS[tag]))
        self.at -= 1
        raise self.refusal(f"a MessagePack type that metadata does not use: {tag:#04x}")

    def text(self, size: int) -> str:
        return self.take(size).decode("utf-8", "backslashreplace")

    def items(self, count: int, depth: int) -> list[Value]:
        self.fits(count)
        return [self.value(depth + 1) for _ in range(count)]

    def pairs(self, count: int, depth: int) -> dict[str, Value]:
        self.fits(2 * count)
        found: dict[str, Value] = {}
        for _ in range(count):
            key = self.value(depth + 1)
            if not isinstance(key, str):
                raise self.refusal("a key of the metadata is not text")
            found[key] = self.value(depth + 1)
        return found

    def fits(self, count: int) -> None:
        if count > self.end - self.at:
            raise self.refusal(f"metadata cut short: {count} values wanted, {self.end - self.at} bytes left")
