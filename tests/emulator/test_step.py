"""The loop over instructions: classes that are counted, jumps and conditions, hardware registers, what ends a wave."""

from __future__ import annotations

import random

import pytest
from memory_support import area, wave, wave_at
from step_support import assemble, emulator

from ckgen_emulator.bindings import CLASSES, EXEC, M0, VCC, Finding, Options, Run, Wave

pytestmark = pytest.mark.amd

ARCH = "gfx942"
MODELLED = 0x108003FF
"""Bits of MODE that mean something."""


def run(text: str | bytes, state: Wave | None = None, *, checked: bool = True) -> Run:
    code = text if isinstance(text, bytes) else assemble(text, ARCH)
    return emulator(ARCH).step(code, state or Wave(lds_bytes=256), Options(checked=checked))


def only(result: Run) -> Finding:
    [finding] = result.findings
    return finding


COUNTED = {
    "scalar": ("s_mov_b32 s20, 0", "s_add_u32 s20, s20, s20", "s_cmp_eq_u32 s20, s20", "s_movk_i32 s20, 5"),
    "vector": ("v_mov_b32 v20, 0", "v_add_u32 v20, v20, v20", "v_cmp_eq_u32 vcc, v20, v20",
               "v_fma_f32 v20, v20, v20, v20", "v_pk_add_f16 v20, v20, v20", "v_readfirstlane_b32 s20, v20",
               "v_add_co_u32_e64 v20, s[20:21], v20, v20", "v_accvgpr_write_b32 a0, v20"),
    "matrix": ("v_mfma_f32_4x4x4_16b_f16 v[24:27], v[20:21], v[22:23], 0",),
    "scalar_memory": ("s_load_dword s20, s[8:9], 0", "s_memtime s[20:21]", "s_dcache_inv"),
    "vector_memory": ("global_load_dword v20, v[2:3], off", "flat_load_dword v20, v[2:3]", "buffer_wbl2 sc1",
                      "buffer_load_dword v20, off, s[8:11], 0", "scratch_store_dword off, v20, off"),
    "lds": ("ds_read_b32 v20, v0", "ds_bpermute_b32 v20, v0, v0", "ds_nop"),
    "control": ("s_nop 0", "s_waitcnt vmcnt(0)", "s_branch 0", "s_sleep 1"),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in COUNTED.items() for text in texts])
def test_classes(kind: str, text: str) -> None:
    """Each instruction once, and the end."""
    with area(ARCH, 64) as memory:
        state = wave_at(memory)
        for times in (1, 3):
            found = run((text + "\ns_nop 15\ns_nop 15\n") * times, state, checked=times == 1)
            expected = dict.fromkeys(CLASSES, 0) | {"control": 1 + 2 * times}
            expected[kind] += times
            assert found.by_class == expected and found.instructions == 1 + 3 * times


