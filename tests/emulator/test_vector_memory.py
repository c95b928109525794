"""Loads and stores of vector memory: what they move, in every space, and what is in range."""

from __future__ import annotations

import numpy as np
import pytest
from memory_support import (
    PRIVATE_APERTURE,
    SHARED_APERTURE,
    area,
    lanes_of,
    rules,
    run,
    set_addresses,
    set_resource,
    wave,
)
from numpy.typing import NDArray

from ckgen_emulator.bindings import LANES, Wave

pytestmark = pytest.mark.amd

ARCH = "gfx942"
SPACES = ("global", "flat", "buffer", "scratch")
MASKS = (2**64 - 1, 0x8000_F00F_1234_5671)
LOADS = {
    "ubyte": 1, "sbyte": 1, "ushort": 2, "sshort": 2, "dword": 4, "dwordx2": 8, "dwordx3": 12, "dwordx4": 16,
    "ubyte_d16": 1, "ubyte_d16_hi": 1, "sbyte_d16": 1, "sbyte_d16_hi": 1, "short_d16": 2, "short_d16_hi": 2,
}  # fmt: skip
STORES = {
    "byte": 1, "byte_d16_hi": 1, "short": 2, "short_d16_hi": 2, "dword": 4, "dwordx2": 8, "dwordx3": 12, "dwordx4": 16,
}  # fmt: skip
FIRST = 20  # the first data register


def span(first: int, size: int) -> str:
    """The registers that hold so many bytes."""
    count = (size + 3) // 4
    return f"v{first}" if count == 1 else f"v[{first}:{first + count - 1}]"


def registers(sizes: dict[str, int]) -> dict[str, int]:
    """Each operation's first register; tuples begin at even ones."""
    at, found = FIRST, {}
    for name, size in sizes.items():
        found[name] = at
        at += (size + 7) // 8 * 2
    return found


def loaded(name: str, data: bytes, old: int) -> list[int]:
    """The dwords that a load leaves in its registers, by the ISA's description of each."""
    if name.startswith("dword"):
        return [int.from_bytes(data[at : at + 4], "little") for at in range(0, len(data), 4)]
    value = int.from_bytes(data, "little", signed=name.startswith("s") and not name.startswith("short"))
    if "d16" not in name:
        return [value & 0xFFFFFFFF]
    if name.endswith("_hi"):
        return [old & 0xFFFF | (value & 0xFFFF) << 16]
    return [old & 0xFFFF0000 | value & 0xFFFF]


def access(space: str, kind: str, name: str, data: str, index: int, offset: int) -> str:
    """One instruction with its own address operand `index`."""
    if space == "buffer":
        return f"buffer_{kind}_{name} {data}, v2, s[8:11], s{40 + index} offen offset:{offset}"
    address = {"global": "v3", "flat": f"v[{100 + 2 * index}:{101 + 2 * index}]", "scratch": "v4"}[space]
    scalar = {"global": f", s[{40 + 2 * index}:{41 + 2 * index}]", "flat": "", "scratch": f", s{40 + index}"}[space]
    both = (data, address) if kind == "load" else (address, data)
    return f"{space}_{kind}_{name} {both[0]}, {both[1]}{scalar} offset:{offset}"


def place(space: str, state: Wave, base: int, offsets: NDArray[np.uint32], starts: list[int]) -> None:
    """Address operands: each operation has its own start, each lane its own offset from it."""
    state.vectors[2:5] = offsets
    for index, start in enumerate(starts):
        if space == "buffer":
            state.scalars[40 + index] = start
        elif space == "global":
            state.set_pair(40 + 2 * index, base + start)
        elif space == "scratch":
            state.scalars[40 + index] = start
        else:
            set_addresses(state, 100 + 2 * index, offsets.astype(np.uint64) + np.uint64(base + start))


@pytest.mark.parametrize("checked", [True, False])
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("space", ["global", "flat", "buffer"])
def test_loads(space: str, mask: int, checked: bool) -> None:
    offsets = np.random.default_rng(5).permutation(LANES).astype(np.uint32) * 21
    first = registers(LOADS)
    starts = [3 + 16 * index for index in range(len(LOADS))]
    lines = [
        access(space, "load", name, span(first[name], size), index, 5)
        for index, (name, size) in enumerate(LOADS.items())
    ]
    with area(ARCH, 2048) as memory:
        state = wave()
        before = state.vectors.copy()
        place(space, state, memory.address, offsets, starts)
        set_resource(state, 8, memory.address, memory.bytes.size)
        state.exec_mask = mask
        result = run(ARCH, "\n".join([*lines, "s_waitcnt vmcnt(0) lgkmcnt(0)"]), state, checked=checked)
        assert not result.findings
        for index, (name, size) in enumerate(LOADS.items()):
            for lane in range(LANES):
                at = starts[index] + 5 + int(offsets[lane])
                old = before[first[name] :, lane]
                words = loaded(name, memory.bytes[at : at + size].tobytes(), int(old[0]))
                expected = words if mask >> lane & 1 else old[: len(words)].tolist()
                assert state.vectors[first[name] : first[name] + len(words), lane].tolist() == expected, (name, lane)
        assert result.counts["global_read"] == sum(LOADS.values()) * mask.bit_count()


