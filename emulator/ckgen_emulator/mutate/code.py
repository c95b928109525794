"""A linked code object's instructions, and copies of it with some of their bytes changed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from ckgen.build.inspect.elf import STT_FUNC, Section, Source, read_elf
from ckgen_emulator.bindings import Emulator

_BRANCH = re.compile(r"s_c?branch\w* (-?\d+)$")


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction; `address` in the loaded image, as traces and findings have it."""

    address: int
    size: int
    text: str

    @property
    def name(self) -> str:
        """The mnemonic without its encoding: `v_add_u32`."""
        return re.sub(r"_(e32|e64|dpp|sdwa)$", "", self.text.partition(" ")[0])

    @property
    def end(self) -> int:
        """The address behind it."""
        return self.address + self.size

    @property
    def target(self) -> int | None:
        """Where a branch goes: its constant counts dwords from its end."""
        found = _BRANCH.match(self.text)
        return self.end + 4 * int(found[1]) if found else None


@dataclass(frozen=True)
class Code:
    """A code object; `start` and `offset` are where its text begins in the image and in the file."""

    data: bytes
    start: int
    offset: int
    instructions: tuple[Instruction, ...]

    @classmethod
    def read(cls, data: bytes, emulator: Emulator) -> Code:
        """The code object in `data`. InputError for what is none."""
        text = _text(data)
        found = tuple(_decoded(emulator, data[text.offset : text.offset + text.size], text.address))
        return cls(data, text.address, text.offset, found)

    @cached_property
    def at(self) -> dict[int, int]:
        """Indices of instructions by their address."""
        return {one.address: index for index, one in enumerate(self.instructions)}

    @cached_property
    def targets(self) -> frozenset[int]:
        """Addresses that branches name."""
        return frozenset(one.target for one in self.instructions if one.target is not None)

    def bytes_of(self, instruction: Instruction) -> bytes:
        """Its machine code."""
        place = instruction.address - self.start + self.offset
        return self.data[place : place + instruction.size]

    def changed(self, address: int, replacement: bytes) -> bytes:
        """The code object with other bytes from that address on."""
        place = address - self.start + self.offset
        return self.data[:place] + replacement + self.data[place + len(replacement) :]


def _text(data: bytes) -> Section:
    """The section of the kernels."""
    elf = read_elf(Source("mutant", data))
    entry = next(one.address for one in elf.symbols().values() if one.kind == STT_FUNC)
    return next(one for one in elf.sections if one.file_offset(entry) is not None)


def _decoded(emulator: Emulator, text: bytes, address: int) -> Iterator[Instruction]:
    """All of a text; padding that is no instruction is stepped over."""
    at = 0
    while at < len(text):
        lines = emulator.disassemble(text[at:])
        for place, size, said in lines:
            yield Instruction(address + at + place, size, said)
        at += (lines[-1][0] + lines[-1][1] if lines else 0) + 4
