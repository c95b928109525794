"""Scratch of gfx90a: a buffer that the launch gives, swizzled by lanes, and each wave's own part of it."""

from __future__ import annotations

import re

import numpy as np
import pytest
from memory_support import area, rules
from numpy.typing import NDArray
from private_segment_support import ARCH, BUFFER, OWN, WAIT, WITH_FLAT, run, said
from step_support import kernel, launch

from ckgen.model.errors import UsageError
from ckgen_emulator.bindings import LANES, Options

pytestmark = pytest.mark.amd

# Writes v20 and v21 to out[work item of the launch], for workgroups of two waves.
REPORT = """
s_load_dwordx2 s[20:21], s[4:5], 0x0
s_lshl_b32 s22, s6, 7
v_add_u32 v1, s22, v0
v_lshlrev_b32 v1, 3, v1
s_waitcnt vmcnt(0) lgkmcnt(0)
global_store_dwordx2 v1, v[20:21], s[20:21]
"""


def reported(
    text: str, scratch: int, *, directives: tuple[str, ...] = BUFFER, grid: int = 1, options: Options | None = None
) -> NDArray[np.uint32]:
    """v20 and v21 of each work item in workgroups of 128; no findings."""
    with area(ARCH, grid * 128 * 8) as memory:
        report = REPORT if directives == BUFFER else REPORT.replace("s6", "s8")
        result = run(
            text + report, scratch, directives=directives, grid=grid, block=128, out=memory.address, options=options
        )
        assert not result.findings
        return memory.bytes.view(np.uint32).reshape(-1, 2).copy()


# Every work item of the launch has its own number in v2; v3 is 1000 more.
NUMBERS = """
s_lshl_b32 s22, s6, 7
v_add_u32 v2, s22, v0
v_add_u32 v3, 0x3e8, v2
"""


@pytest.mark.parametrize("scratch", [8, 132, 1024])
@pytest.mark.parametrize(
    "options", [Options(), Options(checked=False), Options(seed=1), Options(seed=2, threads=2), Options(turn=3)]
)
def test_every_wave_has_its_own_spills(scratch: int, options: Options) -> None:
    """As compilers address it: by the immediate; by a frame in SOFFSET, which counts all lanes; by a VGPR."""
    last = scratch - 4
    text = f"""
    {OWN}{NUMBERS}
    v_mov_b32 v4, {last}
    s_mov_b32 s10, {64 * last}
    buffer_store_dword v2, off, s[0:3], 0
    buffer_store_dword v3, off, s[0:3], s10
    s_barrier
    buffer_load_dword v20, off, s[0:3], 0
    buffer_load_dword v21, v4, s[0:3], 0 offen
    """
    found = reported(text, scratch, grid=9, options=options)
    items = np.arange(9 * 128)
    np.testing.assert_array_equal(found, np.stack([items, items + 1000], axis=1))


@pytest.mark.parametrize("options", [Options(turn=1), Options(seed=3), Options(turn=1, threads=2)])
def test_waves_that_run_at_once_have_different_offsets(options: Options) -> None:
    """In whole KiB, and none at the start of the pool."""
    text = "v_mov_b32 v20, s9\nv_mov_b32 v21, s6\n"
    found = reported(text, 132, grid=9, options=options).reshape(-1, LANES, 2)
    assert (found == found[:, :1]).all()
    offsets = found[:, 0, 0].tolist()
    assert all(one > 0 and one % 1024 == 0 for one in offsets)
    gaps = np.diff(sorted(set(offsets)))
    assert (gaps >= 132 * LANES).all()
    if options.turn:
        assert len(gaps) == 9 * 2 - 1


def test_dwords_of_one_private_address_lie_side_by_side() -> None:
    """SOFFSET is not swizzled: 4 bytes on is the next lane's dword, and behind the last lane's the next address."""
    text = f"""
    {OWN}{NUMBERS}
    s_mov_b32 s10, 4
    buffer_store_dword v2, off, s[0:3], 0 offset:8
    buffer_store_dword v3, off, s[0:3], 0 offset:12
    {WAIT}
    buffer_load_dword v20, off, s[0:3], s10 offset:8
    buffer_load_dword v21, off, s[0:3], 0 offset:12
    """
    found = reported(text, 16).reshape(2, LANES, 2)
    for wave, of_wave in enumerate(found):
        items = np.arange(LANES) + LANES * wave
        assert of_wave[:, 0].tolist() == [*items[1:], items[0] + 1000]
        assert of_wave[:, 1].tolist() == (items + 1000).tolist()


