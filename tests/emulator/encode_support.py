"""One instruction of every opcode, its fields put where the microcode formats say, with registers that any chip takes.

Field positions: CDNA3 ISA, chapter 12 "Microcode Formats"; a register pair begins at an even number.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

V = 256
"""A VGPR as a nine-bit source."""

SKIPPED = frozenset({"ds_gws_sema_release_all", "ds_gws_sema_v", "ds_gws_sema_p"})
"""They need the global data share's bit, which the emulator takes for no instruction."""


@dataclass(frozen=True)
class Opcode:
    """A line of the opcode table: operand fields with their bits."""

    form: str
    number: int
    name: str
    fields: Mapping[str, int]

    def __getitem__(self, field: str) -> bool:
        return field in self.fields


def opcodes(table: str) -> Iterator[Opcode]:
    """The lines of an opcode table, behind that of the chip."""
    for line in table.splitlines()[1:]:
        form, number, name, *operands = line.split()
        split = (operand.split(":") for operand in operands)
        yield Opcode(form, int(number), name, {field: int(bits) for field, _, bits in split})


def encode(op: Opcode, arch: str) -> bytes:
    """The instruction with plain registers, and a literal where it must have one."""
    if op.form in ("GLOBAL", "SCRATCH", "FLAT"):
        return _flat(op, arch)
    return _FORMS[op.form](op)


def _dword(value: int) -> bytes:
    return struct.pack("<I", value)


def _qword(value: int) -> bytes:
    return struct.pack("<Q", value)


def _scalar_target(op: Opcode) -> int:
    return 16 << 16 if op["sdst"] else 0


def _sop1(op: Opcode) -> bytes:
    return _dword(0x17D << 23 | _scalar_target(op) | op.number << 8 | (8 if op["ssrc0"] else 0))


def _sop2(op: Opcode) -> bytes:
    return _dword(0b10 << 30 | op.number << 23 | _scalar_target(op) | 4 << 8 | 8)


def _sopc(op: Opcode) -> bytes:
    return _dword(0x17E << 23 | op.number << 16 | (3 if op.name == "s_set_gpr_idx_on" else 4) << 8 | 8)


def _sopk(op: Opcode) -> bytes:
    constant = 0xF801 if "reg" in op.name else 5  # of a hardware register: MODE, all 32 bits
    first = _dword(0b1011 << 28 | op.number << 23 | _scalar_target(op) | constant)
    return first + (_dword(77777) if "imm32" in op.name else b"")


def _sopp(op: Opcode) -> bytes:
    return _dword(0x17F << 23 | op.number << 16 | (1 if op["simm16"] else 0))


def _smem(op: Opcode) -> bytes:
    word = 0b110000 << 26 | op.number << 18 | (16 << 6 if op["sdata"] else 0)
    return _qword(word | (4 | 1 << 17 | 0x10 << 32 if op["sbase"] else 0))


def _literal(op: Opcode) -> bytes:
    return _dword(12345) if op.name.endswith(("mk_f32", "ak_f32", "mk_f16", "ak_f16")) else b""


def _sources(op: Opcode) -> tuple[int, int]:
    return (2 if op["vdst"] else 0), (V + 4 if op["src0"] else 0)


def _vop1(op: Opcode) -> bytes:
    target, source = _sources(op)
    return _dword(0x3F << 25 | target << 17 | op.number << 9 | source)


def _vop2(op: Opcode) -> bytes:
    target, source = _sources(op)
    return _dword(op.number << 25 | target << 17 | 6 << 9 | source) + _literal(op)


def _vopc(op: Opcode) -> bytes:
    return _dword(0x3E << 25 | op.number << 17 | 6 << 9 | V + 4)


def _vop3(op: Opcode) -> bytes:
    word = 0b110100 << 26 | op.number << 16 | (2 if op["vdst"] else 0)
    carries_in = op.name == "v_cndmask_b32" or op.name.startswith(("v_addc_co", "v_subb"))
    for index in range(3):
        if op[f"src{index}"]:
            scalar = (carries_in and index == 2) or (op.name, index) in (("v_writelane_b32", 0), ("v_readlane_b32", 1))
            word |= (8 if scalar else V + 4 + 40 * index) << 32 + 9 * index
    if op.name == "v_writelane_b32":
        word &= ~(0x1FF << 41)
        word |= 8 << 41
    return _qword(word | (16 << 8 if op.form == "VOP3SD" else 0))


def _vop3p(op: Opcode) -> bytes:
    word = 0b110100111 << 23 | op.number << 16 | 2
    for index in range(3):
        if op[f"src{index}"]:
            word |= V + 4 + 40 * index << 32 + 9 * index
    every_high = 0 if "_mix" in op.name else 3 << 59 | 1 << 14
    return _qword(word | every_high)


def _matrix(number: int, indices: bool) -> int:
    third = V + 70 if indices else V + 32
    return 0b110100111 << 23 | number << 16 | 32 | V + 4 << 32 | V + 20 << 41 | third << 50


def _mfma(op: Opcode) -> bytes:
    return _qword(_matrix(op.number, "smfmac" in op.name))


def _scaled(op: Opcode) -> bytes:
    return _qword(0xD3AC << 16 | V + 1 << 32 | V + 2 << 41) + _qword(_matrix(op.number, False) | 1 << 11)


def _ds(op: Opcode) -> bytes:
    word = 0b110110 << 26 | op.number << 17 | (0 if op.name == "ds_nop" else 0x104)
    for field, register, place in (("addr", 1, 32), ("data0", 2, 40), ("data1", 6, 48), ("vdst", 10, 56)):
        word |= register << place if op[field] else 0
    return _qword(word)


def _flat(op: Opcode, arch: str) -> bytes:
    segment = {"FLAT": 0, "SCRATCH": 1, "GLOBAL": 2}[op.form]
    word = 0b110111 << 26 | op.number << 18 | segment << 14 | 8 | (0x7F << 48 if segment else 0) | 2 << 32
    if segment == 1 and arch != "gfx90a":
        word |= 1 << 13  # the address is a VGPR
    if op["data"]:
        word |= 4 << 40
    if op["vdst"] and "_lds_" not in op.name:
        word |= 8 << 56 | (1 << 16 if "_atomic" in op.name else 0)
    return _qword(word)


def _mubuf(op: Opcode) -> bytes:
    word = 0b111000 << 26 | op.number << 18
    return _qword(word | (16 | 1 << 12 | 2 << 32 | 4 << 40 | 2 << 48 | 128 << 56 if op["srsrc"] else 0))


def _mtbuf(op: Opcode) -> bytes:
    return _qword(
        0b111010 << 26 | op.number << 15 | 0x2A << 19 | 16 | 1 << 12 | 2 << 32 | 4 << 40 | 2 << 48 | 128 << 56
    )


_FORMS: Mapping[str, Callable[[Opcode], bytes]] = {
    "SOP1": _sop1, "SOP2": _sop2, "SOPC": _sopc, "SOPK": _sopk, "SOPP": _sopp, "SMEM": _smem, "VOP1": _vop1,
    "VOP2": _vop2, "VOPC": _vopc, "VOP3": _vop3, "VOP3SD": _vop3, "VOP3P": _vop3p, "VOP3P_MFMA": _mfma,
    "VOP3PX2": _scaled, "DS": _ds, "MUBUF": _mubuf, "MTBUF": _mtbuf,
}  # fmt: skip