@pytest.mark.parametrize("checked", [True, False])
@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("space", ["global", "flat", "buffer"])
def test_stores(space: str, mask: int, checked: bool) -> None:
    offsets = np.random.default_rng(6).permutation(LANES).astype(np.uint32) * 17
    first = registers(STORES)
    starts = [1100 * index for index in range(len(STORES))]
    lines = [
        access(space, "store", name, span(first[name], size), index, 7)
        for index, (name, size) in enumerate(STORES.items())
    ]
    with area(ARCH, 1100 * len(STORES), written=False) as memory:
        expected = memory.bytes.copy()
        state = wave()
        for index, (name, size) in enumerate(STORES.items()):
            for lane in np.flatnonzero(lanes_of(mask)):
                data = state.vectors[first[name] : first[name] + 4, lane].tobytes()[2 if name.endswith("_hi") else 0 :]
                at = starts[index] + 7 + int(offsets[lane])
                expected[at : at + size] = np.frombuffer(data[:size], np.uint8)
        place(space, state, memory.address, offsets, starts)
        set_resource(state, 8, memory.address, memory.bytes.size)
        state.exec_mask = mask
        result = run(ARCH, "\n".join(lines), state, checked=checked)
        assert not result.findings
        np.testing.assert_array_equal(memory.bytes, expected)
        assert result.counts["global_written"] == sum(STORES.values()) * mask.bit_count()


@pytest.mark.parametrize("mask", MASKS)
def test_scratch_is_private(mask: int) -> None:
    """Every lane reads back what it stored, by VGPR, SGPR and both; FLAT reaches the same bytes."""
    text = """
    scratch_store_dwordx4 v2, v[20:23], off offset:16
    scratch_store_short v2, v24, off offset:40
    scratch_store_byte_d16_hi v2, v24, off offset:42
    scratch_store_byte v2, v24, off offset:43
    scratch_load_dwordx4 v[30:33], v2, off offset:16
    scratch_load_dword v34, v2, s40
    scratch_load_dword v35, off, s41 offset:4
    flat_load_dword v36, v[4:5] offset:20
    flat_store_dword v[4:5], v25 offset:24
    scratch_load_dword v37, v2, off offset:24
    s_waitcnt vmcnt(0) lgkmcnt(0)
    """
    state = wave()
    state.vectors[2] = 8
    state.scalars[40], state.scalars[41] = 40, 24
    set_addresses(state, 4, np.full(LANES, PRIVATE_APERTURE + 8, np.uint64))
    state.exec_mask = mask
    before = state.vectors.copy()
    result = run(ARCH, text, state)
    assert not result.findings
    on = lanes_of(mask)
    v = before.astype(np.int64)
    packed = v[24] & 0xFFFF | (v[24] >> 16 & 0xFF) << 16 | (v[24] & 0xFF) << 24
    expected = {30: v[20], 31: v[21], 32: v[22], 33: v[23], 34: packed, 35: v[21], 36: v[21], 37: v[25]}
    for row, value in expected.items():
        np.testing.assert_array_equal(state.vectors[row], np.where(on, value, v[row]), str(row))


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("checked", [True, False])
def test_scratch_in_all_widths(mask: int, checked: bool) -> None:
    """32 bytes per lane, stored in every width that fills them; every load at an offset of its own."""
    stores = """
    scratch_store_dwordx3 v2, v[8:10], off
    scratch_store_dwordx4 v2, v[12:15], off offset:12
    scratch_store_short_d16_hi v2, v16, off offset:28
    scratch_store_short v2, v17, off offset:30
    """
    first = registers(LOADS)
    at = {name: (7 * index + 1) % (32 - size) for index, (name, size) in enumerate(LOADS.items())}
    loads = [
        f"scratch_load_{name} {span(first[name], size)}, v2, off offset:{at[name]}" for name, size in LOADS.items()
    ]
    state = wave()
    state.vectors[2] = 0
    state.exec_mask = mask
    before = state.vectors.copy()
    result = run(ARCH, stores + "\n".join([*loads, "s_waitcnt vmcnt(0)"]), state, checked=checked)
    assert not result.findings
    for lane in range(LANES):
        old = before[:, lane]
        data = old[[8, 9, 10, 12, 13, 14, 15]].tobytes() + old[16:17].tobytes()[2:] + old[17:18].tobytes()[:2]
        for name, size in LOADS.items():
            row = first[name]
            words = loaded(name, data[at[name] : at[name] + size], int(old[row]))
            expected = words if mask >> lane & 1 else old[row : row + len(words)].tolist()
            assert state.vectors[row : row + len(words), lane].tolist() == expected, (name, lane)


