"""Scalar loads: addresses, ranges, waits."""

from __future__ import annotations

import numpy as np
import pytest
from memory_support import area, rules, run, wave
from step_support import emulator

from ckgen_emulator.bindings import VCC, Options

pytestmark = pytest.mark.amd

ARCH = "gfx942"
WIDTHS = {1: "dword", 2: "dwordx2", 4: "dwordx4", 8: "dwordx8", 16: "dwordx16"}
WAIT = "\ns_waitcnt lgkmcnt(0)"


def span(first: int, count: int) -> str:
    """Scalar registers."""
    return f"s{first}" if count == 1 else f"s[{first}:{first + count - 1}]"


@pytest.mark.parametrize("checked", [True, False])
@pytest.mark.parametrize("count", WIDTHS)
@pytest.mark.parametrize(("offset", "at"), [("0x10", 16), ("s12", 96), ("-8", -8), ("s12 offset:0x20", 128)])
def test_loads(count: int, offset: str, at: int, checked: bool) -> None:
    with area(ARCH, 1024) as memory:
        state = wave()
        state.set_pair(10, memory.address + 256)
        state.scalars[12] = 96
        before = state.scalars.copy()
        result = run(
            ARCH, f"s_load_{WIDTHS[count]} {span(32, count)}, s[10:11], {offset}" + WAIT, state, checked=checked
        )
        assert not result.findings
        start = 256 + at
        np.testing.assert_array_equal(
            state.scalars[32 : 32 + count], memory.bytes[start : start + 4 * count].view(np.uint32)
        )
        np.testing.assert_array_equal(state.scalars[32 + count : 100], before[32 + count : 100])


def test_loads_to_vcc_and_over_its_base() -> None:
    with area(ARCH, 64) as memory:
        state = wave()
        state.set_pair(10, memory.address)
        assert not run(
            ARCH, "s_load_dwordx2 vcc, s[10:11], 8\ns_load_dwordx2 s[10:11], s[10:11], 0" + WAIT, state
        ).findings
        np.testing.assert_array_equal(state.scalars[[VCC, VCC + 1, 10, 11]], memory.bytes.view(np.uint32)[[2, 3, 0, 1]])


@pytest.mark.parametrize("count", WIDTHS)
@pytest.mark.parametrize(
    ("records", "stride", "at"), [(1024, 0, 64), (80, 0, 64), (64, 0, 64), (10, 8, 48), (0, 0, 0), (70, 0, 2000)]
)
def test_buffer_loads(records: int, stride: int, at: int, count: int) -> None:
    """What lies beyond records times stride reads 0, dword for dword."""
    with area(ARCH, 1024) as memory:
        state = wave()
        state.set_pair(8, memory.address | stride << 48)
        state.scalars[10] = records
        state.scalars[12] = at
        assert not run(ARCH, f"s_buffer_load_{WIDTHS[count]} {span(32, count)}, s[8:11], s12" + WAIT, state).findings
        size = records * max(stride, 1)
        expected = [
            int(memory.bytes[one : one + 4].view(np.uint32)[0]) if one + 4 <= size else 0
            for one in range(at, at + 4 * count, 4)
        ]
        assert state.scalars[32 : 32 + count].tolist() == expected


@pytest.mark.parametrize("checked", [True, False])
def test_outside(checked: bool) -> None:
    with area(ARCH, 64) as memory:
        state = wave()
        state.set_pair(10, memory.address)
        result = run(ARCH, "s_load_dwordx4 s[32:35], s[10:11], 56" + WAIT, state, checked=checked)
        assert rules(result) == ["out_of_bounds"]
        np.testing.assert_array_equal(state.scalars[32:36], [*memory.bytes[56:].view(np.uint32), 0, 0])
        assert rules(run(ARCH, "s_load_dword s32, s[10:11], 2" + WAIT, state, checked=checked)) == ["misaligned"]
        assert state.scalars[32] == memory.bytes[:4].view(np.uint32)[0]


def test_unwritten() -> None:
    with area(ARCH, 64, written=False) as memory:
        state = wave()
        state.set_pair(10, memory.address)
        assert rules(run(ARCH, "s_load_dwordx2 s[32:33], s[10:11], 0" + WAIT, state)) == ["uninitialised"]


@pytest.mark.parametrize(
    ("wait", "found"), [("s_waitcnt lgkmcnt(0)", []), ("s_waitcnt lgkmcnt(1)", ["before_wait"]), ("", ["before_wait"])]
)
def test_waits(wait: str, found: list[str]) -> None:
    """Scalar loads return in any order: only a wait for all of them tells that one is done."""
    with area(ARCH, 64) as memory:
        state = wave()
        state.set_pair(10, memory.address)
        text = f"s_load_dword s32, s[10:11], 0\ns_load_dword s33, s[10:11], 4\n{wait}\ns_mov_b32 s34, s32" + WAIT
        assert rules(run(ARCH, text, state)) == found


def test_clocks_count_instructions_to_the_end_of_their_own() -> None:
    """Four cycles each; a tick of the constant clock is twenty of them."""
    state = wave()
    text = ["s_memtime s[32:33]", "s_memrealtime s[36:37]", "s_nop 0", "s_memtime s[34:35]", *["s_nop 0"] * 19]
    text += ["s_memrealtime s[38:39]", "s_memrealtime s[40:41]"]  # the 24th and the 25th
    assert not run(ARCH, "\n".join(text) + WAIT, state).findings
    assert [state.pair(at) for at in (32, 34, 36, 38, 40)] == [4, 16, 0, 4, 5]


@pytest.mark.parametrize("checked", [True, False])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_stores(count: int, checked: bool) -> None:
    with area(ARCH, 64) as memory:
        state = wave()
        state.set_pair(10, memory.address)
        state.scalars[32:36] = [7, 8, 9, 10]
        before = memory.bytes.copy()
        text = f"s_store_{WIDTHS[count]} {span(32, count)}, s[10:11], 0x10 glc"
        assert not run(ARCH, text + WAIT, state, checked=checked).findings
        before[16 : 16 + 4 * count] = state.scalars[32 : 32 + count].view(np.uint8)
        np.testing.assert_array_equal(memory.bytes, before)
        state.set_pair(10, memory.address + 64)
        assert rules(run(ARCH, text + WAIT, state, checked=checked)) == ["out_of_bounds"]


def test_stores_to_buffers_are_refused() -> None:
    encoded = bytes.fromhex("050860c000000000")  # s_buffer_store_dword s32, s[10:13], 0
    assert rules(emulator(ARCH).step(encoded, wave(), Options())) == ["unsupported"]
