"""The arguments' struct of a call as bytes, and where addresses belong in them."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ckgen.families.common.call import At
from ckgen.runtime.grouped import GroupOperandsStruct, GroupSizeStruct

_BEHIND: Mapping[str, type[ctypes.Structure]] = {"operands": GroupOperandsStruct, "sizes": GroupSizeStruct}
"""Of which struct the array is that a pointer of this name points to."""
_PATCH = struct.Struct("=III")


@dataclass(slots=True)
class Block:
    """patches: of src/python/site.hpp, in bytes."""

    content: bytearray = field(default_factory=bytearray)
    patches: bytearray = field(default_factory=bytearray)

    @classmethod
    def of(cls, kind: type[ctypes.Structure], fields: Mapping[str, Any], names: Mapping[str, int]) -> Block:
        """A struct with a `size` field, of a call's fields; `names` numbers the tensors."""
        made = cls()
        made._append(kind)
        made._fill(kind, 0, {"size": ctypes.sizeof(kind), **fields}, names)
        return made

    def _append(self, kind: type[ctypes.Structure], count: int = 1) -> int:
        at = len(self.content)
        self.content += bytes(ctypes.sizeof(kind) * count)
        return at

    def _fill(self, kind: Any, at: int, fields: Mapping[str, Any], names: Mapping[str, int]) -> None:
        kinds = {name: of for name, of, *_ in kind._fields_}
        for name, value in fields.items():
            place = at + getattr(kind, name).offset
            if isinstance(value, list):
                self._fill_behind(place, _BEHIND[name], value, names)
            else:
                self._put(kinds[name], place, value, names)

    def _put(self, kind: Any, place: int, value: Any, names: Mapping[str, int]) -> None:
        if isinstance(value, At):
            self.patches += _PATCH.pack(place, names[value.tensor], 0)
        elif isinstance(value, Mapping):
            self._fill(kind, place, value, names)
        elif isinstance(value, tuple):
            for i, one in enumerate(value):
                self._put(kind._type_, place + i * ctypes.sizeof(kind._type_), one, names)
        else:
            self.content[place : place + ctypes.sizeof(kind)] = bytes(kind(value))

    def _fill_behind(
        self, place: int, kind: type[ctypes.Structure], rows: Sequence[Mapping[str, Any]], names: Mapping[str, int]
    ) -> None:
        begin = self._append(kind, len(rows))
        self.patches += _PATCH.pack(place, begin, 1)
        for i, row in enumerate(rows):
            self._fill(kind, begin + i * ctypes.sizeof(kind), row, names)
