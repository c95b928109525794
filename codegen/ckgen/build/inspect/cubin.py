"""A cubin: its processor and its kernels, from the ELF file's own tables."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from ckgen.build.inspect.elf import SHT_SYMTAB, Elf, Section, Source, read_elf
from ckgen.model.arch import Vendor
from ckgen.specs.archs import load_archs

EM_CUDA = 190
_SYMBOL = struct.Struct("<IBBHQQ")
_PAIR = struct.Struct("<II")
_ATTRIBUTE = struct.Struct("<BBH")
_SIZED = 4
"""The format of an attribute whose bytes follow it."""
_REGISTERS, _FRAME = 0x2F, 0x11
_TEXT, _SHARED, _INFO = ".text.", ".nv.shared.", ".nv.info"


@dataclass(frozen=True, slots=True)
class CudaKernel:
    """One kernel: registers per thread, bytes of stack per thread, of shared memory per block (without what a launch
    adds), and of instructions."""

    name: str
    registers: int
    stack: int
    shared: int
    code_bytes: int


@dataclass(frozen=True, slots=True)
class Cubin:
    """One cubin; kernels by name."""

    source: Source
    arch: str
    kernels: tuple[CudaKernel, ...]


def read_cubin(source: Source) -> Cubin:
    """The cubin in memory; InputError with file and byte offset for what is none (O001 … O004)."""
    elf = read_elf(source)
    if elf.machine != EM_CUDA:
        raise source.refusal(f"not a cubin: machine {elf.machine}, {EM_CUDA} expected", 18, code="O001")
    number = elf.flags >> 8 & 0xFF
    arch = _processors().get(number)
    if arch is None:
        raise source.refusal(f"unknown processor {number} in e_flags", 0x30, code="O004")
    named = {elf.name_of(section): section for section in elf.sections}
    registers, stacks = _per_kernel(elf, named.get(_INFO))
    kernels = []
    for name, section in named.items():
        if not name.startswith(_TEXT):
            continue
        kernel = name.removeprefix(_TEXT)
        shared = named.get(_SHARED + kernel)
        kernels.append(
            CudaKernel(
                name=kernel,
                registers=registers.get(kernel, 0),
                stack=stacks.get(kernel, 0),
                shared=shared.size if shared is not None else 0,
                code_bytes=section.size,
            )
        )
    return Cubin(source, arch, tuple(sorted(kernels, key=lambda kernel: kernel.name)))


@cache
def _processors() -> Mapping[int, str]:
    return {arch.elf_machine: arch.processor for arch in load_archs().values() if arch.vendor is Vendor.NVIDIA}


def _per_kernel(elf: Elf, info: Section | None) -> tuple[Mapping[str, int], Mapping[str, int]]:
    """Registers and stack by kernel."""
    if info is None:
        raise elf.source.refusal(f"no section {_INFO}", code="O003")
    symbols = _symbol_names(elf)
    found: dict[int, dict[str, int]] = {_REGISTERS: {}, _FRAME: {}}
    for kind, offset, size in _attributes(elf.source, info):
        if kind in found:
            if size != _PAIR.size:
                raise elf.source.refusal(f"attribute {kind:#x} of {size} bytes, {_PAIR.size} expected", offset)
            symbol, value = elf.source.unpack(_PAIR, offset, "an attribute")
            if symbol >= len(symbols):
                raise elf.source.refusal(f"attribute {kind:#x} of symbol {symbol} of {len(symbols)}", offset)
            found[kind][symbols[symbol]] = value
    return found[_REGISTERS], found[_FRAME]


def _attributes(source: Source, info: Section) -> Iterator[tuple[int, int, int]]:
    """Kind, offset and size of those whose bytes follow them."""
    at, end = info.offset, info.offset + info.size
    while at < end:
        form, kind, size = source.unpack(_ATTRIBUTE, at, "an attribute")
        at += _ATTRIBUTE.size
        if form == _SIZED:
            source.span(at, size, "an attribute")
            yield kind, at, size
            at += size


def _symbol_names(elf: Elf) -> list[str]:
    found = []
    for table in elf.sections:
        if table.kind == SHT_SYMTAB:
            if table.link >= len(elf.sections):
                raise elf.source.refusal(f"a symbol table names string table {table.link}")
            strings = elf.sections[table.link]
            for offset in range(table.offset, table.offset + table.size - table.size % _SYMBOL.size, _SYMBOL.size):
                name, *_ = elf.source.unpack(_SYMBOL, offset, "a symbol")
                found.append(elf.text(strings, name) if strings.size else "")
    return found
