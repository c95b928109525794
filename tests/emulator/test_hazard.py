"""Wait states that the ISA documents ask for: enough of them are silent, one less is found."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import pytest
from step_support import assemble, emulator

from ckgen_emulator.bindings import Wave

pytestmark = pytest.mark.amd

ALL = ("gfx90a", "gfx942", "gfx950")
NEWER = ("gfx942", "gfx950")
DPP = "v_mov_b32_dpp v2, v1 row_mirror row_mask:0xf bank_mask:0xf"
TO_SGPR = "v_readfirstlane_b32 s4, v0"
TO_EXEC = "v_cmpx_eq_f32_e32 vcc, v0, v1"
TO_VCC = "v_cmp_eq_f32_e32 vcc, v0, v1"
TO_VGPR = "v_mov_b32_e32 v1, v0"


@dataclass(frozen=True)
class Case:
    """`states` wait states are needed between the two; 0: none at all."""

    archs: tuple[str, ...]
    states: int
    first: str
    second: str


VECTOR = (
    Case(ALL, 5, TO_SGPR, "buffer_load_dword v3, v2, s[4:7], 0 offen"),
    Case(ALL, 5, TO_SGPR, "global_load_dword v3, v2, s[4:5]"),
    Case(ALL, 0, TO_SGPR, "buffer_load_dword v3, v2, s[8:11], 0 offen"),
    Case(ALL, 0, TO_SGPR, "s_add_u32 s5, s4, s4"),
    Case(ALL, 4, TO_SGPR, "v_readlane_b32 s8, v5, s4"),
    Case(ALL, 4, TO_SGPR, "v_writelane_b32 v5, 3, s4"),
    Case(ALL, 4, TO_VCC, "v_div_fmas_f32 v2, v3, v4, v5"),
    Case(ALL, 5, TO_VCC, "v_mov_b32_e32 v2, src_vccz"),
    Case(ALL, 5, TO_VCC, "v_mad_u32_u24 v2, v3, src_vccz, v4"),
    Case(ALL, 5, TO_VCC, "v_mad_u32_u24 v2, v3, v4, src_vccz"),
    Case(ALL, 5, TO_EXEC, "v_mov_b32_e32 v2, src_execz"),
    Case(ALL, 2, TO_VGPR, DPP),
    Case(ALL, 5, TO_EXEC, DPP),
    Case(NEWER, 2, TO_SGPR, "v_add_u32_e32 v5, s4, v6"),
    Case(NEWER, 2, TO_VCC, "v_mov_b32_e32 v5, vcc_lo"),
    Case(NEWER, 0, TO_VCC, "v_cndmask_b32_e32 v5, v6, v7, vcc"),
    Case(("gfx90a",), 0, TO_SGPR, "v_add_u32_e32 v5, s4, v6"),
    Case(NEWER, 2, TO_EXEC, "v_mov_b32_e32 v5, exec_lo"),
    Case(NEWER, 4, TO_EXEC, "v_readlane_b32 s8, v5, 3"),
    Case(NEWER, 4, TO_EXEC, "v_readfirstlane_b32 s8, v5"),
    Case(NEWER, 1, TO_VGPR, "v_readfirstlane_b32 s8, v1"),
    Case(NEWER, 1, "v_exp_f32_e32 v1, v0", "v_add_f32_e32 v2, v1, v3"),
    Case(NEWER, 0, "v_exp_f32_e32 v1, v0", "v_rcp_f32_e32 v2, v1"),
    Case(("gfx90a",), 0, "v_exp_f32_e32 v1, v0", "v_add_f32_e32 v2, v1, v3"),
    Case(NEWER, 1, "v_add_u32_sdwa v1, v2, v3 dst_sel:WORD_1 dst_unused:UNUSED_PAD src0_sel:DWORD src1_sel:DWORD",
         "v_add_u32_e32 v4, v1, v5"),
    Case(NEWER, 0, "v_add_u32_sdwa v1, v2, v3 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:DWORD",
         "v_add_u32_e32 v4, v1, v5"),
    Case(NEWER, 1, "v_mad_u16 v1, v2, v3, v4 op_sel:[0,0,0,1]", "v_add_u32_e32 v4, v1, v5"),
    Case(NEWER, 1, "v_cvt_sr_fp8_f32 v1, v2, v3 op_sel:[0,0,1,0]", "v_mov_b32_e32 v4, v1"),
    Case(("gfx950",), 2, TO_VGPR, "v_permlane16_swap_b32_e32 v1, v2"),
    Case(("gfx950",), 4, TO_EXEC, "v_permlane32_swap_b32_e32 v5, v6"),
    Case(ALL, 3, "v_dot2_f32_f16 v1, v2, v3, v4", "v_add_f32_e32 v5, v1, v6"),
    Case(ALL, 3, "v_dot2_f32_f16 v1, v2, v3, v4", "v_dot2_f32_f16 v5, v1, v6, v7"),
    Case(ALL, 0, "v_dot2_f32_f16 v1, v2, v3, v4", "v_dot2_f32_f16 v1, v2, v3, v1"),
)  # fmt: skip

SCALAR = (
    Case(ALL, 1, "s_mov_b32 m0, 0", "ds_read_addtid_b32 v1"),
    Case(NEWER, 1, "s_mov_b32 m0, 0", "global_load_lds_dword v[2:3], off"),
    Case(ALL, 2, "s_setreg_b32 hwreg(HW_REG_MODE, 0, 4), s3", "s_getreg_b32 s5, hwreg(HW_REG_MODE)"),
    Case(ALL, 2, "s_setreg_b32 hwreg(HW_REG_MODE, 0, 4), s3", "s_setreg_b32 hwreg(HW_REG_MODE, 4, 2), s3"),
    Case(ALL, 0, "s_setreg_b32 hwreg(HW_REG_MODE, 0, 4), s3", "s_getreg_b32 s5, hwreg(HW_REG_TRAPSTS)"),
    Case(("gfx90a",), 1, "global_store_dwordx4 v[0:1], v[4:7], off", "v_mov_b32_e32 v5, 0"),
    Case(NEWER, 2, "global_store_dwordx4 v[0:1], v[4:7], off", "v_mov_b32_e32 v5, 0"),
    Case(ALL, 0, "global_store_dwordx2 v[0:1], v[4:5], off", "v_mov_b32_e32 v5, 0"),
    Case(NEWER, 2, "buffer_store_dwordx4 v[4:7], off, s[8:11], 0", "v_mov_b32_e32 v7, 0"),
    Case(ALL, 0, "buffer_store_dwordx4 v[4:7], off, s[8:11], s12", "v_mov_b32_e32 v7, 0"),
)

# MFMAs by passes. C: an accumulation that does not start where the result does.
FAST = {
    2: ("v_mfma_f32_4x4x4_16b_f16 v[8:11], v[0:1], v[2:3], v[8:11]", 4),
    4: ("v_mfma_f32_16x16x16_f16 v[8:11], v[0:1], v[2:3], v[8:11]", 4),
    8: ("v_mfma_f32_32x32x8_f16 v[8:23], v[0:1], v[2:3], v[8:23]", 16),
    16: ("v_mfma_f32_32x32x4_2b_f16 v[8:39], v[0:1], v[2:3], v[8:39]", 32),
}
SLOW = {
    2: ("v_mfma_f32_4x4x1_16b_f32 v[8:11], v0, v1, v[8:11]", 4),
    8: ("v_mfma_f32_16x16x4_f32 v[8:11], v0, v1, v[8:11]", 4),
    16: ("v_mfma_f32_32x32x2_f32 v[8:23], v0, v1, v[8:23]", 16),
}
OLDER = {
    2: ("v_mfma_f32_4x4x4f16 v[8:11], v[0:1], v[2:3], v[8:11]", 4),
    8: ("v_mfma_f32_16x16x16f16 v[8:11], v[0:1], v[2:3], v[8:11]", 4),
    16: ("v_mfma_f32_32x32x8f16 v[8:23], v[0:1], v[2:3], v[8:23]", 16),
}
SMALL_F64 = "v_mfma_f64_4x4x4_4b_f64 v[8:9], v[0:1], v[2:3], v[8:9]"
LARGE_F64 = "v_mfma_f64_16x16x4_f64 v[8:15], v[0:1], v[2:3], v[8:15]"

FACTOR = "v_mfma_f32_16x16x16_f16 v[44:47], v[8:9], v[2:3], v[44:47]"
OVERLAPPED = "v_mfma_f32_4x4x4_16b_f16 v[44:47], v[0:1], v[2:3], v[10:13]"
OVERLAPPED_SLOW = "v_mfma_f32_4x4x1_16b_f32 v[44:47], v0, v1, v[10:13]"
OVERLAPPED_F64 = "v_mfma_f64_4x4x4_4b_f64 v[44:45], v[0:1], v[2:3], v[10:11]"
READ = "v_add_f32_e32 v44, v9, v45"
WRITE = "v_mov_b32_e32 v9, v45"
STORE = "ds_write_b32 v44, v9"


def matrix_cases() -> Iterator[Case]:
    """CDNA3 ISA 7.5 and CDNA4 ISA 7.6, "VOP3P-Matrix Opcodes Required NOPs"."""
    for chip, committed, overlapped, overlapped_slow in (
        ("gfx942", {2: 5, 4: 7, 8: 11, 16: 19}, {2: 3, 4: 5, 8: 9, 16: 17}, {2: 3, 4: 5, 8: 9, 16: 17}),
        ("gfx950", {2: 5, 4: 8, 8: 12, 16: 19}, {2: 4, 4: 6, 8: 10, 16: 18}, {2: 3, 4: 6, 8: 10, 16: 18}),
    ):
        for passes, (first, _) in FAST.items():
            for second in (FACTOR, READ, WRITE, STORE):
                yield Case((chip,), committed[passes], first, second)
            yield Case((chip,), overlapped[passes], first, OVERLAPPED)
            yield Case((chip,), overlapped_slow[passes], first, OVERLAPPED_SLOW)
            yield Case((chip,), 2 if passes == 2 else 0, first, first)
    for passes, (first, _) in SLOW.items():
        for second in (FACTOR, READ, WRITE, STORE):
            yield Case(NEWER, passes + 2, first, second)
        yield Case(NEWER, 0, first, OVERLAPPED)
        yield Case(NEWER, passes, first, OVERLAPPED_SLOW)
    for passes, (first, _) in OLDER.items():
        factor = "v_mfma_f32_16x16x16f16 v[44:47], v[8:9], v[2:3], v[44:47]"
        for second in (factor, READ, WRITE, STORE):
            yield Case(("gfx90a",), {2: 5, 8: 11, 16: 19}[passes], first, second)
        same = "v_mfma_f32_4x4x4f16 v[44:47], v[0:1], v[2:3], v[10:13]"
        double = "v_mfma_f64_4x4x4f64 v[44:45], v[0:1], v[2:3], v[10:11]"
        yield Case(("gfx90a",), passes, first, same)
        yield Case(("gfx90a",), passes + 1, first, double)
        yield Case(("gfx90a",), 0, first, first)
    for second, small, large, larger in (
        (SMALL_F64, 4, 9, 17), (OVERLAPPED_F64, 0, 9, 17), (FACTOR, 6, 11, 19), (READ, 6, 11, 19), (WRITE, 6, 11, 11),
        (STORE, 9, 18, 18), (OVERLAPPED, 0, 0, 0),
    ):  # fmt: skip
        yield Case(NEWER, small, SMALL_F64, second)
        yield Case(("gfx942",), large, LARGE_F64, second)
        yield Case(("gfx950",), larger, LARGE_F64, second)
    yield Case(NEWER, 0, LARGE_F64, LARGE_F64)
    for passes, (first, registers) in FAST.items():  # what is accumulated upon lies apart from the result
        apart = first.rpartition("v[8:")[0] + f"v[64:{63 + registers}]"
        yield Case(NEWER, passes - 1, apart, "v_mov_b32_e32 v65, v45")
    yield Case(NEWER, 2, "v_mov_b32_e32 v0, v45", FAST[4][0])
    yield Case(NEWER, 4, TO_EXEC, FAST[4][0])
    narrow = "v_mfma_f32_32x32x64_f8f6f4 v[8:23], v[24:{}], v[32:{}], v[8:23] cbsz:{} blgp:{}"
    yield Case(("gfx950",), 19, narrow.format(31, 35, 1, 4), READ)
    yield Case(("gfx950",), 12, narrow.format(27, 35, 4, 4), READ)
    indexed = "v_smfmac_f32_16x16x32_f16 v[44:47], v[0:1], v[2:5], v9"
    yield Case(("gfx942",), 7, FAST[4][0], indexed)
    yield Case(("gfx950",), 8, FAST[4][0], indexed)


CASES = (*VECTOR, *SCALAR, *matrix_cases())


@cache
def codes(arch: str) -> dict[str, bytes]:
    """The machine code of every line of the arch's cases, in one run of the assembler."""
    lines = list(dict.fromkeys(line for case in CASES if arch in case.archs for line in (case.first, case.second)))
    lines += [f"s_nop {states}" for states in range(16)]
    code = assemble("\n".join(lines) + "\n", arch)
    found = emulator(arch).disassemble(code)
    assert len(found) == len(lines)
    return {line: code[at : at + size] for line, (at, size, _) in zip(lines, found, strict=True)}


