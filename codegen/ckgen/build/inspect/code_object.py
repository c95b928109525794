"""An AMDGPU code object: its processor and its kernels, from the ELF file's own tables and metadata."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ckgen.build.inspect import msgpack
from ckgen.build.inspect.elf import STT_FUNC, Elf, Source, Symbol, read_elf
from ckgen.model.arch import Vendor
from ckgen.model.errors import InputError
from ckgen.specs.archs import load_archs

__all__ = ["Argument", "CodeObject", "Kernel", "Resources", "Source", "read_code_object", "read_file"]

_EM_AMDGPU = 224
_ET_DYN = 3
_ABI_HSA = 64
_NT_METADATA = 32
_MACH = 0xFF
_DESCRIPTOR = struct.Struct("<IIIIq")
_SUFFIX = ".kd"


@dataclass(frozen=True, slots=True)
class Argument:
    """One kernel argument: byte offset and size in the kernarg segment; hidden ones have kinds `hidden_…`."""

    offset: int
    size: int
    kind: str


@dataclass(frozen=True, slots=True)
class Resources:
    """What a kernel's metadata says it takes; registers per lane or wave, segments in bytes.

    `vgprs` counts AGPRs too where the register file is one (CDNA 2 and later).
    """

    vgprs: int
    agprs: int
    sgprs: int
    vgpr_spills: int
    sgpr_spills: int
    scratch: int
    lds: int
    kernarg: int
    wave_size: int
    max_workgroup: int
    dynamic_stack: bool


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel: `text` are its instructions, which begin at byte `offset` of the file."""

    name: str
    offset: int
    text: bytes
    resources: Resources
    arguments: tuple[Argument, ...]


@dataclass(frozen=True, slots=True)
class CodeObject:
    """One linked code object; `target` as in "amdgcn-amd-amdhsa--gfx942", kernels by name."""

    source: Source
    arch: str
    target: str
    kernels: tuple[Kernel, ...]


def read_file(path: Path) -> CodeObject:
    """The code object in a file; InputError for what is none (O001 … O004), OSError for what cannot be read."""
    return read_code_object(Source(str(path), path.read_bytes()))


def read_code_object(source: Source) -> CodeObject:
    """The code object in memory; InputError with file and byte offset for what is none."""
    elf = read_elf(source)
    if elf.machine != _EM_AMDGPU or elf.os_abi != _ABI_HSA:
        found = f"machine {elf.machine}, ABI {elf.os_abi}"
        raise source.refusal(
            f"not an AMDGPU code object: {found} ({_EM_AMDGPU} and {_ABI_HSA} expected)", 7, code="O001"
        )
    if elf.kind != _ET_DYN:
        hint = "link it first: ld.lld -shared --no-undefined -o k.hsaco k.o"
        raise source.refusal(
            f"not a linked code object: ELF type {elf.kind}, {_ET_DYN} expected", 16, code="O001", hint=hint
        )
    metadata = _Fields(source, _metadata(elf), "the metadata")
    target = metadata.text("amdhsa.target", "")
    symbols = elf.symbols()
    kernels = [_kernel(elf, symbols, fields) for fields in metadata.maps("amdhsa.kernels")]
    return CodeObject(source, _arch(elf, target), target, tuple(sorted(kernels, key=lambda kernel: kernel.name)))


def _metadata(elf: Elf) -> Mapping[str, msgpack.Value]:
    for owner, kind, offset, size in elf.notes():
        if owner == "AMDGPU" and kind == _NT_METADATA:
            value = msgpack.decode(elf.source, offset, size)
            if not isinstance(value, dict):
                raise elf.source.refusal("the metadata is not a map", offset, code="O003")
            return value
    raise elf.source.refusal("no AMDGPU metadata note: code object v2 and older are not read", code="O003")


def _arch(elf: Elf, target: str) -> str:
    """The processor by e_flags, or by the metadata for one that no arch spec has."""
    by_flags = _processors().get(elf.flags & _MACH)
    by_target = target.rpartition("-")[2].partition(":")[0]
    if by_flags is None and not by_target.startswith("gfx"):
        raise elf.source.refusal(f"unknown processor {elf.flags & _MACH:#x} in e_flags", 0x30, code="O004")
    if by_flags is not None and by_target and by_flags != by_target:
        raise elf.source.refusal(f"e_flags say {by_flags}, the metadata {by_target}", 0x30, code="O004")
    return by_flags or by_target


