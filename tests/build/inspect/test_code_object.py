"""Code objects are read as the compiler's own metadata has them; what is malformed is refused with its place."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amd_kernels import ARCHS, compiled
from ckgen.build.inspect.code_object import CodeObject, read_code_object, read_file
from ckgen.build.inspect.elf import Source
from ckgen.model.errors import InputError
from elf_writer import TEXT_ADDRESS, code_object, kernel


def read(data: bytes) -> CodeObject:
    return read_code_object(Source("k.co", data))


def refused(data: bytes) -> str:
    with pytest.raises(InputError) as caught:
        read(data)
    return str(caught.value)


def with_kernel(**changes: Any) -> bytes:
    return code_object(metadata={"amdhsa.kernels": [kernel(**changes)], "amdhsa.target": "amdgcn-amd-amdhsa--gfx942"})


def test_a_kernel_is_read_whole() -> None:
    text = bytes(range(64))
    code = read(code_object(text))
    (found,) = code.kernels
    assert (code.arch, code.target) == ("gfx942", "amdgcn-amd-amdhsa--gfx942")
    assert (found.name, found.text) == ("k", text)
    assert code.source.data[found.offset :].startswith(text)
    taken = found.resources
    assert (taken.vgprs, taken.agprs, taken.sgprs, taken.vgpr_spills, taken.sgpr_spills) == (300, 44, 30, 2, 3)
    assert (taken.scratch, taken.lds, taken.kernarg) == (12, 65536, 24)
    assert (taken.wave_size, taken.max_workgroup, taken.dynamic_stack) == (64, 256, False)
    assert [(a.offset, a.size, a.kind) for a in found.arguments] == [(0, 8, "global_buffer")]


def test_a_symbol_without_size_reaches_to_the_end_of_its_section() -> None:
    assert read(code_object(bytes(12), symbol_size=0)).kernels[0].text == bytes(12)


def test_a_text_ends_with_its_symbol() -> None:
    assert read(code_object(bytes(12), symbol_size=8)).kernels[0].text == bytes(8)


def test_a_symbol_does_not_reach_past_its_section() -> None:
    assert read(code_object(bytes(12), symbol_size=4000)).kernels[0].text == bytes(12)


@pytest.mark.amd
@pytest.mark.parametrize("arch", ARCHS)
def test_figures_are_those_of_the_assembly(arch: str) -> None:
    made = compiled(arch)
    code = made.code()
    assert code.arch == arch
    wanted = made.metadata()
    assert [kernel.name for kernel in code.kernels] == sorted(wanted)
    for found in code.kernels:
        said, taken = wanted[found.name], found.resources
        assert taken.vgprs == said[".vgpr_count"]
        assert taken.agprs == said.get(".agpr_count", 0)
        assert taken.sgprs == said[".sgpr_count"]
        assert taken.vgpr_spills == said[".vgpr_spill_count"]
        assert taken.sgpr_spills == said[".sgpr_spill_count"]
        assert taken.scratch == said[".private_segment_fixed_size"]
        assert taken.lds == said[".group_segment_fixed_size"]
        assert taken.kernarg == said[".kernarg_segment_size"]
        assert taken.wave_size == said[".wavefront_size"]
        assert taken.max_workgroup == said[".max_flat_workgroup_size"]
        assert taken.dynamic_stack == said[".uses_dynamic_stack"]
        assert [(a.offset, a.size, a.kind) for a in found.arguments] == [
            (argument[".offset"], argument[".size"], argument[".value_kind"]) for argument in said[".args"]
        ]
    assert any(found.resources.lds for found in code.kernels)
    assert any(found.resources.scratch for found in code.kernels)


def test_a_processor_that_the_table_lacks_is_named_by_the_metadata() -> None:
    assert read(code_object(flags=0x5FE, target="amdgcn-amd-amdhsa--gfx1999:sramecc+")).arch == "gfx1999"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "error[O001] k.co: not an AMDGPU code object: no ELF magic"),
        (b"\x7fELF\x01\x01" + bytes(60), "error[O001] k.co: byte 0x4: not an AMDGPU code object: not a little-endian"),
        (b"\x7fELF\x02\x01" + bytes(9), "error[O002] k.co: the ELF header is cut short: 15 bytes"),
        (code_object(machine=62, os_abi=0), "error[O001] k.co: byte 0x7: not an AMDGPU code object: machine 62, ABI 0"),
        (code_object(kind=1), "error[O001] k.co: byte 0x10: not a linked code object"),
        (code_object()[:-1], "error[O002] k.co: byte 0x"),
        (code_object(flags=0x53F), "error[O004] k.co: byte 0x30: e_flags say gfx90a, the metadata gfx942"),
        (code_object(flags=0x5FE, target=""), "error[O004] k.co: byte 0x30: unknown processor 0xfe"),
        (with_kernel(symbol="other.kd"), "error[O003] k.co: kernel other: no symbol other.kd"),
        (with_kernel(vgpr_count=None), "error[O003] k.co: the metadata: amdhsa.kernels[0]: .vgpr_count is nothing"),
        (with_kernel(sgpr_count=-1), ".sgpr_count is -1, a count expected"),
        (with_kernel(symbol=7), ".symbol is 7, text expected"),
        (with_kernel(args=[3]), ".args is [3], a list of maps expected"),
        (with_kernel(args=7), ".args is 7, a list of maps expected"),
        (b"__CLANG_OFFLOAD_BUNDLE__" + bytes(80), "--no-gpu-bundle-output"),
    ],
)
def test_what_is_no_code_object_is_refused_with_its_place(data: bytes, message: str) -> None:
    assert message in refused(data)


def test_metadata_that_does_not_end_is_refused_with_its_offset() -> None:
    data = code_object()
    at = data.index(b"amdhsa.kernels") + len(b"amdhsa.kernels")
    broken = data[:at] + b"\xdd\xff\xff\xff\xff" + data[at + 5 :]
    assert f"error[O003] k.co: byte {at + 5:#x}: metadata cut short: 4294967295 values wanted" in refused(broken)


def patched(at: int, layout: str, value: int) -> bytes:
    """The plain code object with one number replaced."""
    data = bytearray(code_object())
    struct.pack_into(layout, data, at, value)
    return bytes(data)


def test_a_section_past_the_end_is_refused_with_its_size() -> None:
    data = code_object()
    text_header = len(data) - 2 * 64
    at = struct.unpack_from("<Q", data, text_header + 24)[0]
    message = f"error[O002] k.co: byte {at:#x}: section 4 of 99999 bytes lies beyond the end of the file"
    assert message in refused(patched(text_header + 32, "<Q", 99999))


def test_sections_that_overlap_are_refused() -> None:
    """Else a table is read as often as sections name it."""
    data = code_object(text=bytes(4096))
    text_header = len(data) - 2 * 64
    symbols = struct.unpack_from("<QQ", data, text_header + 24)
    note = len(data) - 5 * 64
    again = bytearray(data)
    struct.pack_into("<QQ", again, note + 24, *symbols)
    assert "sections overlap" in refused(bytes(again))


def test_a_symbol_with_a_name_outside_its_table_is_refused() -> None:
    at = code_object().index(struct.pack("<IBBHQ", 1, 0x12, 3, 4, TEXT_ADDRESS))
    assert f"byte {at:#x}: a symbol's name lies outside its string table" in refused(patched(at, "<I", 9999))


def test_metadata_shorter_than_what_it_announces_is_refused() -> None:
    data = code_object()
    at = data.index(b"AMDGPU\0\0") - 8
    size = struct.unpack_from("<I", data, at)[0]
    message = "metadata cut short: 25 bytes wanted, 22 left"
    assert message in refused(patched(at, "<I", size - 3))
    assert "bytes follow the metadata" in refused(patched(at, "<I", size + 4))


def test_a_key_that_is_no_text_is_refused() -> None:
    at = code_object().index(b"amdhsa.kernels") - 1
    data = code_object()
    assert "a key of the metadata is not text" in refused(data[:at] + b"\xcf" + data[at + 1 :])


def test_a_type_that_metadata_does_not_use_is_refused() -> None:
    data = code_object()
    at = data.index(b".vgpr_count") + len(b".vgpr_count")
    assert f"byte {at:#x}: a MessagePack type that metadata does not use: 0xca" in refused(
        data[:at] + b"\xca" + data[at + 1 :]
    )


def nested(depth: int) -> bytes:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return code_object(metadata={"x": value, "amdhsa.kernels": [kernel()], "amdhsa.target": "a--gfx942"})


def test_nesting_is_bounded() -> None:
    assert read(nested(15)).arch == "gfx942"
    assert "metadata nested deeper than 16" in refused(nested(100))


@given(st.integers(0, len(code_object()) - 1))
def test_every_truncation_is_refused(size: int) -> None:
    assert "k.co" in refused(code_object()[:size])


@given(st.lists(st.tuples(st.integers(0, len(code_object()) - 1), st.integers(0, 255)), min_size=1, max_size=12))
def test_mutated_bytes_are_read_or_refused(changes: list[tuple[int, int]]) -> None:
    """No other exception comes out, and no kernel's text lies outside the file."""
    data = bytearray(code_object())
    for at, value in changes:
        data[at] = value
    try:
        code = read(bytes(data))
    except InputError as error:
        assert all(found.location and found.location.file == "k.co" for found in error.diagnostics)
        return
    for found in code.kernels:
        assert bytes(data)[found.offset : found.offset + len(found.text)] == found.text


@given(st.binary(max_size=300), st.integers(0, 8))
def test_any_bytes_are_refused(data: bytes, header: int) -> None:
    assert "k.co" in refused(code_object()[: header * 8] + data)


@pytest.mark.amd
@given(st.lists(st.tuples(st.floats(0, 0.999), st.integers(0, 255)), min_size=1, max_size=40))
def test_mutations_of_a_real_code_object_are_read_or_refused(changes: list[tuple[float, int]]) -> None:
    data = bytearray(compiled("gfx942").data)
    for place, value in changes:
        data[int(place * len(data))] = value
    try:
        read(bytes(data))
    except InputError as error:
        assert error.diagnostics


def test_a_file_is_read_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "a.co"
    path.write_bytes(code_object())
    assert read_file(path).kernels[0].name == "k"
    with pytest.raises(FileNotFoundError):
        read_file(tmp_path / "none.co")