def hazards(arch: str, first: str, states: int, second: str) -> list[str]:
    """What is found with so many wait states between."""
    code = codes(arch)
    between = b"".join(code[f"s_nop {part - 1}"] for part in (min(states, 16), states - 16) if part > 0)
    run = emulator(arch).step(code[first] + between + code[second], Wave(lds_bytes=4096))
    assert run.instructions >= 2, run.findings
    return [finding.what for finding in run.findings if finding.rule == "hazard"]


@pytest.mark.parametrize("arch", ALL)
def test_enough_wait_states_are_silent_and_one_less_is_found(arch: str) -> None:
    cases = [case for case in CASES if arch in case.archs]
    assert len(cases) > 30
    for case in cases:
        assert hazards(arch, case.first, case.states, case.second) == [], case
        if case.states:
            found = hazards(arch, case.first, case.states - 1, case.second)
            assert len(found) == 1, case
            assert f"{case.states} wait states needed, {case.states - 1} found" in found[0], (case, found)


def test_instructions_between_count_as_wait_states() -> None:
    between = "v_mov_b32_e32 v6, 0\ns_mov_b32 s20, 0\nv_mov_b32_e32 v7, 0\n"
    load = "global_load_dword v3, v2, s[4:5]"
    for extra, count in (("s_nop 1\n", 0), ("s_nop 0\n", 1)):
        code = assemble(f"{TO_SGPR}\n{between}{extra}{load}\n", "gfx942")
        found = [each for each in emulator("gfx942").step(code, Wave()).findings if each.rule == "hazard"]
        assert len(found) == count