@cache
def _processors() -> Mapping[int, str]:
    return {arch.elf_machine: arch.processor for arch in load_archs().values() if arch.vendor is Vendor.AMD}


class _Fields:
    """A map of the metadata, read by type."""

    def __init__(self, source: Source, fields: Mapping[str, msgpack.Value], what: str) -> None:
        self.source, self.fields, self.what = source, fields, what

    def refusal(self, key: str, expected: str) -> InputError:
        found = repr(self.fields[key])[:40] if key in self.fields else "nothing"
        return self.source.refusal(f"{self.what}: {key} is {found}, {expected} expected", code="O003")

    def text(self, key: str, default: str | None = None) -> str:
        value = self.fields.get(key, default)
        if not isinstance(value, str):
            raise self.refusal(key, "text")
        return value

    def count(self, key: str, default: int | None = None) -> int:
        value = self.fields.get(key, default)
        if not isinstance(value, int) or value < 0:
            raise self.refusal(key, "a count")
        return value

    def maps(self, key: str) -> list[_Fields]:
        values = self.fields.get(key, [])
        if not isinstance(values, list):
            raise self.refusal(key, "a list of maps")
        found = [value for value in values if isinstance(value, dict)]
        if len(found) != len(values):
            raise self.refusal(key, "a list of maps")
        return [_Fields(self.source, value, f"{self.what}: {key}[{index}]") for index, value in enumerate(found)]


def _kernel(elf: Elf, symbols: Mapping[str, Symbol], fields: _Fields) -> Kernel:
    label = fields.text(".symbol")
    name = label.removesuffix(_SUFFIX)
    descriptor = symbols.get(label)
    if descriptor is None:
        raise elf.source.refusal(f"kernel {name}: no symbol {label}", code="O003")
    offset, text = _text(elf, symbols, name, descriptor)
    resources = Resources(
        vgprs=fields.count(".vgpr_count"),
        agprs=fields.count(".agpr_count", 0),
        sgprs=fields.count(".sgpr_count"),
        vgpr_spills=fields.count(".vgpr_spill_count", 0),
        sgpr_spills=fields.count(".sgpr_spill_count", 0),
        scratch=fields.count(".private_segment_fixed_size"),
        lds=fields.count(".group_segment_fixed_size"),
        kernarg=fields.count(".kernarg_segment_size"),
        wave_size=fields.count(".wavefront_size"),
        max_workgroup=fields.count(".max_flat_workgroup_size"),
        dynamic_stack=bool(fields.count(".uses_dynamic_stack", 0)),
    )
    arguments = [
        Argument(argument.count(".offset"), argument.count(".size"), argument.text(".value_kind"))
        for argument in fields.maps(".args")
    ]
    return Kernel(name, offset, text, resources, tuple(arguments))


def _text(elf: Elf, symbols: Mapping[str, Symbol], name: str, descriptor: Symbol) -> tuple[int, bytes]:
    """The kernel's instructions: from its descriptor's entry to the end of its symbol, or of what can be its."""
    source = elf.source
    place = elf.section_at(descriptor.address)
    at = place.file_offset(descriptor.address) if place is not None else None
    if at is None:
        raise source.refusal(f"kernel {name}: its descriptor at address {descriptor.address:#x} is in no section")
    *_, distance = source.unpack(_DESCRIPTOR, at, f"kernel {name}'s descriptor")
    entry = descriptor.address + distance
    section = elf.section_at(entry)
    start = section.file_offset(entry) if section is not None else None
    if section is None or start is None:
        raise source.refusal(f"kernel {name}: its entry at address {entry:#x} is in no section", at)
    end = section.address + section.size
    own = next((s for s in symbols.values() if s.kind == STT_FUNC and s.address == entry and s.size), None)
    if own is not None:
        end = min(end, entry + own.size)
    else:
        end = min([end, *(s.address for s in symbols.values() if entry < s.address < end and s.kind == STT_FUNC)])
    return start, source.span(start, end - entry, f"kernel {name}'s text")
