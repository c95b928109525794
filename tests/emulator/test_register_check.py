"""Registers that are used too early or that nothing has written: which, how many waits late, in which lanes."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from memory_support import area, wave, wave_at
from step_support import assemble, emulator

from ckgen_emulator.bindings import LANES, Options, Wave

pytestmark = pytest.mark.amd

ARCH = "gfx942"
LOADS, READS = 70, 15


def wait(vm: int = 63, lgkm: int = 15) -> bytes:
    """s_waitcnt."""
    return struct.pack("<I", 0xBF8C0070 | vm & 15 | vm >> 4 << 14 | lgkm << 8)


def move(to: int, source: int) -> bytes:
    """v_mov_b32 of vector registers."""
    return struct.pack("<I", 0x7E000300 | to << 17 | source)


def found(code: bytes, state: Wave | None = None) -> list[tuple[str, str, int]]:
    """Rule, text and lane."""
    result = emulator(ARCH).step(code, state or Wave(lds_bytes=4096), Options(most_findings=1000))
    return [(one.rule, one.what, one.lane) for one in result.findings]


def test_every_limit_of_vmcnt() -> None:
    """With 70 loads under way: what is there is silent, the next one is named with the wait that it needs."""
    with area(ARCH, 64) as memory:
        loads = assemble("".join(f"global_load_dword v{10 + one}, v[2:3], off\n" for one in range(LOADS)), ARCH)
        for limit in range(64):
            state = wave_at(memory)
            last = 10 + LOADS - limit  # the first that is not there
            code = loads + wait(vm=limit) + move(200, last - 1)
            assert found(code, state) == []
            if limit == 0:
                continue
            said = f"v{last} is read before s_waitcnt vmcnt({limit - 1})"
            assert found(code + move(201, last), state) == [("before_wait", said, -1)]
            overwritten = f"v{last} is overwritten before s_waitcnt vmcnt({limit - 1})"
            assert found(code + move(last, 200), state) == [("before_wait", overwritten, -1)]
            assert found(code + move(201, last) + move(202, last) + move(last, 203), state)[1:] == []


def test_every_limit_of_lgkmcnt() -> None:
    reads = assemble("".join(f"ds_read_b32 a{10 + one}, v0\n" for one in range(READS)), ARCH)
    for limit in range(READS):
        last = 10 + READS - limit
        code = reads + wait(lgkm=limit)

        def take(row: int) -> bytes:
            return assemble(f"v_accvgpr_read_b32 v200, a{row}", ARCH)

        assert found(code + take(last - 1)) == []
        if limit != 0:
            said = f"a{last} is read before s_waitcnt lgkmcnt({limit - 1})"
            assert found(code + take(last)) == [("before_wait", said, -1)]


def test_each_counter_is_for_itself() -> None:
    both = assemble("ds_read_b32 v10, v0\nglobal_load_dword v11, v[2:3], off", ARCH)
    with area(ARCH, 64) as memory:
        state = wave_at(memory)
        uses = move(20, 10) + move(21, 11)
        assert [what for _, what, _ in found(both + wait(vm=0) + uses, state)] == [
            "v10 is read before s_waitcnt lgkmcnt(0)"
        ]
        assert [what for _, what, _ in found(both + wait(lgkm=0) + uses, state)] == [
            "v11 is read before s_waitcnt vmcnt(0)"
        ]
        assert found(both + wait(0, 0) + uses, state) == []


NAMES = (
    ("s_load_dwordx2 vcc, s[8:9], 0", "s_mov_b32 s20, vcc_hi", "vcc_hi is read"),
    ("s_load_dwordx2 vcc, s[8:9], 0", "s_mov_b32 s20, vcc_lo", "vcc_lo is read"),
    ("s_load_dwordx2 vcc, s[8:9], 0", "s_mov_b32 vcc_lo, 0", "vcc_lo is overwritten"),
    ("s_load_dwordx16 s[20:35], s[8:9], 0", "s_mov_b32 s40, s20", "s20 is read"),
    ("s_load_dwordx16 s[20:35], s[8:9], 0", "s_mov_b32 s40, s35", "s35 is read"),
    ("s_load_dwordx8 s[20:27], s[8:9], 0", "s_mov_b64 s[26:27], 0", "s26 is overwritten"),
    ("s_memtime s[20:21]", "s_mov_b32 s40, s21", "s21 is read"),
)


@pytest.mark.parametrize(("load", "use", "said"), NAMES)
def test_scalars_are_named(load: str, use: str, said: str) -> None:
    with area(ARCH, 64) as memory:
        state = wave()
        state.set_pair(8, memory.address)
        state.exec_mask = 2**LANES - 1
        text = f"{load}\n{use}\n{use}\n" + "s_waitcnt lgkmcnt(0)\n"
        whats = [what for _, what, _ in found(assemble(text, ARCH), state)]
        assert whats == [said + " before s_waitcnt lgkmcnt(0)"]
        assert found(assemble(f"{load}\ns_waitcnt lgkmcnt(0)\n{use}", ARCH), state) == []
        assert found(assemble(f"{load}\ns_mov_b32 s50, s36\ns_mov_b32 s50, s19", ARCH), state) == []


@pytest.mark.parametrize(("number", "name"), [(124, "m0"), (126, "exec_lo"), (127, "exec_hi"), (101, "s101")])
def test_scalars_that_no_load_should_fill_are_named(number: int, name: str) -> None:
    """Encodings that an assembler refuses."""
    load = int.from_bytes(assemble("s_load_dword s0, s[8:9], 0", ARCH), "little") | number << 6
    with area(ARCH, 64) as memory:
        state = wave()
        state.set_pair(8, memory.address)
        code = load.to_bytes(8, "little") + assemble(f"s_mov_b32 s20, {name}", ARCH) + wait(0, 0)
        assert found(code, state) == [("before_wait", f"{name} is read before s_waitcnt lgkmcnt(0)", -1)]


OVER = {
    "global_load_dword v10, v[2:3], off": ("vm",),
    "buffer_load_dword v10, off, s[8:11], 0": ("vm",),
    "scratch_load_dword v10, v4, off": ("vm",),
    "flat_load_dword v10, v[2:3]": ("vm", "lgkm"),
    "ds_read_b32 v10, v0": ("lgkm",),
    "v_mov_b32 v10, 0": (),
}
"""What fills v10, and the counters that tell that it did."""


@pytest.mark.parametrize("second", OVER)
@pytest.mark.parametrize("first", [one for one in OVER if OVER[one]])
def test_a_result_over_a_result(first: str, second: str) -> None:
    """Loads that one counter tells of are done in order, so that the second may follow at once; no others."""
    with area(ARCH, 64) as memory:
        state = wave_at(memory)
        findings = found(assemble(f"{first}\n{second}", ARCH), state)
        counted = {
            ("vm",): {"vm": second.split()[0].split("_")[0] in ("global", "buffer", "scratch")},
            ("lgkm",): {"lgkm": second.startswith("ds")},
            ("vm", "lgkm"): {"vm": second.split()[0].split("_")[0] in ("global", "buffer", "scratch"), "lgkm": False},
        }[OVER[first]]
        early = [counter for counter, ordered in counted.items() if not ordered]
        waits = [what for rule, what, _ in findings if rule == "before_wait"]
        assert bool(waits) == bool(early)
        if waits:
            assert waits == [f"v10 is overwritten before s_waitcnt {early[0]}cnt(0)"]


@pytest.mark.parametrize("mask", [1, 1 << 63, 0xF0, 2**64 - 1])
def test_lanes_that_nothing_has_written(mask: int) -> None:
    """Their number and the first; told once, and not where they are off."""
    state = Wave(lds_bytes=64)
    first = (mask & -mask).bit_length() - 1
    lines = "v_mov_b32 v30, 0\nv_not_b32 v20, v21\nv_not_b32 v22, v21\nds_write_b32 v30, a21\nv_not_b32 v21, v20"
    code = assemble(lines, ARCH) + wait(0, 0)
    state.exec_mask = mask
    result = emulator(ARCH).step(code, state, all_written=False)
    number = bin(mask).count("1")
    assert [(one.what, one.lane) for one in result.findings] == [
        (f"v21 was never written in {number} lanes", first), (f"a21 was never written in {number} lanes", first),
    ]  # fmt: skip
    part = assemble("s_mov_b64 exec, 0xff\nv_mov_b32 v21, 1\ns_mov_b64 exec, 0x3ff\nv_cvt_f32_f64 v30, v[20:21]", ARCH)
    state.exec_mask = 2**64 - 1
    findings = emulator(ARCH).step(part, state, all_written=False).findings
    assert [(one.what, one.lane, one.count) for one in findings] == [("v20 was never written in 10 lanes", 0, 2)]
    later = assemble("v_not_b32 v40, v21\ns_mov_b64 exec, -1\nv_not_b32 v40, v21", ARCH)
    findings = emulator(ARCH).step(part[:-4] + later, state, all_written=False).findings
    assert [(one.what, one.lane) for one in findings] == [
        ("v21 was never written in 2 lanes", 8), ("v21 was never written in 54 lanes", 10),
    ]  # fmt: skip


def patched(text: str, byte: int) -> bytes:
    """With register 255 in a byte of its second dword or its first."""
    code = bytearray(assemble(text, ARCH))
    code[byte] = 255
    return bytes(code)


BEYOND = (
    (patched("global_load_dwordx2 a[254:255], v[2:3], off", 7), True),
    (patched("flat_load_dwordx4 a[252:255], v[2:3]", 7), True),
    (patched("buffer_load_dwordx3 a[252:254], off, s[8:11], 0", 5), True),
    (patched("ds_read_b64 a[254:255], v0", 7), True),
    (patched("ds_read_b128 a[252:255], v0", 7), True),
    (patched("global_store_dwordx2 v[2:3], a[254:255], off", 5), False),
    (patched("buffer_store_dwordx4 a[252:255], off, s[8:11], 0", 5), False),
    (patched("ds_write_b64 v0, a[254:255]", 5), False),
    (patched("global_atomic_add_x2 v[2:3], a[254:255], off", 5), False),
)


@pytest.mark.parametrize(("code", "loads"), BEYOND)
def test_registers_end_at_a255(code: bytes, loads: bool) -> None:
    """Nothing else counts as filled by what lies beyond, and memory stays as it is."""
    with area(ARCH, 64) as memory:
        state = wave_at(memory)
        before = memory.bytes.copy()
        rest = assemble("v_mov_b32 v50, v0\nv_mov_b32 v51, v1\ns_mov_b32 s50, s0\ns_mov_b32 s50, s1", ARCH)
        findings = found(code + rest + wait(0, 0), state)
        beyond = ("bad_code", "a register beyond the file", -1)
        assert [one for one in findings if one[0] != "bad_code"] == []
        assert findings == ([] if loads else [beyond])
        if not loads and "ds" not in emulator(ARCH).disassemble(code)[0][2]:
            np.testing.assert_array_equal(memory.bytes, before)