def test_scratch_ends_and_begins_unwritten() -> None:
    state = wave()
    state.vectors[2] = np.where(np.arange(LANES) == 7, 253, 0)
    result = run(
        ARCH,
        "scratch_store_dword v2, v20, off\ns_waitcnt vmcnt(0)\n"
        "scratch_load_dwordx2 v[30:31], off, off\ns_waitcnt vmcnt(0)",
        state,
    )
    assert rules(result) == ["out_of_bounds", "uninitialised"]
    outside = next(one for one in result.findings if one.rule == "out_of_bounds")
    assert outside.lane == 7
    assert "4 bytes at 253 of a private segment of 256 bytes" in outside.what


def test_flat_reaches_lds() -> None:
    state = wave()
    state.vectors[2] = np.arange(LANES) * 16
    set_addresses(state, 4, SHARED_APERTURE + np.arange(LANES, dtype=np.uint64) * np.uint64(16))
    before = state.vectors.copy()
    text = """
    flat_store_dwordx4 v[4:5], v[20:23] offset:64
    s_waitcnt vmcnt(0) lgkmcnt(0)
    ds_read_b32 v30, v2 offset:68
    flat_load_ushort v31, v[4:5] offset:66
    s_waitcnt vmcnt(0) lgkmcnt(0)
    """
    assert not run(ARCH, text, state).findings
    np.testing.assert_array_equal(state.vectors[30], before[21])
    np.testing.assert_array_equal(state.vectors[31], before[20] >> 16)
    np.testing.assert_array_equal(state.lds[64 : 64 + 1024].view(np.uint32).reshape(LANES, 4).T, before[20:24])


@pytest.mark.parametrize("offset", [-4096, -1, 4095])
def test_global_offsets_are_signed(offset: int) -> None:
    with area(ARCH, 16384) as memory:
        state = wave()
        at = 5000 + 8 * np.arange(LANES)
        set_addresses(state, 2, np.uint64(memory.address) + at.astype(np.uint64))
        run(ARCH, f"global_load_ubyte v20, v[2:3], off offset:{offset}\ns_waitcnt vmcnt(0)", state)
        np.testing.assert_array_equal(state.vectors[20], memory.bytes[at + offset])


@pytest.mark.parametrize("checked", [True, False])
@pytest.mark.parametrize("where", [-1, -16, 241, 256, 255, 4000, -4000])
def test_outside_of_allocations(where: int, checked: bool) -> None:
    """One lane outside: it reads 0 and writes nothing, the others go on."""
    with area(ARCH, 256) as memory:
        state = wave()
        at = np.full(LANES, 64, np.int64)
        at[9] = where
        set_addresses(state, 2, (memory.address + at).astype(np.uint64))
        expected = memory.bytes.copy()
        result = run(ARCH, "global_load_dwordx4 v[20:23], v[2:3], off\ns_waitcnt vmcnt(0)", state, checked=checked)
        assert rules(result) == ["out_of_bounds"]
        assert result.findings[0].lane == 9
        assert "16 bytes" in result.findings[0].what
        assert "allocation of 256 bytes" in result.findings[0].what
        assert not state.vectors[20:24, 9].any()
        np.testing.assert_array_equal(state.vectors[20:24, 8], memory.bytes[64:80].view(np.uint32))
        state.exec_mask = 1 << 9
        result = run(ARCH, "global_store_dwordx4 v[2:3], v[24:27], off", state, checked=checked)
        assert rules(result) == ["out_of_bounds"]
        np.testing.assert_array_equal(memory.bytes, expected)


def test_the_message_says_how_far_away() -> None:
    with area(ARCH, 256) as memory:
        for where, words in (
            (250, "end 10 bytes past"),
            (296, "begin 40 bytes past the end of"),
            (-24, "begin 24 bytes before"),
        ):
            state = wave()
            set_addresses(state, 2, np.full(LANES, memory.address + where, np.uint64))
            assert (
                words
                in run(ARCH, "global_load_dwordx4 v[20:23], v[2:3], off\ns_waitcnt vmcnt(0)", state).findings[0].what
            )