@pytest.mark.parametrize(
    ("between", "count"), [("s_and_b32 s4, s4, 15", 0), ("s_and_b32 s5, s4, 15", 1), ("s_mov_b64 s[4:5], 0", 0)]
)
def test_what_the_scalar_unit_wrote_since_needs_no_wait_states(between: str, count: int) -> None:
    code = assemble(f"{TO_SGPR}\n{between}\nv_add_u32_e32 v5, s4, v6\n", "gfx942")
    found = [each for each in emulator("gfx942").step(code, Wave()).findings if each.rule == "hazard"]
    assert len(found) == count


@pytest.mark.parametrize(
    ("between", "count"),
    [("s_and_saveexec_b64 s[4:5], s[6:7]", 0), ("s_andn1_wrexec_b64 s[4:5], s[6:7]", 0), ("s_mov_b64 exec, s[6:7]", 0),
     ("s_mov_b32 exec_lo, s6", 1), ("s_mov_b64 s[4:5], exec", 1)],
)  # fmt: skip
def test_a_mask_that_the_scalar_unit_wrote_since_needs_no_wait_states(between: str, count: int) -> None:
    code = assemble(f"{TO_EXEC}\n{between}\n{DPP}\n", "gfx942")
    found = [each for each in emulator("gfx942").step(code, Wave()).findings if each.rule == "hazard"]
    assert len(found) == count


