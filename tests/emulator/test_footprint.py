"""Which registers each opcode reads and writes, told by what is found unwritten: all of its operands and no more."""

from __future__ import annotations

import re

import pytest
from encode_support import SKIPPED, Opcode, encode, opcodes
from step_support import emulator, table

from ckgen_emulator.bindings import Wave

pytestmark = pytest.mark.amd

ALL = ("gfx90a", "gfx942", "gfx950")
VECTOR = ("VOP1", "VOP2", "VOP3", "VOP3SD", "VOPC", "VOP3P", "VOP3P_MFMA", "VOP3PX2")
SOURCES = ("src0", "src1", "vsrc1", "src2", "scale_src0", "scale_src1")
DATA = ("data", "vdata")

MOVES = {
    "v_mov_b32", "v_mov_b64", "v_swap_b32", "v_permlane16_swap_b32", "v_permlane32_swap_b32", "v_accvgpr_read_b32",
    "v_accvgpr_write_b32", "v_accvgpr_mov_b32", "v_writelane_b32",
}  # fmt: skip
"""What they copy may be unwritten."""
ACCUMULATES = re.compile(r"v_(mac|fmac|pk_fmac)_|v_dot\d+c_|v_cvt_pkaccum_")


SUMS = {"v_mad_u64_u32", "v_mad_i64_i32"}
"""The upper half of what is added may be unwritten where the lower one is wanted; then that of the result is."""


def dwords(op: Opcode, fields: tuple[str, ...]) -> int:
    return sum((bits + 31) // 32 for field, bits in op.fields.items() if field in fields)


def expected(op: Opcode) -> int:
    """Vector registers that it reads."""
    if op.form not in VECTOR:
        moves = "_store" in op.name or "_atomic" in op.name
        address = {"MUBUF": 1, "MTBUF": 1, "SCRATCH": 1}.get(op.form, 2)  # as the encoding has it
        return address + (dwords(op, DATA) if moves else 0)
    if op.name in MOVES:
        return 0
    count = dwords(op, SOURCES)
    if ACCUMULATES.match(op.name):
        count += dwords(op, ("vdst",))
    if op.name == "v_cndmask_b32" or re.match("v_(addc|subb|subbrev)_co_", op.name):
        count -= 2 if op.form in ("VOP3", "VOP3SD") else 0  # a mask in scalar registers
    if op.name == "v_readlane_b32":
        count -= 1
    if op.name in SUMS:
        count -= 1
    if op.name == "v_pk_mov_b32":
        count = 2  # a half of each pair
    return count


def asked(arch: str, forms: tuple[str, ...]) -> list[Opcode]:
    executed = emulator(arch).opcodes()
    return [op for op in opcodes(table(arch)) if op.form in forms and op.name not in SKIPPED and executed[op.name]]


@pytest.mark.parametrize("arch", ALL)
def test_every_register_that_is_read_has_to_be_written(arch: str) -> None:
    """In all lanes; where a single one is read by its number the lane is named."""
    for op in asked(arch, VECTOR):
        found = emulator(arch).step(encode(op, arch), Wave(), all_written=False).findings
        unwritten = [one for one in found if one.rule == "uninitialised"]
        count = expected(op)
        assert [one.count for one in unwritten] == ([count] if count else []), op.name
        if count and op.form != "VOP3PX2":
            lane = " in lane 0, which is read"
            told = lane if "readlane" in op.name or "readfirstlane" in op.name else " in 64 lanes"
            first = "v6" if not op["src0"] else "v4"
            assert unwritten[0].what == f"{first} was never written{told}", op.name


@pytest.mark.parametrize("arch", ALL)
def test_addresses_and_data_of_memory_instructions(arch: str) -> None:
    """Those of loads too, but not their data."""
    for op in asked(arch, ("MUBUF", "MTBUF", "GLOBAL", "FLAT", "SCRATCH")):
        if not (op["srsrc"] or op["vaddr"] or op["addr"]):
            continue
        found = emulator(arch).step(encode(op, arch), Wave(lds_bytes=4096), all_written=False).findings
        never = [one for one in found if one.what.endswith("was never written in 64 lanes")]
        reads_scratch = op.form == "SCRATCH" and "_load" in op.name and arch != "gfx90a"
        assert [one.count for one in never] == [expected(op) + reads_scratch], op.name
        assert never[0].what.startswith("v2 ")


@pytest.mark.parametrize("arch", ALL)
def test_what_is_written_is_no_longer_unwritten(arch: str) -> None:
    """Every row of the result, and none beside it."""
    for op in asked(arch, VECTOR):
        scalar = op.name in ("v_readlane_b32", "v_readfirstlane_b32") or op.name.startswith("v_cmp")
        if not op["vdst"] or op.name in MOVES | SUMS or scalar or ACCUMULATES.match(op.name):
            continue
        first = 32 if op.form in ("VOP3P_MFMA", "VOP3PX2") else 2
        rows = (op.fields["vdst"] + 31) // 32
        places = {first - 1: False, first: True, first + rows - 1: True, first + rows: False}
        for row, written in places.items():
            if first == 2 and row >= 4:  # a source, of which the instruction itself has told
                continue
            read = (0x7E005700 | 200 << 17 | row).to_bytes(4, "little")  # v_not_b32 v200
            found = emulator(arch).step(encode(op, arch) + read, Wave(), all_written=False).findings
            told = [one for one in found if one.what == f"v{row} was never written in 64 lanes"]
            assert bool(told) == (not written), (op.name, row)
