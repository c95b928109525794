"""Lanes side by side are checked together: what is wrong with one byte among them is found as if each were alone."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np
import pytest
from memory_support import area, lanes_of, run, set_addresses, wave
from numpy.typing import NDArray
from step_support import emulator, kernel, launch

from ckgen_emulator.bindings import LANES, Finding, Options

pytestmark = pytest.mark.amd

ARCH = "gfx942"
ALL = 2**LANES - 1
LOADS = {1: "ubyte", 2: "ushort", 4: "dword", 12: "dwordx3", 16: "dwordx4"}
STORES = {1: "byte", 2: "short", 4: "dword", 12: "dwordx3", 16: "dwordx4"}
MASKS = (ALL, 0x7FFF_FFFF_FFFF_FFFE, 0x0000_FFFF_FF00_00FF, 0xF0F0_1234_8001_FFFE, 1 << 40)


def places(size: int, together: int, start: int) -> NDArray[np.uint64]:
    """Where each lane's bytes begin: so many lanes side by side, then a gap; the last such group comes first."""
    lane = np.arange(LANES)
    group, inside = lane // together, lane % together
    return np.asarray(start + (LANES // together - 1 - group) * (together * size + 8) + inside * size, np.uint64)


def initialise(address: int, size: int, hole: int) -> None:
    """Writes every byte but one."""
    state = wave()
    for first in range(0, size, LANES):
        mask = min(size - first, LANES)
        state.exec_mask = (1 << mask) - 1 & ~(1 << hole - first if first <= hole < first + LANES else 0)
        set_addresses(state, 2, np.uint64(address + first) + np.arange(LANES, dtype=np.uint64))
        assert not run(ARCH, "global_store_byte v[2:3], v20, off\ns_waitcnt vmcnt(0)", state).findings


@pytest.mark.parametrize("together", [64, 32, 8, 4])
@pytest.mark.parametrize("size", LOADS)
def test_one_unwritten_byte_among_those_that_are_read(size: int, together: int) -> None:
    random = np.random.default_rng([size, together])
    span = LANES * size + 8 * LANES // together + 8
    for mask in MASKS:
        start = int(random.choice([0, 1, 2, 4]))
        at = places(size, together, start)
        hole = int(random.integers(0, span))
        with area(ARCH, span, written=False) as memory:
            initialise(memory.address, span, hole)
            state = wave()
            state.exec_mask = mask
            set_addresses(state, 2, np.uint64(memory.address) + at)
            text = f"global_load_{LOADS[size]} v[20:{19 + max(size // 4, 1)}], v[2:3], off\ns_waitcnt vmcnt(0)"
            found = run(ARCH, text, state).findings
        touched = [lane for lane in np.flatnonzero(lanes_of(mask)) if 0 <= hole - int(at[lane]) < size]
        expected = [("uninitialised", lane, f"byte {hole - int(at[lane])} of {size} bytes") for lane in touched]
        assert [(one.rule, one.lane) for one in found] == [one[:2] for one in expected], (mask, hole)
        assert all(text in one.what for one, (_, _, text) in zip(found, expected, strict=True))


@pytest.mark.parametrize("together", [64, 16, 4])
@pytest.mark.parametrize("size", STORES)
def test_a_store_initialises_its_bytes_and_no_others(size: int, together: int) -> None:
    span = LANES * size + 8 * LANES // together + 8
    at = places(size, together, 4)
    for mask in MASKS:
        with area(ARCH, span, written=False) as memory:
            state = wave()
            state.exec_mask = mask
            set_addresses(state, 2, np.uint64(memory.address) + at)
            data = f"v[20:{19 + max(size // 4, 1)}]"
            assert not run(ARCH, f"global_store_{STORES[size]} v[2:3], {data}, off\ns_waitcnt vmcnt(0)", state).findings
            written = {int(at[lane]) + byte for lane in np.flatnonzero(lanes_of(mask)) for byte in range(size)}
            known = set()
            for first in range(0, span, LANES):
                for byte in range(first, min(first + LANES, span)):
                    state.exec_mask = 1 << byte - first
                    set_addresses(state, 2, np.uint64(memory.address + first) + np.arange(LANES, dtype=np.uint64))
                    if not run(ARCH, "global_load_ubyte v20, v[2:3], off\ns_waitcnt vmcnt(0)", state).findings:
                        known.add(byte)
        assert known == written


# One workgroup touches `size` bytes per lane of EXEC = s[12:13], side by side from s14 on; `other` the byte s15.
# s[0:1]: data, EXEC, s14, s15.
TWO_GROUPS = """
s_load_dwordx2 s[8:9], s[0:1], 0
s_load_dwordx4 s[12:15], s[0:1], 8
v_and_b32 v0, 0x3ff, v0
v_mul_u32_u24 v1, {size}, v0
v_add_u32 v4, 100, v0
v_mov_b32 v5, v4
v_mov_b32 v6, v4
v_mov_b32 v7, v4
s_waitcnt lgkmcnt(0)
s_cmp_eq_u32 s2, {other}
s_cbranch_scc1 other
v_add_u32 v1, s14, v1
s_mov_b64 exec, s[12:13]
{lanes}
s_endpgm
other:
s_mov_b64 exec, 1
v_mov_b32 v1, s15
v_mov_b32 v4, 77
{byte}
"""


def races(body: str, mask: int, start: int, byte: int) -> list[tuple[str, str]]:
    """Rules, and what workgroup 0 did."""
    data = np.zeros(2048, np.uint8)
    chip = emulator(ARCH)
    chip.add(data)
    try:
        args = struct.pack("<QQII", data.ctypes.data, mask, start, byte)
        found = launch(kernel(body, ARCH), ARCH, [2], 64, args).findings
    finally:
        chip.remove(data)
    return [(one.rule, one.what.partition("of workgroup 0 ")[2].partition(":")[0]) for one in found]


@pytest.mark.parametrize("size", LOADS)
@pytest.mark.parametrize("other", [0, 1])
@pytest.mark.parametrize("lanes", ["load", "store"])
def test_one_byte_that_another_workgroup_touches(lanes: str, other: int, size: int) -> None:
    random = np.random.default_rng([size, other, lanes == "load"])
    registers = f"v[4:{3 + max(size // 4, 1)}]"
    if lanes == "load":
        lines = f"global_load_{LOADS[size]} {registers}, v1, s[8:9]", "global_store_byte v1, v4, s[8:9]"
    else:
        lines = f"global_store_{STORES[size]} v1, {registers}, s[8:9]", "global_load_ubyte v4, v1, s[8:9]"
    body = TWO_GROUPS.format(size=size, other=other, lanes=lines[0], byte=lines[1])
    earlier = "reads" if (lanes == "load") == (other == 1) else "wrote"
    for mask in MASKS:
        for start in (0, 4, 64, 3):
            touched = np.repeat(lanes_of(mask), size)
            inside = int(random.choice(np.flatnonzero(touched)))
            for at in {inside, 0, 64 * size - 1, *map(int, np.flatnonzero(~touched)[:2])}:
                expected = [("global_race", earlier)] if touched[at] else []
                assert races(body, mask, start, start + at) == expected, (mask, start, at)


# LDS: wave 0, then wave 1, of one workgroup. v1: size * lane xor s13, from s15 on; v2: the byte s12. All of LDS is
# written before, up to the barrier, but for the byte s14. s[0:1]: s12 to s15.
TWO_WAVES = """
s_load_dwordx4 s[12:15], s[0:1], 0
v_and_b32 v0, 0x3ff, v0
v_lshrrev_b32 v3, 6, v0
s_nop 4
v_readfirstlane_b32 s20, v3
v_and_b32 v0, 63, v0
v_mul_u32_u24 v1, {size}, v0
s_waitcnt lgkmcnt(0)
v_xor_b32 v1, s13, v1
v_add_u32 v1, s15, v1
v_mov_b32 v2, s12
s_cmp_eq_u32 s20, 0
s_cbranch_scc0 written
s_mov_b32 s16, 0
again:
v_add_u32 v4, s16, v0
v_cmp_ne_u32 vcc, s14, v4
s_mov_b64 exec, vcc
ds_write_b8 v4, v4
s_mov_b64 exec, -1
s_add_u32 s16, s16, 64
s_cmp_lt_u32 s16, 0x300
s_cbranch_scc1 again
written:
s_waitcnt lgkmcnt(0)
s_barrier
s_cmp_eq_u32 s20, 0
s_cbranch_scc0 second
{first}
second:
{between}
s_cmp_eq_u32 s20, 1
s_cbranch_scc0 end
{second}
end:
s_waitcnt lgkmcnt(0)
"""
BARRIER = "s_waitcnt lgkmcnt(0)\ns_barrier"
WHOLE = {("write", 1): "ds_write_b8 v1, v0", ("write", 2): "ds_write_b16 v1, v0",
         ("read", 1): "ds_read_u8 v5, v1", ("read", 2): "ds_read_u16 v5, v1"}  # fmt: skip
BYTE = {"write": "s_mov_b64 exec, 1\nds_write_b8 v2, v0", "read": "s_mov_b64 exec, 1\nds_read_u8 v6, v2"}
XORS = (0, 16, 32, 48, 4, 2, 1)
"""Of these, those below 16 keep no sixteen bytes together."""


def lds_findings(body: str, byte: int, xor: int, hole: int = 0xFFFF, base: int = 256) -> tuple[Finding, ...]:
    args = struct.pack("<IIII", byte, xor, hole, base)
    return launch(kernel(body, ARCH, lds=1024), ARCH, [1], 128, args, Options()).findings


def lds_rules(found: Sequence[Finding]) -> list[str]:
    return [one.rule for one in found]


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize(("first", "second"), [("write", "write"), ("write", "read"), ("read", "write")])
def test_one_byte_of_lds_that_another_wave_touches(first: str, second: str, size: int) -> None:
    for one, other in ((WHOLE[first, size], BYTE[second]), (BYTE[first], WHOLE[second, size])):
        unordered = TWO_WAVES.format(size=size, first=one, between="s_mov_b64 exec, -1", second=other)
        ordered = TWO_WAVES.format(size=size, first=one, between="s_mov_b64 exec, -1\n" + BARRIER, second=other)
        for xor in XORS:
            if xor % size:
                continue
            for base in (256, 256 + size, 256 + 4):
                for byte in (base, base + 63, base + 64 * size - 1):
                    assert lds_rules(lds_findings(unordered, byte, xor, base=base)) == ["lds_race"], (xor, base, byte)
                for byte in (base - 1, base + 64 * size + 48):
                    assert lds_findings(unordered, byte, xor, base=base) == (), (xor, base, byte)
            assert lds_findings(ordered, 256 + 63, xor) == ()


@pytest.mark.parametrize("size", [1, 2])
def test_one_unwritten_byte_of_lds(size: int) -> None:
    reads = TWO_WAVES.format(size=size, first=WHOLE["read", size], between="", second="")
    writes = TWO_WAVES.format(
        size=size, first=WHOLE["write", size] + "\n" + WHOLE["read", size], between=BARRIER, second=WHOLE["read", size]
    )
    for xor in XORS:
        if xor % size:
            continue
        lanes = [lane * size ^ xor for lane in range(LANES)]
        for base in (256, 256 + size, 256 + 4):
            for hole in (0, 17, 64 * size - 1):
                (found,) = lds_findings(reads, 0, xor, base + hole, base)
                assert (found.rule, found.lane) == ("uninitialised", lanes.index(hole - hole % size)), (xor, base, hole)
                assert lds_findings(writes, 0, xor, base + hole, base) == ()
            assert lds_findings(reads, 0, xor, base - 1, base) == ()


@pytest.mark.parametrize("size", [1, 2])
def test_parts_and_wholes_of_lds_by_turns(size: int) -> None:
    """Bytes, sixteen bytes and dwords in epochs of their own: nothing of an older one is held against a later one."""
    dwords = "v_and_b32 v8, 15, v0\nv_lshlrev_b32 v8, 2, v8\nv_add_u32 v8, 0x100, v8\nds_{} v8"
    turns = [WHOLE["write", size], dwords.format("read_b32 v7,"), BYTE["write"], WHOLE["read", size],
             dwords.replace("{} v8", "write_b32 v8, v0"), WHOLE["write", size], BYTE["read"]]  # fmt: skip
    before = TWO_WAVES.partition("s_cmp_eq_u32 s20, 0\ns_cbranch_scc0 second")[0].format(size=size)
    for owner in (0, 1):
        parts = []
        for index, turn in enumerate(turns):
            mine = f"s_mov_b64 exec, -1\ns_cmp_eq_u32 s20, {(owner + index) % 2}\ns_cbranch_scc0 past{index}\n"
            parts.append(f"{mine}{turn}\npast{index}:")
        ends = "\ns_waitcnt lgkmcnt(0)"
        assert lds_findings(before + f"\n{BARRIER}\n".join(parts) + ends, 256 + 5, 0) == ()
        for left in range(1, len(parts)):
            racy = f"\n{BARRIER}\n".join(
                [*parts[: left - 1], "\n".join(parts[left - 1 : left + 1]), *parts[left + 1 :]]
            )
            assert "lds_race" in lds_rules(lds_findings(before + racy + ends, 256 + 5, 0)), left


@pytest.mark.parametrize("size", STORES)
def test_a_lane_elsewhere_ends_the_lanes_side_by_side(size: int) -> None:
    """It writes behind all others, the next lane behind the one before it: what follows is as unwritten as it was."""
    store = f"global_store_{STORES[size]} v[2:3], v[20:{19 + max(size // 4, 1)}], off\ns_waitcnt vmcnt(0)"
    for away in range(1, LANES - 1):
        lane = np.arange(LANES, dtype=np.uint64)
        at = (lane - (lane > away)) * np.uint64(size)
        at[away] = (LANES - 1) * size
        with area(ARCH, (LANES + 1) * size, written=False) as memory:
            state = wave()
            state.exec_mask = 7 << away - 1  # so few that they need few runs
            set_addresses(state, 2, np.uint64(memory.address) + at)
            assert run(ARCH, store, state).findings == ()
            state.exec_mask = 1
            set_addresses(state, 2, np.full(LANES, memory.address + LANES * size, np.uint64))
            [found] = run(ARCH, "global_load_ubyte v20, v[2:3], off\ns_waitcnt vmcnt(0)", state).findings
            assert found.rule == "uninitialised", away
