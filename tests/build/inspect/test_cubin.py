"""Cubins made by hand: what is read of their tables and of their text, and what is refused."""

from __future__ import annotations

import struct

import pytest

from ckgen.build.inspect.cubin import CudaKernel, read_cubin
from ckgen.build.inspect.elf import Source
from ckgen.build.inspect.sass import count_instructions, report_of
from ckgen.model.errors import InputError

HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
SECTION = struct.Struct("<IIQQQQIIQQ")
PROGBITS, SYMTAB, STRTAB, NOBITS = 1, 2, 3, 8

SASS = """
	.section	.text.one,"ax",@progbits
.text.one:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/              @!P0 HGMMA.64x16x16.F32.BF16 R24, gdesc[UR4], RZ, !UPT ;
        /*0020*/                   HGMMA.64x16x16.F32.BF16 R24, gdesc[UR4], R24 ;
        /*0030*/               @P1 STL.64 [R1+0x8], R2 ;
	.section	.nv.shared.one,"aw",@nobits
        /*0040*/                   NOT COUNTED ;
"""


def cubin(*, machine: int = 190, number: int = 90, attributes: bytes | None = None) -> bytes:
    """One kernel, `one`: 64 bytes of text, 1024 of shared memory; by default 168 registers, 16 bytes of stack."""
    symbols = bytes(24) + struct.pack("<IBBHQQ", 1, 2, 0, 3, 0, 64)
    strings = b"\0one\0"
    if attributes is None:
        attributes = b"".join(
            struct.pack("<BBHII", 4, kind, 8, 1, value) for kind, value in ((0x2F, 168), (0x11, 16))
        ) + struct.pack("<BBH", 3, 0x50, 7)
    parts = [(".text.one", PROGBITS, bytes(64), 64, 0), (".nv.info", 0x70000000, attributes, len(attributes), 0)]
    parts += [(".symtab", SYMTAB, symbols, len(symbols), 4), (".strtab", STRTAB, strings, len(strings), 0)]
    parts.append((".nv.shared.one", NOBITS, b"", 1024, 0))
    names = b"\0" + b"".join(name.encode() + b"\0" for name, *_ in parts) + b".shstrtab\0"
    parts.append((".shstrtab", STRTAB, names, len(names), 0))
    body, table = b"", SECTION.pack(*([0] * 10))
    for name, kind, data, size, link in parts:
        at = names.index(b"\0" + name.encode() + b"\0") + 1
        table += SECTION.pack(at, kind, 0, 0, HEADER.size + len(body), size, link, 0, 1, 0)
        body += data
    ident = b"\x7fELF\x02\x01\x01" + bytes(9)
    offset, count = HEADER.size + len(body), len(parts) + 1
    head = HEADER.pack(ident, 2, machine, 1, 0, 0, offset, number << 8 | 4, 64, 0, 0, 64, count, count - 1)
    return head + body + table


def test_registers_stack_and_shared_memory_are_the_tables() -> None:
    found = read_cubin(Source("k.cubin", cubin()))
    assert found.arch == "sm_90a"
    assert found.kernels == (CudaKernel("one", 168, 16, 1024, 64),)


@pytest.mark.parametrize(
    ("data", "code", "message"),
    [
        (cubin(machine=224), "O001", "not a cubin: machine 224"),
        (cubin(number=70), "O004", "unknown processor 70"),
        (cubin(attributes=struct.pack("<BBHI", 4, 0x2F, 4, 1)), "O002", "attribute 0x2f of 4 bytes"),
        (cubin(attributes=struct.pack("<BBHII", 4, 0x2F, 8, 9, 168)), "O002", "of symbol 9 of 2"),
        (cubin(attributes=struct.pack("<BBH", 4, 0x2F, 60000)), "O002", "beyond the end"),
        (b"\x7fELF", "O001", "64-bit"),
    ],
)
def test_what_is_no_cubin_is_refused_with_its_place(data: bytes, code: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as refused:
        read_cubin(Source("k.cubin", data))
    assert refused.value.diagnostics[0].code == code


def test_instructions_are_counted_whatever_their_predicates() -> None:
    assert count_instructions(SASS) == {"one": {"hgmma_64x16x16_f32_bf16": 2, "ldc": 1, "stl_64": 1}}


def test_local_memory_shows_as_spills_and_lost_text_as_a_finding() -> None:
    found = read_cubin(Source("k.cubin", cubin()))
    counts = count_instructions(SASS)["one"]
    report = report_of(found, found.kernels[0], counts)
    assert report.matrix_ops == {"hgmma_64x16x16_f32_bf16": 2}
    assert (report.spills, report.scratch, report.vgpr, report.lds) == (1, 16, 168, 1024)
    assert not report.findings
    assert [one.rule for one in report_of(found, found.kernels[0], {"ldc": 1}).findings] == ["undecoded"]
