"""What a workgroup starts with: scalars that its descriptor asks for, work items, modes, and nothing of others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from elf_support import ENDS, Object, descriptor
from memory_support import area
from step_support import assemble, emulator, kernel

from ckgen_emulator.bindings import Options, Run

pytestmark = pytest.mark.amd

POOL = 0xF000FFFF0000
SHOWN = 24
"""Scalars, from s0 on."""


def launched(
    text: str, arch: str, grid: Sequence[int] = (1, 1, 1), block: Sequence[int] = (64, 1, 1), args: bytes = b"",
    options: Options | None = None, **made: object,
) -> Run:  # fmt: skip
    """Runs kernel `k` with these lines."""
    chip = emulator(arch)
    module = chip.load(kernel(text, arch, **made))  # type: ignore[arg-type]
    try:
        return chip.launch(module, "k", grid, block, args, options or Options())
    finally:
        chip.unload(module)


def store(address: int, offset: int, value: str) -> str:
    """One dword there by lane 0, past every register that the descriptor fills."""
    return f"v_mov_b32 v4, {value}\nglobal_store_dword v[2:3], v4, off offset:{offset}\n"


def at(address: int) -> str:
    """Lane 0 alone, with an address in v[2:3]."""
    return f"s_mov_b64 exec, 1\nv_mov_b32 v2, {address & 0xFFFFFFFF:#x}\nv_mov_b32 v3, {address >> 32:#x}\n"


def scalars(arch: str, directives: tuple[str, ...], scratch: int) -> tuple[list[int], set[str]]:
    """What the last workgroup of a grid of 2 x 3 x 4 finds in s0…, and which of them nobody wrote."""
    with area(arch, 4 * SHOWN) as memory:
        text = at(memory.address) + "".join(store(memory.address, 4 * one, f"s{one}") for one in range(SHOWN))
        result = launched(text, arch, (2, 3, 4), args=bytes(8), directives=directives, scratch=scratch,
                          options=Options(most_findings=100))  # fmt: skip
        unwritten = [one for one in result.findings if one.rule == "uninitialised"]
        assert all(one.what.endswith(" was never written") for one in unwritten)
        return memory.bytes.view(np.uint32).tolist(), {one.what.split()[0] for one in unwritten}


EVERY = tuple(
    f"user_sgpr_{one} 1"
    for one in ("private_segment_buffer", "dispatch_ptr", "queue_ptr", "dispatch_id", "flat_scratch_init",
                "private_segment_size")
)  # fmt: skip


def unwritten(*registers: int) -> set[str]:
    return {f"s{one}" for one in registers}


def test_all_that_a_descriptor_may_ask_for() -> None:
    """In its fixed order; a wave of 44 bytes per lane has 3 KiB of scratch, and the buffer's words are ROCR's."""
    found, missing = scalars("gfx90a", (*EVERY, "system_sgpr_private_segment_wavefront_offset 1"), 41)
    buffer = [POOL & 0xFFFFFFFF, POOL >> 32 | 1 << 31, 0xFFFFF000, 0x00EA4FAC]
    assert found[:4] == buffer
    assert missing == unwritten(4, 5, 6, 7, *range(19, SHOWN))  # dispatch and queue, which are not modelled
    assert found[10:12] == [0, 0]  # the dispatch's number
    assert found[12:15] == [POOL & 0xFFFFFFFF, POOL >> 32, 44]
    assert found[15:19] == [1, 2, 3, 3072]


def test_system_scalars_follow_the_users() -> None:
    found, missing = scalars("gfx90a", ("system_sgpr_workgroup_info 1",), 0)
    assert (found[2:6], missing) == ([1, 2, 3, 0], unwritten(*range(6, SHOWN)))
    found, missing = scalars("gfx942", ("user_sgpr_count 8",), 0)
    assert (found[8:11], missing) == ([1, 2, 3], unwritten(*range(2, 8), *range(11, SHOWN)))


@pytest.mark.parametrize("user", [0, 5, 16, 31])
@pytest.mark.parametrize("wanted", range(16))
def test_system_scalars_are_those_that_the_descriptor_names(wanted: int, user: int) -> None:
    """Bits 7 to 10 of its second word: the three numbers of the workgroup, and 0; behind as many as bits 1 to 5 say."""
    words = [value for bit, value in enumerate((1, 2, 3, 0)) if wanted >> bit & 1]
    names = "".join(f"v_mov_b32 v4, s{one}\n" for one in range(40))
    text = names + f"v_mov_b32 v2, 0\nv_mov_b32 v3, 0\nv_mov_b32 v4, s{user}\nglobal_load_dword v4, v[2:3], off"
    made = Object().with_section("text", assemble(text, "gfx942") + ENDS)
    made = made.with_section("rodata", descriptor(rsrc1=63, rsrc2=user << 1 | wanted << 7, rsrc3=63))
    chip = emulator("gfx942")
    module = chip.load(made.bytes())
    result = chip.launch(module, "k", (2, 3, 4), (64, 1, 1), b"", Options(most_findings=100))
    chip.unload(module)
    missing = {one.what.split()[0] for one in result.findings if one.rule == "uninitialised"}
    assert missing == unwritten(*range(40)) - unwritten(*range(user, user + len(words)))


def test_without_scratch_its_scalars_are_nobodys() -> None:
    asked = ("user_sgpr_private_segment_buffer 1", "user_sgpr_flat_scratch_init 1",
             "system_sgpr_private_segment_wavefront_offset 1")  # fmt: skip
    found, missing = scalars("gfx90a", asked, 0)
    assert (found[8:11], missing) == ([1, 2, 3], unwritten(0, 1, 2, 3, 6, 7, *range(11, SHOWN)))


# out[work item] = v0. s[0:1]: out.
ITEMS = """
s_load_dwordx2 s[8:9], s[0:1], 0x0
v_and_b32 v1, 0x3ff, v0
v_bfe_u32 v2, v0, 10, 10
v_bfe_u32 v3, v0, 20, 10
v_mov_b32 v5, {x}
v_mov_b32 v6, {xy}
v_mad_u32_u24 v1, v2, v5, v1
v_mad_u32_u24 v1, v3, v6, v1
v_lshlrev_b32 v1, 2, v1
s_waitcnt lgkmcnt(0)
global_store_dword v1, v0, s[8:9]
"""


@pytest.mark.parametrize("block", [(5, 3, 7), (1, 1, 1), (63, 1, 1), (65, 1, 1), (2, 512, 1), (1, 1, 1024), (16, 8, 8)])
def test_work_items(block: tuple[int, int, int]) -> None:
    """Each once, with its own three numbers; the lanes behind the last are off."""
    x, y, z = block
    items = x * y * z
    with area("gfx942", 4 * 1024) as memory:
        memory.bytes[:] = 0xEE
        args = np.array([memory.address], np.uint64).tobytes()
        result = launched(ITEMS.format(x=x, xy=x * y), "gfx942", block=block, args=args, vgprs=32)
        assert not result.findings and result.counts["waves"] == -(-items // 64)
        assert result.counts["global_written"] == 4 * items
        expected = [i | j << 10 | k << 20 for k in range(z) for j in range(y) for i in range(x)]
        assert memory.bytes.view(np.uint32).tolist() == expected + [0xEEEEEEEE] * (1024 - items)


@pytest.mark.parametrize(
    ("directives", "mode"),
    [
        ((), 0x3C0),
        (("float_round_mode_32 1",), 0x3C1), (("float_round_mode_32 2",), 0x3C2),
        (("float_round_mode_16_64 3",), 0x3CC),
        (("float_denorm_mode_32 1", "float_denorm_mode_16_64 0"), 0x310), (("float_denorm_mode_32 2",), 0x3E0),
        (("float_denorm_mode_32 3", "float_denorm_mode_16_64 2"), 0x3B0), (("dx10_clamp 0",), 0x2C0),
        (("ieee_mode 0",), 0x1C0), (("fp16_overflow 1",), 0x8003C0),
    ],
)  # fmt: skip
def test_modes(directives: tuple[str, ...], mode: int) -> None:
    with area("gfx942", 64) as memory:
        text = "s_getreg_b32 s20, hwreg(HW_REG_MODE, 0, 32)\n" + at(memory.address) + store(memory.address, 0, "s20")
        assert not launched(text, "gfx942", args=bytes(8), directives=directives).findings
        assert int(memory.bytes[:4].view(np.uint32)[0]) == mode


USED = """
v_lshlrev_b32 v1, 2, v0
v_mov_b32 v200, 7
v_accvgpr_write_b32 a100, 7
ds_write_b32 v1, v0
scratch_store_dword off, v0, off offset:4
s_mov_b32 s50, 7
s_mov_b32 m0, 7
s_mov_b64 vcc, 7
s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 8), 0x5a
s_cmp_eq_u32 s50, 7
s_waitcnt vmcnt(0) lgkmcnt(0)
"""

SEEN = """
v_mov_b32 v10, v200
v_accvgpr_read_b32 v11, a100
ds_read_b32 v12, v1 offset:4
scratch_load_dword v13, off, off offset:4
s_waitcnt vmcnt(0) lgkmcnt(0)
s_cselect_b32 s51, 1, 0
s_getreg_b32 s52, hwreg(HW_REG_MODE, 0, 32)
"""


def test_nothing_passes_from_workgroup_to_workgroup() -> None:
    """Where one follows the other in the same place: registers, LDS, scratch, modes."""
    names = ["v10", "v11", "v12", "v13", "s50", "s51", "m0", "vcc_lo", "s52"]
    with area("gfx942", 8 * 64) as memory:
        start = "v_lshlrev_b32 v1, 2, v0\n" + SEEN
        stores = "".join(store(memory.address, 4 * one, name) for one, name in enumerate(names))
        offset = "s_lshl_b32 s60, s2, 6\nv_add_u32 v2, s60, v2\n"
        text = start + at(memory.address) + offset + stores + "s_mov_b64 exec, -1\n" + USED
        options = Options(checked=False)
        launched(text, "gfx942", (8, 1, 1), args=bytes(8), lds=1024, scratch=16, vgprs=512, options=options)
        found = memory.bytes.view(np.uint32).reshape(8, 16)[:, : len(names)]
        assert found.tolist() == [[0] * 8 + [0x3C0]] * 8


def test_what_one_workgroup_wrote_to_lds_another_has_not() -> None:
    """Nor has it loads under way, registers that are filled, or anything that races."""
    text = """
    v_lshlrev_b32 v1, 2, v0
    s_load_dwordx2 s[20:21], s[0:1], 0x0
    s_cmp_lg_u32 s2, 0
    s_cbranch_scc1 later
    ds_write_b32 v1, v0
    ds_write_b8 v1, v0 offset:512
    s_mov_b32 m0, 0x400
    s_waitcnt lgkmcnt(0)
    global_load_lds_dword v1, s[20:21]
    ds_read_b32 v2, v1
    s_endpgm
    later:
    s_cmp_lg_u32 s2, 1
    s_cbranch_scc1 last
    ds_read_b32 v3, v1
    ds_read_u8 v4, v1 offset:512
    s_waitcnt lgkmcnt(0)
    global_load_dword v5, v1, s[20:21]
    s_waitcnt vmcnt(0)
    ds_read_b32 v6, v1 offset:1024
    s_endpgm
    last:
    ds_write_b32 v1, v0
    ds_write_b32 v1, v0 offset:1024
    v_mov_b32 v2, 0
    """
    with area("gfx942", 256) as memory:
        args = np.array([memory.address], np.uint64).tobytes()
        result = launched(text, "gfx942", (3, 1, 1), args=args, lds=2048)
        assert [(one.rule, one.group, one.what) for one in result.findings] == [
            ("uninitialised", (1, 0, 0), "LDS byte 0x0 is read, and nothing has written it"),
            ("uninitialised", (1, 0, 0), "LDS byte 0x200 is read, and nothing has written it"),
            ("uninitialised", (1, 0, 0), "LDS byte 0x400 is read, and nothing has written it"),
        ]


def test_a_finding_says_who_and_where() -> None:
    """Workgroup, wave and lane of the first that does it, the instruction with its address, and how often."""
    text = """
    v_readfirstlane_b32 s10, v0
    s_cmp_lt_u32 s10, 64
    s_cbranch_scc1 done
    s_add_u32 s11, s2, s3
    s_add_u32 s11, s11, s4
    s_cmp_lt_u32 s11, 4
    s_cbranch_scc1 done
    s_mov_b64 exec, 0x80
    v_mov_b32 v2, 16
    v_mov_b32 v3, 0
    global_load_dword v4, v[2:3], off
    done:
    """
    result = launched(text, "gfx942", (2, 3, 4), (192, 1, 1), bytes(8), max_workgroup=256, vgprs=64)
    [found] = result.findings
    assert (found.rule, found.group, found.wave, found.lane) == ("out_of_bounds", (1, 2, 1), 1, 7)
    groups = sum(x + y + z >= 4 for x in range(2) for y in range(3) for z in range(4))
    assert (found.instruction, found.count) == ("global_load_dword v4, v[2:3], off", 2 * groups)
    code = assemble(text, "gfx942")
    [offset] = [at for at, _, line in emulator("gfx942").disassemble(code) if line == found.instruction]
    assert found.address % 256 == offset % 256


def test_so_many_findings_are_kept() -> None:
    """Then the launch ends. Each instruction counts by rule."""
    text = "\n".join(f"s_mov_b32 s90, s{one}" for one in range(20, 42))
    for most in (1, 5, 20):
        result = launched(text, "gfx942", args=bytes(8), options=Options(most_findings=most))
        assert [one.what for one in result.findings] == [f"s{one} was never written" for one in range(20, 20 + most)]
    assert len(launched(text, "gfx942", args=bytes(8), options=Options(most_findings=0)).findings) == 20
    again = launched("s_mov_b32 s90, s20\ns_mov_b32 s90, s20\n", "gfx942", (3, 1, 1), args=bytes(8))
    assert [(one.what, one.count) for one in again.findings] == [("s20 was never written", 3)]
