"""A strict reader of little-endian ELF64: sections, symbols, notes; every offset checked before it is followed."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.errors import InputError

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_NOTE = struct.Struct("<III")

SHT_SYMTAB = 2
MOST_NAME = 1 << 16
"""Bytes of a symbol's name. Mangled names of templates have thousands."""
SHT_NOTE = 7
SHT_NOBITS = 8
SHT_DYNSYM = 11
STT_OBJECT = 1
STT_FUNC = 2


@dataclass(frozen=True, slots=True)
class Source:
    """Bytes and the name that messages give them."""

    name: str
    data: bytes

    def refusal(
        self, message: str, offset: int | None = None, *, code: str = "O002", hint: str | None = None
    ) -> InputError:
        """The error to raise for this file, with the byte offset where the trouble lies."""
        where = "" if offset is None else f"byte {offset:#x}: "
        return InputError([Diagnostic(code, where + message, Location(self.name), hint=hint)])

    def unpack(self, layout: struct.Struct, offset: int, what: str) -> tuple[int, ...]:
        """The fields at `offset`; refuses what reaches past the end."""
        if offset < 0 or offset + layout.size > len(self.data):
            raise self.refusal(f"{what} lies beyond the end of the file ({len(self.data)} bytes)", offset)
        return layout.unpack_from(self.data, offset)

    def span(self, offset: int, size: int, what: str) -> bytes:
        """`size` bytes at `offset`; refuses what reaches past the end."""
        if offset < 0 or size < 0 or offset + size > len(self.data):
            raise self.refusal(
                f"{what} of {size} bytes lies beyond the end of the file ({len(self.data)} bytes)", offset
            )
        return self.data[offset : offset + size]


@dataclass(frozen=True, slots=True)
class Section:
    """One section header: `address` in the loaded image, `offset` in the file, both of `size` bytes.

    `name_at` is where its name begins in the table of such names."""

    kind: int
    address: int
    offset: int
    size: int
    link: int
    name_at: int = 0

    def file_offset(self, address: int) -> int | None:
        """Where that address lies in the file; None if it is not in this section."""
        inside = self.kind != SHT_NOBITS and self.address and self.address <= address < self.address + self.size
        return address - self.address + self.offset if inside else None


@dataclass(frozen=True, slots=True)
class Symbol:
    """A defined symbol; `size` may be 0 where hand-written assembly does not state it."""

    name: str
    kind: int
    address: int
    size: int


@dataclass(frozen=True, slots=True)
class Elf:
    """The header's fields and the sections of one file."""

    source: Source
    os_abi: int
    kind: int
    machine: int
    flags: int
    sections: tuple[Section, ...]
    names: int = 0
    """The number of the section that holds the names of sections."""

    def name_of(self, section: Section) -> str:
        """A section's name; empty where the file says none."""
        if not 0 < self.names < len(self.sections):
            return ""
        return self.text(self.sections[self.names], section.name_at)

    def text(self, table: Section, at: int) -> str:
        """The text at a place of a string table."""
        strings = self.source.span(table.offset, table.size, "a string table")
        end = strings.find(b"\0", at)
        if at >= len(strings) or end < 0 or end - at > MOST_NAME:
            raise self.source.refusal("a name lies outside its string table, or is too long", table.offset + at)
        return strings[at:end].decode("utf-8", "backslashreplace")

    def symbols(self) -> dict[str, Symbol]:
        """The defined symbols by name, those of the dynamic table before those of the static one."""
        found: dict[str, Symbol] = {}
        for kind in (SHT_DYNSYM, SHT_SYMTAB):
            for section in self.sections:
                if section.kind == kind:
                    for symbol in self._symbols(section):
                        found.setdefault(symbol.name, symbol)
        return found

    def notes(self) -> Iterator[tuple[str, int, int, int]]:
        """Owner, type, file offset and size of every note."""
        for section in self.sections:
            if section.kind == SHT_NOTE:
                yield from self._notes(section)

    def section_at(self, address: int) -> Section | None:
        """The section with bytes in the file that holds an address."""
        return next((section for section in self.sections if section.file_offset(address) is not None), None)

    def _symbols(self, table: Section) -> Iterator[Symbol]:
        source = self.source
        if table.link >= len(self.sections):
            raise source.refusal(f"a symbol table names string table {table.link} of {len(self.sections)} sections")
        strings = self.sections[table.link]
        names = source.span(strings.offset, strings.size, "a string table")
        for offset in range(table.offset, table.offset + table.size - table.size % _SYMBOL.size, _SYMBOL.size):
            name, info, _, index, address, size = source.unpack(_SYMBOL, offset, "a symbol")
            if index == 0:
                continue
            end = names.find(b"\0", name)
            if name >= len(names) or end < 0:
                raise source.refusal("a symbol's name lies outside its string table", offset)
            if end - name > MOST_NAME:
                raise source.refusal(f"a symbol's name of {end - name} bytes: at most {MOST_NAME} are read", offset)
            yield Symbol(names[name:end].decode("utf-8", "backslashreplace"), info & 0xF, address, size)

    def _notes(self, section: Section) -> Iterator[tuple[str, int, int, int]]:
        offset, end = section.offset, section.offset + section.size
        while offset < end:
            name_size, size, kind = self.source.unpack(_NOTE, offset, "a note")
            owner = self.source.span(offset + _NOTE.size, name_size, "a note's owner")
            body = offset + _NOTE.size + _padded(name_size)
            self.source.span(body, size, "a note")
            yield owner.rstrip(b"\0").decode("utf-8", "backslashreplace"), kind, body, size
            offset = body + _padded(size)


def read_elf(source: Source) -> Elf:
    """The ELF file in `source`; InputError (O001 no such file, O002 malformed) otherwise."""
    data = source.data
    if data[:4] != b"\x7fELF":
        raise source.refusal("not an AMDGPU code object: no ELF magic", code="O001", hint=_hint_for(data))
    if data[4:6] != b"\x02\x01":
        raise source.refusal("not an AMDGPU code object: not a little-endian 64-bit ELF", 4, code="O001")
    if len(data) < _HEADER.size:
        raise source.refusal(f"the ELF header is cut short: {len(data)} bytes")
    ident, kind, machine, _, _, _, table, flags, _, _, _, entry, count, names = _HEADER.unpack_from(data)
    if count and entry != _SECTION.size:
        raise source.refusal(f"section headers of {entry} bytes, {_SECTION.size} expected", 0x3A)
    sections, held = [], 0
    for index in range(count):
        name_at, sort, _, address, offset, size, link, *_ = source.unpack(
            _SECTION, table + index * entry, "a section header"
        )
        if sort not in (0, SHT_NOBITS):
            source.span(offset, size, f"section {index}")
            held += size
        sections.append(Section(sort, address, offset, size, link, name_at))
    if held > len(data):  # tables would be read as often as sections name them
        raise source.refusal(f"sections overlap: {held} bytes in a file of {len(data)}", 0x28)
    return Elf(source, ident[7], kind, machine, flags, tuple(sections), names)


def _padded(size: int) -> int:
    return (size + 3) & ~3


def _hint_for(data: bytes) -> str | None:
    if data[:24] == b"__CLANG_OFFLOAD_BUNDLE__" or data[:4] == b"CCOB":
        return "this is an offload bundle; compile with --no-gpu-bundle-output, or unbundle it first"
    return None
