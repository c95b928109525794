"""What the decoder takes for an instruction, and what it does not."""

from __future__ import annotations

import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from encode_support import SKIPPED, Opcode, encode, opcodes
from hypothesis import given, settings
from hypothesis import strategies as st
from step_support import CHIPS, assemble, emulator, table

from amd_support import amd_toolchain
from ckgen.model.errors import UsageError
from ckgen.specs.archs import load_arch
from ckgen_emulator.bindings import Emulator
from ckgen_emulator.chip_isa import absent
from examples import examples

pytestmark = pytest.mark.amd

ARCHS = ("gfx90a", "gfx942", "gfx950")


def refused(lines: list[str], arch: str) -> list[bool]:
    """Whether the assembler refuses each line for this chip."""
    with TemporaryDirectory() as name:
        (Path(name) / "k.s").write_text("\n".join([*lines, ""]), encoding="utf-8")
        command = (*amd_toolchain().assemble(arch), "-ferror-limit=0", "-o", "k.o", "k.s")
        done = subprocess.run(command, cwd=name, capture_output=True, text=True, check=False)
    return [f"k.s:{line + 1}:" in done.stderr for line in range(len(lines))]


def newest() -> dict[tuple[str, int], Opcode]:
    return {(op.form, op.number): op for op in opcodes(table("gfx950")) if op.name not in SKIPPED}


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942"])
def test_opcodes_of_later_chips_are_no_instructions_and_the_assembler_agrees(arch: str) -> None:
    here = {(op.form, op.number): op.name for op in opcodes(table(arch))}
    lacking = [op for key, op in newest().items() if key not in here]
    assert len(lacking) > 90
    assert {(op.form, op.number) for op in lacking} <= {
        (form, number) for form in {op.form for op in lacking} for number in absent(load_arch(arch).family, form)
    }
    texts = []
    for op in lacking:
        code = encode(op, "gfx950")
        if not op.form.startswith("VOP3P"):  # else: there the same number may be another's
            assert emulator(arch).disassemble(code) == [], op.name
        texts.append(emulator("gfx950").disassemble(code)[0][2])
    allowed = [text for text, no in zip(texts, refused(texts, arch), strict=True) if not no]
    assert allowed == []


@settings(max_examples=examples(300))
@given(st.binary(max_size=256), st.sampled_from(ARCHS))
def test_any_bytes_decode_to_contiguous_instructions(data: bytes, arch: str) -> None:
    at = 0
    for address, size, text in emulator(arch).disassemble(data):
        assert address == at and size in (4, 8, 12, 16)
        assert emulator(arch).disassemble(data[at : at + size]) == [(0, size, text)]
        at += size
    assert at <= len(data)


@pytest.mark.parametrize(
    "line",
    [
        "s_mov_b32 s0, 0x12345678",
        "v_mov_b32_dpp v0, v1 row_mirror row_mask:0xf bank_mask:0xf",
        "v_fma_f32 v0, v1, v2, v3",
        "v_fmaak_f32 v0, v1, v2, 0x12345678",
        "s_setreg_imm32_b32 hwreg(HW_REG_MODE), 0x3",
        "s_load_dword s0, s[2:3], 0x0",
        "v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[12:19], v[0:3], v20, v21",
    ],
)
def test_an_instruction_that_is_cut_short_is_none(line: str) -> None:
    code = assemble(line, "gfx950")
    assert len(emulator("gfx950").disassemble(code)) == 1
    for size in range(0, len(code), 4):
        assert emulator("gfx950").disassemble(code[:size]) == []


@pytest.mark.parametrize(("line", "bit"), [("buffer_load_dword v3, v2, s[8:11], 0 offen", 25), ("buffer_wbl2 sc1", 25)])
def test_a_bit_that_no_field_has_is_not_looked_at(line: str, bit: int) -> None:
    code = int.from_bytes(assemble(line, "gfx942"), "little") | 1 << bit
    assert [text for _, _, text in emulator("gfx942").disassemble(code.to_bytes(8, "little"))] == [line]


def test_a_product_of_f8f6f4_is_not_scaled_by_what_lies_before_it() -> None:
    product = "v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[4:11], v[12:19], v[0:3]"
    lines = ["v_fma_f32 v0, v1, v2, v3", product]
    code = assemble("\n".join(lines), "gfx950")
    assert [text for _, _, text in emulator("gfx950").disassemble(code)] == lines


def test_the_registers_of_a_factor_follow_its_format() -> None:
    lines = [
        f"v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[8:{8 + a - 1}], v[16:{16 + b - 1}], v[0:3]{cbsz}{blgp}"
        for a, cbsz in ((8, ""), (8, " cbsz:1"), (6, " cbsz:2"), (6, " cbsz:3"), (4, " cbsz:4"))
        for b, blgp in ((8, ""), (8, " blgp:1"), (6, " blgp:2"), (6, " blgp:3"), (4, " blgp:4"))
    ]
    code = assemble("\n".join(lines), "gfx950")
    assert [text for _, _, text in emulator("gfx950").disassemble(code)] == lines


@pytest.mark.parametrize(
    "line",
    [
        "",
        "SOP1 0 s_mov_b32",
        "chip gfx942 76 cdna3 fnuz 32 512 512 8",
        "chip gfx942 76 cdna3 fnuz 32 512 512 8 0",
        "chip gfx942 76 cdna3 fnuz 32 512 512 8 8 8",
        "chip gfx942 76 cdna9 fnuz 32 512 512 8 8",
        "chip gfx942 x cdna3 fnuz 32 512 512 8 8",
    ],
)
def test_a_table_begins_with_its_chip(line: str) -> None:
    with pytest.raises(UsageError, match="opcode table, line 1"):
        Emulator(CHIPS["gfx942"], f"{line}\n{table('gfx942').partition(chr(10))[2]}")


def test_the_first_opcode_that_vop3_alone_has_is_told_without_a_suffix() -> None:
    """448; those below are other formats' own, of which `_e64` tells this one."""
    lines = ["v_mad_legacy_f32 v1, v2, v3, v4", "v_mad_f32 v1, v2, v3, v4", "v_add_f32_e64 v1, v2, v3"]
    assert [text for _, _, text in emulator("gfx90a").disassemble(assemble("\n".join(lines), "gfx90a"))] == lines