CONDITIONS = {
    "s_cbranch_scc0": lambda scc, vcc, exec_mask: not scc,
    "s_cbranch_scc1": lambda scc, vcc, exec_mask: scc,
    "s_cbranch_vccz": lambda scc, vcc, exec_mask: vcc == 0,
    "s_cbranch_vccnz": lambda scc, vcc, exec_mask: vcc != 0,
    "s_cbranch_execz": lambda scc, vcc, exec_mask: exec_mask == 0,
    "s_cbranch_execnz": lambda scc, vcc, exec_mask: exec_mask != 0,
    "s_branch": lambda scc, vcc, exec_mask: True,
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_conditions(name: str) -> None:
    """Every bit of a mask is one; forwards, and to the end of the code."""
    for scc in (0, 1):
        for vcc in (0, 1, 1 << 31, 1 << 32, 1 << 63):
            for exec_mask in (0, 1, 1 << 31, 1 << 32, 1 << 63):
                state = Wave()
                state.scc, state.exec_mask = scc, exec_mask
                state.set_pair(VCC, vcc)
                run(f"{name} over\ns_mov_b32 s20, 7\ns_mov_b32 s21, 7\nover:\n", state)
                went = CONDITIONS[name](scc, vcc, exec_mask)
                assert state.scalars[20:22].tolist() == ([0, 0] if went else [7, 7])


def test_jumps_and_what_they_remember() -> None:
    """A program counter is the address behind the instruction."""
    text = """
    s_getpc_b64 s[20:21]
    s_call_b64 s[22:23], there
    s_mov_b32 s30, 1
    s_add_u32 s24, s20, 40
    s_mov_b32 s25, s21
    s_swappc_b64 s[26:27], s[24:25]
    s_mov_b32 s31, 2
    s_endpgm
    there:
    s_mov_b32 s32, 3
    s_setpc_b64 s[22:23]
    s_mov_b32 s33, 4
    s_mov_b32 s34, 5
    s_setpc_b64 s[26:27]
    """
    code = assemble(text, ARCH)
    places = {line: at for at, _, line in emulator(ARCH).disassemble(code)}
    state = Wave()
    result = run(code, state)
    assert places["s_mov_b32 s34, 5"] == 44
    assert result.findings == ()
    assert [int(one) for one in state.scalars[20:24]] == [4, 0, 8, 0]
    assert state.scalars[30:35].tolist() == [1, 2, 3, 0, 5]
    assert state.pair(26) == places["s_mov_b32 s31, 2"]


@pytest.mark.parametrize("target", [-4, 2, 6, 1 << 20, 1 << 32, 2**64 - 4, 8, 24])
def test_jumps_to_where_nothing_begins(target: int) -> None:
    """Behind a literal, between dwords, before the code and beyond its end."""
    state = Wave()
    state.set_pair(20, target)
    found = only(run("s_nop 0\ns_mov_b32 s30, 0x12345678\ns_setpc_b64 s[20:21]\ns_mov_b32 s31, 7", state))
    assert (found.rule, found.what) == ("bad_code", "a jump to where no instruction begins")
    assert (found.address, found.lane, state.scalars[31]) == (12, -1, 0)


@pytest.mark.parametrize("distance", [-3, 2, 100, -32768, 32767])
def test_branches_to_where_nothing_begins(distance: int) -> None:
    found = only(run(f"s_nop 0\ns_branch {distance}"))
    assert (found.rule, found.address) == ("bad_code", 4)


def test_code_ends_where_no_instruction_begins() -> None:
    state = Wave()
    found = only(
        run(assemble("s_mov_b32 s20, 1", ARCH) + b"\xff\xff\xff\xff" + assemble("s_mov_b32 s21, 1", ARCH), state)
    )
    assert (found.rule, found.what, found.address) == ("bad_code", "no instruction begins here", 4)
    assert state.scalars[20:22].tolist() == [1, 0]


@pytest.mark.parametrize("text", ["s_trap 1", "s_sendmsg sendmsg(MSG_INTERRUPT)", "s_sethalt 1"])
def test_what_is_refused_ends_the_wave(text: str) -> None:
    state = Wave()
    found = only(run(f"{text}\ns_mov_b32 s20, 1", state))
    assert (found.rule, found.what) == ("unsupported", f"{text.split()[0]} is not executed")
    assert state.scalars[20] == 0


def test_an_endless_loop_ends() -> None:
    assert run("again:\ns_branch again", checked=False).instructions == 1 << 20


def test_every_field_of_mode_is_read_and_written() -> None:
    """By any shift and size; other bits stay, and those that are not modelled are 0."""
    dice = random.Random(3)
    reads = int.from_bytes(assemble("s_getreg_b32 s20, hwreg(HW_REG_MODE, 0, 1)", ARCH), "little") & ~0xFFFF
    writes = int.from_bytes(assemble("s_setreg_b32 hwreg(HW_REG_MODE, 0, 1), s21", ARCH), "little") & ~0xFFFF
    literal = int.from_bytes(assemble("s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 1), 0x1", ARCH)[:4], "little") & ~0xFFFF
    nops = assemble("s_nop 3", ARCH)
    for shift in range(32):
        for size in (1, 2, 4, 8, 31, 32):
            field = 1 | shift << 6 | size - 1 << 11
            mask = ((1 << size) - 1) << shift & 0xFFFFFFFF
            state = Wave()
            state.mode = before = dice.randrange(1 << 28) & MODELLED
            value = dice.randrange(1 << 32)
            state.scalars[21] = value
            assert not run((reads | field).to_bytes(4, "little") + nops, state).findings
            assert state.scalars[20] == (before & mask) >> shift
            expected = (before & ~mask | value << shift & mask) & MODELLED
            by_literal = (literal | field).to_bytes(4, "little") + value.to_bytes(4, "little")
            for code in ((writes | field).to_bytes(4, "little"), by_literal):
                state.mode = before
                assert not run(code + nops, state).findings
                assert state.mode == expected, (shift, size)


@pytest.mark.parametrize("scc", [0, 1])
def test_other_hardware_registers(scc: int) -> None:
    state = Wave()
    state.scc, state.scalars[20], state.mode = scc, 9, 0x3C0
    text = "s_getreg_b32 s20, hwreg(HW_REG_STATUS)\ns_getreg_b32 s21, hwreg(HW_REG_XCC_ID)"
    assert not run(text, state).findings
    assert state.scalars[20:22].tolist() == [scc, 0]
    for line in ("s_setreg_b32 hwreg(HW_REG_STATUS), s20", "s_setreg_imm32_b32 hwreg(HW_REG_STATUS), 0xff"):
        found = only(run(line, state))
        assert (found.rule, found.what) == ("unsupported", "hardware register 2 is not written")
        assert (state.scc, state.mode) == (scc, 0x3C0)


def test_m0_holds_the_index() -> None:
    """Its bits 7:0 and its mode in 15:12; the others stay."""
    for m0 in (0, 0xFFFFFFFF):
        for index in (0, 0x1A5, 0xFFFFFFFF):
            for line, expected in (
                ("s_set_gpr_idx_on s20, gpr_idx(SRC1,DST)", m0 & 0xFFFF0F00 | index & 0xFF | 0xA000),
                ("s_set_gpr_idx_on s20, gpr_idx()", m0 & 0xFFFF0F00 | index & 0xFF),
                ("s_set_gpr_idx_mode gpr_idx(SRC0,SRC2)", m0 & 0xFFFF0FFF | 0x5000),
                ("s_set_gpr_idx_idx s20", m0 & 0xFFFFFF00 | index & 0xFF),
                ("s_set_gpr_idx_off", m0),
            ):
                state = Wave()
                state.scalars[20], state.scalars[M0] = index, m0
                assert not run(line, state).findings
                assert state.scalars[M0] == expected, line


@pytest.mark.parametrize("bit", [0, 1, 15, 31, 32, 33, 63])
def test_vskip_takes_one_bit(bit: int) -> None:
    for value in (0, 1 << bit % 32, 0xFFFFFFFF ^ 1 << bit % 32, 0xFFFFFFFF):
        state = Wave()
        state.scalars[20], state.scalars[21] = value, bit
        run("s_setvskip s20, s21", state)
        assert state.mode >> 28 == value >> bit % 32 & 1


def test_registers_come_back_as_they_were() -> None:
    state = wave()
    state.scalars[:] = range(1, 129)
    state.set_pair(EXEC, 5)
    state.mode, state.scc = MODELLED & ~(1 << 28), 1
    vectors, lds = state.vectors.copy(), state.lds.copy()
    result = run(b"", state)
    assert result.instructions == 1 and result.counts["groups"] == result.counts["waves"] == result.occupancy == 1
    assert state.scalars[:126].tolist() == list(range(1, 127)) and state.pair(EXEC) == 5
    assert (state.vectors == vectors).all() and (state.lds == lds).all()
    assert (state.mode, state.scc) == (MODELLED & ~(1 << 28), 1)
