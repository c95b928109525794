"""Code objects whose every field is bent: what is read of them, and what is refused with which words."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from elf_support import (
    CONTENT,
    DESCRIPTOR_AT,
    NOTE,
    NOTHING_IN_FILE,
    READS,
    SYMBOLS,
    TEXT_AT,
    Object,
    Section,
    Segment,
    descriptor,
    metadata,
    note,
    symbol,
)  # fmt: skip
from object_support import ReadKernel, ReadObject, read_object
from step_support import emulator

from ckgen.model.errors import UsageError

pytestmark = pytest.mark.amd

PLAIN = Object()
LARGEST = 1 << 26
NAME = 1 << 16


def read(made: Object) -> ReadObject:
    found = read_object(made.bytes())
    assert found.error == ""
    return found


def kernel(made: Object) -> ReadKernel:
    [found] = read(made).kernels
    return found


def error(made: Object) -> str:
    found = read_object(made.bytes())
    assert not found.kernels and not found.image and found.machine == 0
    return found.error


def test_the_plain_one_is_read() -> None:
    found = read(PLAIN)
    assert (found.machine, len(found.image)) == (0x4C, TEXT_AT + 4)
    assert found.image[TEXT_AT:] == PLAIN.sections["text"].content
    assert found.image[DESCRIPTOR_AT : DESCRIPTOR_AT + 64] == descriptor()
    assert not any(found.image[:DESCRIPTOR_AT])
    [one] = found.kernels
    assert (one.name, one.entry, one.text_start, one.text_bytes) == ("k", TEXT_AT, TEXT_AT, 4)
    assert (one.vgprs, one.accum_offset, one.lds_bytes, one.scratch_bytes, one.kernarg_bytes) == (8, 4, 0, 0, 0)


@pytest.mark.parametrize(
    ("rsrc1", "rsrc3", "vgprs", "accumulators"),
    [(0, 0, 8, 4), (1, 1, 16, 8), (62, 62, 504, 252), (63, 63, 512, 256), (64, 64, 8, 4), (0x2A, 0x15, 344, 88)],
)
def test_registers(rsrc1: int, rsrc3: int, vgprs: int, accumulators: int) -> None:
    found = kernel(PLAIN.with_section("rodata", descriptor(rsrc1=rsrc1, rsrc3=rsrc3)))
    assert (found.vgprs, found.accum_offset) == (vgprs, accumulators)


def test_sizes_are_the_descriptors_and_kernarg_else_the_metadatas() -> None:
    said = note(metadata({".symbol": "k.kd", ".kernarg_segment_size": 24}))
    made = PLAIN.with_section("note", said)
    assert kernel(made).kernarg_bytes == 24
    found = kernel(made.with_section("rodata", descriptor(lds=100, scratch=200, kernarg=300)))
    assert (found.lds_bytes, found.scratch_bytes, found.kernarg_bytes) == (100, 200, 300)


def test_the_entry_is_counted_from_the_descriptor() -> None:
    text = bytes(12) + PLAIN.sections["text"].content
    assert kernel(PLAIN.with_section("text", text).with_section("rodata", descriptor(entry=0x100C))).entry == 0x200C
    below = PLAIN.with_section("text", text, address=0x800).with_section("rodata", descriptor(entry=-0x7F8))
    assert (kernel(below).entry, kernel(below).text_start) == (0x808, 0x800)


NO_ENTRY = "kernel k: its entry is in no executable section"
NO_DESCRIPTOR = "kernel k: its descriptor is in no section"
ENTRIES = (
    (PLAIN.with_section("rodata", descriptor(entry=0x1002)), NO_ENTRY),
    (PLAIN.with_section("rodata", descriptor(entry=0x1004)), NO_ENTRY),
    (PLAIN.with_section("rodata", descriptor(entry=0xFFC)), NO_ENTRY),
    (PLAIN.with_section("text", flags=READS), NO_ENTRY),
    (PLAIN.with_section("text", size=3), NO_ENTRY),
    (PLAIN.with_section("rodata", size=63), NO_DESCRIPTOR),
    (PLAIN.with_section("rodata", address=DESCRIPTOR_AT + 1), NO_DESCRIPTOR),
    (PLAIN.with_section("rodata", kind=NOTHING_IN_FILE), NO_DESCRIPTOR),
    (PLAIN.with_section("rodata", kind=0), NO_DESCRIPTOR),
    (PLAIN.with_section("symbols", symbol(1, 0)).with_section("rodata", address=0), NO_DESCRIPTOR),
    (replace(PLAIN, segments=(Segment("rodata"),)), "kernel k: its text is in no loaded segment"),
    (replace(PLAIN, segments=(Segment("text", memory_size=4, file_size=3, address=TEXT_AT - 1),)),
     "kernel k: its text is in no loaded segment"),
    (replace(PLAIN, segments=()), "kernel k: its text is in no loaded segment"),
)  # fmt: skip


@pytest.mark.parametrize(("made", "said"), ENTRIES)
def test_places_of_descriptor_and_text(made: Object, said: str) -> None:
    assert error(made) == said


HEADERS = (
    (replace(PLAIN, ident=b"\x7fELG\x02\x01\x01\x40"), "not a little-endian 64-bit ELF file"),
    (replace(PLAIN, ident=b"\x7fELF\x01\x01\x01\x40"), "not a little-endian 64-bit ELF file"),
    (replace(PLAIN, ident=b"\x7fELF\x02\x02\x01\x40"), "not a little-endian 64-bit ELF file"),
    (replace(PLAIN, ident=b"\x7fELF\x02\x01\x01\x41"), "not an AMDGPU code object"),
    (replace(PLAIN, ident=b"\x7fELF\x02\x01\x40\x00"), "not an AMDGPU code object"),
    (replace(PLAIN, machine=225), "not an AMDGPU code object"),
    (replace(PLAIN, kind=1), "not a linked code object"),
    (replace(PLAIN, kind=2), "not a linked code object"),
    (replace(PLAIN, section_size=63), "section headers of 63 bytes"),
    (replace(PLAIN, section_size=65), "section headers of 65 bytes"),
    (replace(PLAIN, segment_size=55), "program headers of 55 bytes"),
    (replace(PLAIN, segment_size=57), "program headers of 57 bytes"),
    (PLAIN.with_section("rel", b"\0" * 8, kind=4), "it has relocations, which no loader of ours applies"),
    (PLAIN.with_section("rel", b"\0", kind=9), "it has relocations, which no loader of ours applies"),
    (replace(PLAIN, segments=(Segment("text", file_size=4, memory_size=3),)), "segment 0 is larger in the file"),
    (replace(PLAIN, segments=(Segment("text"), Segment("text", memory_size=0))), "segment 1 is larger in the file"),
    (replace(PLAIN, segments=(Segment("text", address=LARGEST - 3),)), f"a segment ends above {LARGEST} bytes"),
    (replace(PLAIN, segments=(Segment("text", address=LARGEST + 1, file_size=0, memory_size=0),)),
     f"a segment ends above {LARGEST} bytes"),
    (replace(PLAIN, segments=(Segment("text", address=2**64 - 2),)), f"a segment ends above {LARGEST} bytes"),
    (PLAIN.with_section("note", b""), "no AMDGPU metadata note: code object v2 and older are not read"),
    (PLAIN.with_section("note", kind=CONTENT), "no AMDGPU metadata note: code object v2 and older are not read"),
    (PLAIN.with_section("note", note(metadata(), b"AMDGPV\0")),
     "no AMDGPU metadata note: code object v2 and older are not read"),
    (PLAIN.with_section("note", note(metadata(), b"AMDGPU2\0")),
     "no AMDGPU metadata note: code object v2 and older are not read"),
    (PLAIN.with_section("note", note(metadata(), kind=33)),
     "no AMDGPU metadata note: code object v2 and older are not read"),
    (PLAIN.with_section("symbols", link=9), "a symbol table has no string table"),
    (PLAIN.with_section("symbols", link=6), "a symbol table has no string table"),
    (PLAIN.with_section("symbols", link=0), "a symbol table has no string table"),
    (PLAIN.with_section("strings", kind=NOTHING_IN_FILE), "a symbol table has no string table"),
    (PLAIN.with_section("symbols", symbol(6, DESCRIPTOR_AT)), "a symbol's name lies outside of its string table"),
    (PLAIN.with_section("symbols", symbol(7, DESCRIPTOR_AT)), "a symbol's name lies outside of its string table"),
    (PLAIN.with_section("strings", b"\0k.kd"), "a symbol's name lies outside of its string table"),
    (PLAIN.with_section("strings", size=5), "a symbol's name lies outside of its string table"),
    (PLAIN.with_section("strings", b"\0" + b"k" * (NAME + 1) + b"\0"), f"a symbol's name has more than {NAME} bytes"),
)  # fmt: skip


@pytest.mark.parametrize(("made", "said"), HEADERS)
def test_what_is_wrong_is_said(made: Object, said: str) -> None:
    assert error(made) == said


BEYOND = (
    (PLAIN.with_section("text", size=1 << 20), f"section 5 of {1 << 20} bytes at byte "),
    (PLAIN.with_section("text", offset=1 << 20), f"section 5 of 4 bytes at byte {1 << 20} lies beyond the end"),
    (PLAIN.with_section("note", size=2**64 - 1), f"section 1 of {2**64 - 1} bytes at byte "),
    (replace(PLAIN, segments=(Segment("text", offset=1 << 20),)), f"segment 0 of 4 bytes at byte {1 << 20} lies"),
    (replace(PLAIN, segments=(Segment("rodata"), Segment("text", file_size=1 << 20))), f"segment 1 of {1 << 20} bytes"),
    (PLAIN.with_section("note", size=11), "a note of 12 bytes at byte 0 lies beyond the end (11 bytes)"),
    (PLAIN.with_section("note", size=18), "a note's owner of 7 bytes at byte 12 lies beyond the end (18 bytes)"),
    (PLAIN.with_section("note", size=20), "a note of "),
)


@pytest.mark.parametrize(("made", "said"), BEYOND)
def test_what_reaches_beyond_the_end_is_said(made: Object, said: str) -> None:
    assert error(made).startswith(said)


def test_no_part_of_the_file_is_enough() -> None:
    whole = PLAIN.bytes()
    for size in range(len(whole)):
        text = read_object(whole[:size]).error
        assert re.fullmatch(rf"the .* of \d+ bytes at byte \d+ lies beyond the end \({size} bytes\)", text), text
    assert read_object(whole).error == ""


def test_what_is_not_in_the_file_reaches_anywhere() -> None:
    made = PLAIN.with_section("bss", kind=NOTHING_IN_FILE, size=1 << 40, offset=1 << 40)
    made = made.with_section("unused", kind=0, size=1 << 40, offset=1 << 40).with_section("rel", b"", kind=9)
    assert kernel(replace(made, segments=(*PLAIN.segments, Segment("text", kind=2, offset=1 << 40)))).name == "k"


def test_sections_may_fill_the_file_but_not_overlap() -> None:
    held = sum(len(one.content) for one in PLAIN.sections.values())
    made = PLAIN.with_section("again", b"", offset=0, size=0)
    size = len(made.bytes())
    assert kernel(made.with_section("again", size=size - held)).name == "k"
    said = error(made.with_section("again", size=size - held + 1))
    assert said == f"sections overlap: {size + 1} bytes in a file of {size}"


def test_a_segment_ends_with_zeros() -> None:
    found = read(replace(PLAIN, segments=(Segment("text", memory_size=20), Segment("rodata", memory_size=64))))
    assert found.image[TEXT_AT:] == PLAIN.sections["text"].content + bytes(16)
    unfilled = replace(PLAIN, segments=(Segment("rodata"), Segment("text", file_size=0, memory_size=4)))
    assert read(unfilled).image[TEXT_AT:] == bytes(4)


def test_the_largest_image() -> None:
    text = Segment("text", address=LARGEST - 4)
    assert len(read(replace(PLAIN, segments=(*PLAIN.segments, text))).image) == LARGEST


def test_names() -> None:
    """Kernels are what ends in .kd, by name; the dynamic table's come first, and the others' are read too."""
    strings = b"\0k.kd\0.kd\0k.kx\0a.kd\0"
    entries = [symbol(at, DESCRIPTOR_AT) for at in (1, 6, 10, 2)]
    made = PLAIN.with_section("strings", strings).with_section("symbols", b"".join(entries))
    assert [one.name for one in read(made).kernels] == ["k"]
    lds = made.with_section("more", descriptor(lds=16), kind=CONTENT, address=0x3000, flags=READS)
    lds = lds.with_section("more", descriptor(lds=16, entry=TEXT_AT - 0x3000))
    static = symbol(1, 0x3000) + symbol(15, 0x3000) + symbol(99, 0, section=0) + b"\0" * 23
    both = replace(lds, sections={"table": Section(SYMBOLS, static, link=4), **lds.sections})
    both = both.with_section("symbols", link=4)
    assert [(one.name, one.lds_bytes) for one in read(both).kernels] == [("a", 16), ("k", 0)]


def test_the_longest_name() -> None:
    strings = b"\0" + b"k" * (NAME - 3) + b".kd\0"
    said = note(metadata())
    assert len(kernel(PLAIN.with_section("strings", strings).with_section("note", said)).name) == NAME - 3


def test_notes_lie_one_after_the_other() -> None:
    """Each part padded to dwords; other owners' and kinds' are passed by, and the first is taken."""

    def of(most: int) -> bytes:
        return note(metadata({".symbol": "k.kd", ".max_flat_workgroup_size": most}))

    others = [note(b"12345", b"GNU\0"), note(b"1", b"AMDGPU\0", 31), note(b"", b""), note(b"x", b"other\0", 32)]
    made = PLAIN.with_section("note", b"".join([*others, of(64), of(128)]))
    assert kernel(made).max_workgroup == 64
    first = replace(made, sections={"first": Section(NOTE, others[0]), **made.sections})
    assert kernel(first.with_section("symbols", link=4)).max_workgroup == 64


@pytest.mark.parametrize(
    ("target", "flags", "said"),
    [
        ("amdgcn-amd-amdhsa--gfx942", 0x4C, ""),
        ("amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-", 0x54C, ""),
        ("amdgcn-amd-amdhsa-unknown-gfx942", 0xFFFFFF4C, ""),
        ("", 0x4C, ""),
        ("gfx942", 0x4C, ""),
        ("amdgcn-amd-amdhsa--gfx90a", 0x4C, "code for gfx90a on a gfx942"),
        ("amdgcn-amd-amdhsa--gfx90a:xnack-", 0x3F, "code for gfx90a on a gfx942"),
        ("", 0x4D, "code with e_flags 77 on a gfx942, which has 76"),
        ("amdgcn-amd-amdhsa--gfx942", 0x14B, "code with e_flags 75 on a gfx942, which has 76"),
    ],
)
def test_code_is_of_a_processor(target: str, flags: int, said: str) -> None:
    made = replace(PLAIN, flags=flags).with_section("note", note(metadata({".symbol": "k.kd"}, target=target)))
    chip = emulator("gfx942")
    if said:
        with pytest.raises(UsageError, match=re.escape(said)):
            chip.load(made.bytes())
    else:
        module = chip.load(made.bytes())
        assert module.kernels == ("k",)
        chip.unload(module)