def test_a_buffer_without_swizzle_sees_all_lanes() -> None:
    """Lane l's dword at the private address a is 256 * a / 4 + 4 * l bytes from where the wave's scratch begins."""
    text = f"""
    {OWN}{NUMBERS}
    buffer_store_dword v2, off, s[0:3], 0 offset:8
    buffer_store_short v3, off, s[0:3], 0 offset:10
    buffer_store_byte v3, off, s[0:3], 0 offset:8
    {WAIT}
    s_mov_b64 s[12:13], s[0:1]
    s_bitset0_b32 s13, 31
    s_mov_b32 s14, s2
    s_mov_b32 s15, 0x00020000
    v_and_b32 v4, 63, v0
    v_lshlrev_b32 v4, 2, v4
    v_sub_u32 v5, 0xfc, v4
    buffer_load_dword v20, v5, s[12:15], 0 offen offset:512
    buffer_load_ubyte v21, v5, s[12:15], 0 offen offset:512
    """
    found = reported(text, 16).reshape(2, LANES, 2)
    for wave, of_wave in enumerate(found):
        item = LANES * wave + np.arange(LANES)[::-1]
        low = (item + 1000) & 0xFF
        assert of_wave[:, 0].tolist() == ((item + 1000) << 16 | item & 0xFF00 | low).tolist()
        assert of_wave[:, 1].tolist() == low.tolist()


def test_an_index_is_added_to_the_lane() -> None:
    text = f"""
    {OWN}{NUMBERS}
    buffer_store_dword v2, off, s[0:3], 0 offset:4
    {WAIT}
    v_mov_b32 v20, 7
    v_mov_b32 v21, 7
    v_mov_b32 v5, 3
    s_mov_b64 exec, 0xffff
    buffer_load_dword v20, v5, s[0:3], 0 idxen offset:4
    s_mov_b64 exec, -1
    """
    found = reported(text, 8)[:, 0].reshape(2, LANES)
    for wave, of_wave in enumerate(found):
        assert of_wave.tolist() == [LANES * wave + lane + 3 if lane < 16 else 7 for lane in range(LANES)]


@pytest.mark.parametrize("checked", [True, False])
@pytest.mark.parametrize(
    ("text", "what"),
    [
        (f"{OWN}buffer_store_dword v0, off, s[0:3], 0 offset:16", "4 bytes at 1024 of this wave's 1024 bytes"),
        (f"{OWN}buffer_load_dword v1, off, s[0:3], 0 offset:16", "4 bytes at 1024 of this wave's 1024 bytes"),
        (f"{OWN}v_mov_b32 v1, -4\nbuffer_store_dword v0, v1, s[0:3], 0 offen", "4 bytes beyond the 4294963200"),
        (f"{OWN}s_sub_u32 s0, s0, 4\nbuffer_store_dword v0, off, s[0:3], 0", "4 bytes at -4 of this wave's 1024"),
        ("buffer_store_dword v0, off, s[0:3], 0", "4 bytes at -1024 of this wave's 1024 bytes"),
        (f"{OWN}{OWN}buffer_store_dword v0, off, s[0:3], 0", "4 bytes at 1024 of this wave's 1024 bytes"),
    ],
)
def test_what_is_not_the_waves_own_is_out_of_bounds(text: str, what: str, checked: bool) -> None:
    result = run(text + "\n" + WAIT, 16, options=Options(checked=checked))
    assert what in said(result, "out_of_bounds")
    assert result.findings[0].lane == 0


def test_a_segment_need_not_fill_its_last_dword() -> None:
    text = f"{OWN}buffer_store_short v0, off, s[0:3], 0 offset:4\nbuffer_store_byte v0, off, s[0:3], 0 offset:6\n{WAIT}"
    assert "1 bytes at 6 of a private segment of 6 bytes" in said(run(text, 6), "out_of_bounds")


def test_the_carry_of_the_waves_offset_counts() -> None:
    """The pool's upper address word is not that of every wave."""
    store = "buffer_store_dword v0, off, s[0:3], 0\n" + WAIT
    assert not run(OWN + store, 1024).findings
    assert "out_of_bounds" in rules(run(OWN.partition("\n")[0] + "\n" + store, 1024))


def test_what_nothing_has_written_is_found() -> None:
    text = f"""
    {OWN}
    buffer_store_dword v0, off, s[0:3], 0
    buffer_store_byte v0, off, s[0:3], 0 offset:4
    {WAIT}
    buffer_load_ushort v1, off, s[0:3], 0 offset:4
    {WAIT}
    """
    assert said(run(text, 8), "uninitialised") == "nothing has written byte 5 of this lane's private segment"
    assert not run(text, 8, options=Options(checked=False)).findings