def test_an_mfma_waits_for_the_one_before_it() -> None:
    """Four of eight passes each: by then the first one's result is there."""
    products = [f"v_mfma_f32_32x32x8_f16 v[{at}:{at + 15}], v[0:1], v[2:3], 0" for at in (8, 24, 40)]
    code = assemble("\n".join([*products, "v_mov_b32_e32 v4, v8", "v_mov_b32_e32 v5, v40"]) + "\n", "gfx942")
    found = [each for each in emulator("gfx942").step(code, Wave()).findings if each.rule == "hazard"]
    assert [each.instruction for each in found] == ["v_mov_b32_e32 v5, v40"]
    assert "11 wait states needed, 1 found since v_mfma_f32_32x32x8_f16" in found[0].what


@pytest.mark.parametrize(("cbsz", "blgp", "count"), [(0, 0, 0), (0, 4, 0), (4, 1, 0), (4, 4, 1), (2, 2, 1)])
def test_eight_bits_keep_the_matrix_unit_busy_for_twice_the_passes(cbsz: int, blgp: int, count: int) -> None:
    """The second product issues when the unit is free: after eight states, which is what the result needs, or four."""
    registers = (8, 8, 6, 6, 4)  # by format: fp8, bf8, fp6, bf6, fp4
    factors = f"v[24:{23 + registers[cbsz]}], v[32:{31 + registers[blgp]}], 0 cbsz:{cbsz} blgp:{blgp}"
    products = [f"v_mfma_f32_16x16x128_f8f6f4 v[{at}:{at + 3}], {factors}\n" for at in (8, 12)]
    code = assemble("".join(products) + "v_mov_b32_e32 v4, v8\n", "gfx950")
    found = [each.what for each in emulator("gfx950").step(code, Wave()).findings if each.rule == "hazard"]
    assert len(found) == count
    assert all("8 wait states needed, 4 found" in each for each in found)


def test_a_finding_names_the_rule_and_both_instructions() -> None:
    code = assemble("s_nop 0\nv_exp_f32_e32 v1, v0\nv_add_f32_e32 v2, v1, v1\n", "gfx942")
    [found] = emulator("gfx942").step(code, Wave()).findings
    assert (found.rule, found.instruction) == ("hazard", "v_add_f32_e32 v2, v1, v1")
    assert found.what == "a transcendental's result is read: 1 wait states needed, 0 found since v_exp_f32 at 0x4"
