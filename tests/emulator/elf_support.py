"""Small code objects made byte by byte, so that tests can bend any field of them."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

NOTE, SYMBOLS, DYNAMIC_SYMBOLS, STRINGS, NOTHING_IN_FILE, CONTENT = 7, 2, 11, 3, 8, 1
READS, EXECUTES = 2, 6
DESCRIPTOR_AT, TEXT_AT = 0x1000, 0x2000
ENDS = struct.pack("<I", 0xBF810000)  # s_endpgm


def packed(value: object) -> bytes:
    """MessagePack in the shortest form; bytes stand for themselves, already encoded."""
    match value:
        case bytes():
            return value
        case bool():
            return b"\xc3" if value else b"\xc2"
        case int():
            return bytes([value]) if value < 0x80 else b"\xce" + struct.pack(">I", value)
        case str():
            text = value.encode()
            return (bytes([0xA0 | len(text)]) if len(text) < 32 else b"\xda" + struct.pack(">H", len(text))) + text
        case Mapping():
            inside = b"".join(packed(key) + packed(of) for key, of in value.items())
            return (bytes([0x80 | len(value)]) if len(value) < 16 else b"\xde" + struct.pack(">H", len(value))) + inside
        case Sequence():
            inside = b"".join(map(packed, value))
            return (bytes([0x90 | len(value)]) if len(value) < 16 else b"\xdc" + struct.pack(">H", len(value))) + inside
    raise TypeError(value)


def metadata(*kernels: object, target: str = "amdgcn-amd-amdhsa--gfx942", **more: object) -> bytes:
    """A note's content; each kernel a map."""
    return packed({"amdhsa.target": target, "amdhsa.kernels": list(kernels), **more})


def note(content: bytes, owner: bytes = b"AMDGPU\0", kind: int = 32) -> bytes:
    """One entry of a section of notes."""
    padded = [part + bytes(-len(part) % 4) for part in (owner, content)]
    return struct.pack("<III", len(owner), len(content), kind) + b"".join(padded)


def symbol(name: int, address: int, *, section: int = 1, info: int = 0x11, size: int = 64) -> bytes:
    """An entry of a symbol table; `name`: its offset in the strings."""
    return struct.pack("<IBBHQQ", name, info, 0, section, address, size)


def descriptor(
    *, lds: int = 0, scratch: int = 0, kernarg: int = 0, entry: int = TEXT_AT - DESCRIPTOR_AT, rsrc1: int = 0,
    rsrc2: int = 0, rsrc3: int = 0, properties: int = 0,
) -> bytes:  # fmt: skip
    """A kernel descriptor; `entry` from its own address."""
    return struct.pack(
        "<IIIIq20xIIIHHI", lds, scratch, kernarg, 0, entry, rsrc3, rsrc1, rsrc2, properties, 0, 0
    )  # fmt: skip


@dataclass(frozen=True)
class Section:
    """`size` and `offset`: other than those of the content."""

    kind: int
    content: bytes
    flags: int = 0
    address: int = 0
    link: int = 0
    size: int | None = None
    offset: int | None = None


@dataclass(frozen=True)
class Segment:
    """Loads the content of a section; numbers other than its own where they are given."""

    section: str
    kind: int = 1
    offset: int | None = None
    address: int | None = None
    file_size: int | None = None
    memory_size: int | None = None


def sections() -> dict[str, Section]:
    """Of an object with kernel `k` that ends at once."""
    strings = b"\0k.kd\0"
    return {
        "note": Section(NOTE, note(metadata({".symbol": "k.kd"}))),
        "symbols": Section(DYNAMIC_SYMBOLS, symbol(0, 0, section=0) + symbol(1, DESCRIPTOR_AT), link=3),
        "strings": Section(STRINGS, strings),
        "rodata": Section(CONTENT, descriptor(), READS, DESCRIPTOR_AT),
        "text": Section(CONTENT, ENDS, EXECUTES, TEXT_AT),
    }


@dataclass(frozen=True)
class Object:
    """An ELF file: header, segments, contents in their order, sections."""

    sections: Mapping[str, Section] = field(default_factory=sections)
    segments: tuple[Segment, ...] = (Segment("rodata"), Segment("text"))
    ident: bytes = b"\x7fELF\x02\x01\x01\x40"
    kind: int = 3
    machine: int = 224
    flags: int = 0x4C
    section_size: int = 64
    segment_size: int = 56
    tail: bytes = b""

    def with_section(self, name: str, content: bytes | None = None, **changed: int) -> Object:
        """The same with a section added or changed."""
        old = self.sections.get(name, Section(CONTENT, b""))
        new = replace(old, content=old.content if content is None else content, **changed)
        return replace(self, sections={**self.sections, name: new})

    def bytes(self) -> bytes:
        """The file."""
        start = 64 + 56 * len(self.segments)
        offsets: dict[str, int] = {}
        contents = b""
        for name, one in self.sections.items():
            offsets[name] = start + len(contents)
            contents += one.content + bytes(-len(one.content) % 8)
        table = bytes(64)
        for name, one in self.sections.items():
            offset = offsets[name] if one.offset is None else one.offset
            size = len(one.content) if one.size is None else one.size
            table += struct.pack("<IIQQQQIIQQ", 0, one.kind, one.flags, one.address, offset, size, one.link, 0, 1, 0)
        parts = b""
        for part in self.segments:
            of = self.sections[part.section]
            size = len(of.content) if part.file_size is None else part.file_size
            parts += struct.pack(
                "<IIQQQQQQ", part.kind, 0, offsets[part.section] if part.offset is None else part.offset,
                of.address if part.address is None else part.address, 0, size,
                size if part.memory_size is None else part.memory_size, 1,
            )  # fmt: skip
        header = self.ident.ljust(16, b"\0") + struct.pack(
            "<HHIQQQIHHHHHH", self.kind, self.machine, 1, 0, 64, start + len(contents), self.flags, 64,
            self.segment_size, len(self.segments), self.section_size, len(self.sections) + 1, 0,
        )  # fmt: skip
        return header + parts + contents + table + self.tail