def test_lanes_may_be_in_several_allocations() -> None:
    with area(ARCH, 256, 1) as one, area(ARCH, 256, 2) as other:
        state = wave()
        lane = np.arange(LANES)
        base = np.where(lane % 3 == 0, one.address, other.address).astype(np.uint64)
        set_addresses(state, 2, base + (lane * 4).astype(np.uint64))
        assert not run(ARCH, "global_load_dword v20, v[2:3], off\ns_waitcnt vmcnt(0)", state).findings
        np.testing.assert_array_equal(
            state.vectors[20], np.where(lane % 3 == 0, one.bytes.view(np.uint32), other.bytes.view(np.uint32))
        )


@pytest.mark.parametrize("checked", [True, False])
def test_read_only_memory(checked: bool) -> None:
    with area(ARCH, 256, writable=False) as memory:
        state = wave()
        set_addresses(state, 2, np.full(LANES, memory.address, np.uint64))
        before = memory.bytes.copy()
        text = """
        global_load_dword v20, v[2:3], off
        global_store_dword v[2:3], v21, off
        global_atomic_add v[2:3], v21, off
        s_waitcnt vmcnt(0)
        """
        assert rules(run(ARCH, text, state, checked=checked)) == ["out_of_bounds", "out_of_bounds"]
        np.testing.assert_array_equal(memory.bytes, before)


def test_uninitialised_memory() -> None:
    """Bytes count as written one by one; only those that a lane reads matter."""
    with area(ARCH, 1024, written=False) as memory:
        state = wave()
        lane = np.arange(LANES, dtype=np.uint64)
        set_addresses(state, 2, np.uint64(memory.address) + lane * np.uint64(16))
        text = """
        global_store_byte v[2:3], v23, off offset:5
        global_store_dwordx3 v[2:3], v[20:22], off
        s_waitcnt vmcnt(0)
        global_load_dwordx3 v[24:26], v[2:3], off
        s_waitcnt vmcnt(0)
        """
        assert not run(ARCH, text, state).findings
        result = run(ARCH, "global_load_dwordx4 v[24:27], v[2:3], off\ns_waitcnt vmcnt(0)", state)
        assert rules(result) == ["uninitialised"]
        assert "byte 12 of 16 bytes" in result.findings[0].what
        result = run(
            ARCH,
            "global_load_ubyte v24, v[2:3], off offset:12\n"
            "global_load_ubyte v25, v[2:3], off offset:11\ns_waitcnt vmcnt(0)",
            state,
        )
        assert [(one.rule, one.count) for one in result.findings] == [("uninitialised", 1)]
        assert not run(
            ARCH, "global_load_dwordx4 v[24:27], v[2:3], off\ns_waitcnt vmcnt(0)", state, checked=False
        ).findings


@pytest.mark.parametrize("start", range(48, 72, 3))
def test_every_byte_is_known_for_itself(start: int) -> None:
    """Fifteen bytes are written, in two places; a load of sixteen misses the one between."""
    with area(ARCH, 256, written=False) as memory:
        state = wave()
        state.exec_mask = 1
        gap = start % 16
        stores = [f"global_store_byte v[2:3], v20, off offset:{start + at}" for at in range(16) if at != gap]
        text = "\n".join([*stores, f"global_load_dwordx4 v[24:27], v[2:3], off offset:{start}", "s_waitcnt vmcnt(0)"])
        set_addresses(state, 2, np.full(LANES, memory.address, np.uint64))
        result = run(ARCH, text, state)
        assert rules(result) == ["uninitialised"]
        assert f"byte {gap} of 16 bytes" in result.findings[0].what


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("wait", ["", "s_waitcnt vmcnt(0) lgkmcnt(0)"])
def test_use_before_wait(space: str, wait: str) -> None:
    counters = {"flat": 2}.get(space, 1)
    with area(ARCH, 256) as memory:
        for use in ("v_mov_b32 v30, v21", "v_mov_b32 v21, 0"):
            state = wave()
            state.vectors[2:5] = 0
            set_resource(state, 8, memory.address, 256)
            place(space, state, memory.address, np.zeros(LANES, np.uint32), [0])
            load = access(space, "load", "dwordx2", "v[20:21]", 0, 0)
            store = access(space, "store", "dwordx2", "v[20:21]", 0, 0)
            result = run(
                ARCH,
                "\n".join([store, "s_waitcnt vmcnt(0) lgkmcnt(0)", load, wait, use, "s_waitcnt vmcnt(0) lgkmcnt(0)"]),
                state,
            )
            assert rules(result) == ([] if wait else ["before_wait"]), result.findings
            if not wait:
                assert result.findings[0].count == counters
