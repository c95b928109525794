"""What memory instructions count: bytes and lanes that are in range, and only those."""

from __future__ import annotations

import numpy as np
import pytest
from memory_support import area, lanes_of, set_resource, wave
from step_support import assemble, emulator

from ckgen_emulator.bindings import LANES, Options, Run, Wave

pytestmark = pytest.mark.amd

ARCH = "gfx942"
MASKS = (1, 1 << 63, 0xF0F0_1234_8001_FFFE, 2**64 - 1, 0)
SIZES = {"ubyte": 1, "sbyte_d16_hi": 1, "ushort": 2, "dword": 4, "dwordx2": 8, "dwordx3": 12, "dwordx4": 16}
STORED = {"byte": 1, "short_d16_hi": 2, "dword": 4, "dwordx2": 8, "dwordx3": 12, "dwordx4": 16}
PLACES = {"global": "v[2:3], off", "flat": "v[2:3]", "saddr": "v4, s[12:13]"}


def state(address: int, mask: int, step: int = 16) -> Wave:
    made = wave()
    made.exec_mask = mask
    places = address + step * np.arange(LANES, dtype=np.uint64)
    made.vectors[2], made.vectors[3] = places % np.uint64(2**32), places >> np.uint64(32)
    made.vectors[4] = step * np.arange(LANES)
    made.set_pair(12, address)
    return made


def span(size: int) -> str:
    return f"v[20:{19 + (size + 3) // 4}]" if size > 4 else "v20"


def counted(text: str, made: Wave, checked: bool) -> tuple[Run, tuple[int, int, int]]:
    code = assemble(text + "\ns_waitcnt vmcnt(0) lgkmcnt(0)", ARCH)
    result = emulator(ARCH).step(code, made, Options(checked=checked))
    return result, (result.counts["global_read"], result.counts["global_written"], result.counts["atomics"])


@pytest.mark.parametrize("place", PLACES)
def test_bytes_of_lanes_that_are_on(place: str) -> None:
    """Lanes whose memory is not there count for nothing."""
    space = "flat" if place == "flat" else "global"
    with area(ARCH, 16 * 60) as memory:
        for mask in MASKS:
            there = np.flatnonzero(lanes_of(mask))
            inside = int((there < 60).sum())
            for name, size in SIZES.items():
                text = f"{space}_load_{name} {span(size)}, {PLACES[place]}"
                assert counted(text, state(memory.address, mask), mask % 3 != 0)[1] == (size * inside, 0, 0)
            for name, size in STORED.items():
                address, _, base = PLACES[place].partition(", ")
                text = f"{space}_store_{name} {address}, {span(size)}" + (f", {base}" if base else "")
                assert counted(text, state(memory.address, mask), mask % 3 != 0)[1] == (0, size * inside, 0)


@pytest.mark.parametrize("records", [0, 3, 500, 512, 1024])
def test_bytes_of_lanes_that_are_in_a_buffers_range(records: int) -> None:
    with area(ARCH, 1024) as memory:
        for mask in MASKS:
            lanes = np.flatnonzero(lanes_of(mask))
            for name, size in SIZES.items():
                made = state(memory.address, mask)
                set_resource(made, 8, memory.address, records)
                whole = int((16 * lanes + size <= records).sum())
                found = counted(f"buffer_load_{name} {span(size)}, v4, s[8:11], 0 offen", made, size != 4)
                assert not found[0].findings and found[1] == (size * whole, 0, 0)
            for name, size in STORED.items():
                made = state(memory.address, mask)
                set_resource(made, 8, memory.address, records)
                whole = int((16 * lanes + size <= records).sum())
                found = counted(f"buffer_store_{name} {span(size)}, v4, s[8:11], 0 offen", made, size != 4)
                assert not found[0].findings and found[1] == (0, size * whole, 0)


@pytest.mark.parametrize("mask", MASKS)
def test_atomics_count_lanes_and_bytes_that_change(mask: int) -> None:
    with area(ARCH, 1024) as memory:
        lanes = lanes_of(mask)
        for name, size, changed in (
            ("add v[2:3], v20, off", 4, lambda old, new: new != 0),
            ("swap_x2 v[2:3], v[20:21], off", 8, lambda old, new: np.ones(LANES, bool)),
            ("umax v[2:3], v20, off", 4, lambda old, new: new > old),
            ("cmpswap v[2:3], v[20:21], off", 4, lambda old, new: np.zeros(LANES, bool)),
            ("and_x2 v[2:3], v[22:23], off", 8, lambda old, new: np.zeros(LANES, bool)),
        ):
            made = state(memory.address, mask)
            made.vectors[20, ::3] = 0
            made.vectors[22:24] = 0xFFFFFFFF
            old = memory.bytes.view(np.uint32).reshape(LANES, 4)[:, 0].copy()
            new = changed(old, made.vectors[20])
            result, counts = counted(f"global_atomic_{name}", made, mask != 1)
            assert not result.findings
            assert counts == (0, size * int((new & lanes).sum()), int(lanes.sum()))


def test_swizzled_buffers_count_every_lane_that_is_on() -> None:
    with area(ARCH, 4096) as memory:
        for mask in MASKS:
            made = state(memory.address, mask)
            made.vectors[4] = np.arange(LANES)
            set_resource(made, 8, memory.address, 64, stride=64, swizzled=True)
            lanes = int(lanes_of(mask).sum())
            load = counted("buffer_load_dwordx3 v[20:22], v4, s[8:11], 0 idxen", made, True)
            store = counted("buffer_store_dwordx2 v[20:21], v4, s[8:11], 0 idxen", made, False)
            assert (load[1], store[1]) == ((12 * lanes, 0, 0), (0, 8 * lanes, 0))


@pytest.mark.parametrize("count", [1, 2, 4, 8, 16])
def test_scalar_loads_count_dwords_that_are_in_range(count: int) -> None:
    name = {1: "dword"}.get(count, f"dwordx{count}")
    to = "s20" if count == 1 else f"s[20:{19 + count}]"
    with area(ARCH, 64) as memory:
        for records in (0, 3, 4, 8, 60, 64):
            made = wave()
            made.set_pair(8, memory.address)
            made.scalars[10] = records
            for checked in (True, False):
                _, counts = counted(f"s_buffer_load_{name} {to}, s[8:11], 0", made, checked)
                assert counts == (4 * min(count, records // 4), 0, 0)
                assert counted(f"s_load_{name} {to}, s[8:9], 0", made, checked)[1] == (4 * count, 0, 0)
        if count <= 4:
            assert counted(f"s_store_{name} {to}, s[8:9], 0", made, True)[1] == (0, 4 * count, 0)