def test_what_the_neighbour_has_not_written_is_found() -> None:
    text = f"""
    {OWN}
    s_mov_b32 s10, 4
    s_mov_b64 exec, 1
    buffer_store_dword v0, off, s[0:3], 0
    {WAIT}
    buffer_load_dword v1, off, s[0:3], s10
    {WAIT}
    """
    assert said(run(text, 8), "uninitialised") == "nothing has written byte 0 of lane 1's private segment"


def test_scratch_does_not_pass_from_workgroup_to_workgroup() -> None:
    text = f"""
    {OWN}
    s_cmp_lg_u32 s6, 0
    s_cbranch_scc1 later
    buffer_store_dword v0, off, s[0:3], 0
    later:
    {WAIT}
    buffer_load_dword v1, off, s[0:3], 0
    {WAIT}
    """
    assert not run(text, 8).findings
    result = run(text, 8, grid=2)
    assert "nothing has written byte 0" in said(result, "uninitialised")
    assert tuple(result.findings[0].group) == (1, 0, 0)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("buffer_store_dwordx2 v[2:3], off, s[0:3], 0", "in dwords or less"),
        ("buffer_load_dwordx4 v[4:7], off, s[0:3], 0", "in dwords or less"),
        ("buffer_atomic_add v2, off, s[0:3], 0", "neither atomics nor loads to LDS"),
        ("s_mov_b32 m0, 0\nbuffer_load_dword off, s[0:3], 0 lds", "neither atomics nor loads to LDS"),
    ],
)
def test_forms_that_the_buffer_does_not_take_are_not_executed(text: str, what: str) -> None:
    moves = "\n".join(f"v_mov_b32 v{row}, 0" for row in range(2, 8))
    assert what in said(run(f"{OWN}{moves}\n{text}\n{WAIT}", 32), "unsupported")


def test_what_is_not_aligned_is_found() -> None:
    assert rules(run(f"{OWN}buffer_store_dword v0, off, s[0:3], 0 offset:2\n{WAIT}", 32)) == ["misaligned"]


FLAT = """
s_add_u32 s0, s0, s11
s_addc_u32 s1, s1, 0
s_add_u32 flat_scratch_lo, s6, s11
s_addc_u32 flat_scratch_hi, s7, 0
v_mov_b32 v2, v0
v_mov_b32 v3, 5
"""


def test_flat_and_scratch_instructions_see_the_same_bytes() -> None:
    text = f"""
    {FLAT}
    s_mov_b64 s[12:13], src_private_base
    v_mov_b32 v4, 12
    v_mov_b32 v5, s13
    s_mov_b32 s14, 0
    buffer_store_dword v2, off, s[0:3], 0 offset:8
    scratch_store_dword off, v3, s14 offset:12
    {WAIT}
    scratch_load_dword v20, off, s14 offset:8
    flat_load_dword v21, v[4:5]
    """
    found = reported(text, 16, directives=WITH_FLAT)
    np.testing.assert_array_equal(found, np.stack([np.arange(128), np.full(128, 5)], axis=1))


@pytest.mark.parametrize(
    "setting",
    ["", "s_add_u32 flat_scratch_lo, s6, s11", "s_mov_b64 flat_scratch, s[6:7]", "s_mov_b64 flat_scratch, s[0:1]"],
)
def test_flat_scratch_is_for_the_kernel_to_set(setting: str) -> None:
    text = f"{setting}\ns_mov_b32 s14, 0\nscratch_store_dword off, v0, s14\n{WAIT}"
    what = said(run(text, 16, directives=WITH_FLAT), "out_of_bounds")
    assert re.search("flat_scratch is 0x.*; this wave's scratch begins at 0xf000ffff0400$", what)


def test_the_size_is_given_in_dwords() -> None:
    text = "v_mov_b32 v20, s6\nv_mov_b32 v21, 0\n"
    found = reported(text, 6, directives=(*BUFFER, "user_sgpr_private_segment_size 1"))
    assert (found[:, 0] == 8).all()


def test_a_kernel_without_scratch_gets_no_buffer() -> None:
    assert said(run("s_mov_b32 s10, s3", 0), "uninitialised") == "s3 was never written"


def test_architected_flat_scratch_has_no_offset_in_a_register() -> None:
    text = "s_mov_b32 s10, s4\ns_mov_b32 s10, s5\nscratch_store_dword off, v0, off\n" + WAIT
    made = kernel(text, "gfx942", scratch=16, directives=("enable_private_segment 1",))
    assert said(launch(made, "gfx942", [1], 64, b""), "uninitialised") == "s5 was never written"


def test_more_scratch_than_the_buffer_has_is_refused() -> None:
    said = "131072 bytes of scratch, in each of the 3328 waves that the chip holds"
    with pytest.raises(UsageError, match=said):
        run("", 131072)
