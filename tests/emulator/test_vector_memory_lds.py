"""Loads straight to LDS: which bits of M0 count, what is refused, where lanes that are alone put their data."""

from __future__ import annotations

import numpy as np
import pytest
from memory_support import area, run, set_resource
from step_support import CHIPS

from ckgen_emulator.bindings import LANES, M0, Run, Wave

pytestmark = pytest.mark.amd

WAIT = "\ns_waitcnt vmcnt(0)"
EDGES = (0, 1, 31, 32, 63)


def state(address: int, lds: int, mask: int, m0: int, *, swizzled: bool = False, stride: int = 0) -> Wave:
    """Lane l's data lies 16 l bytes from `address`: v[2:3] have it, v4 with s[12:13], and a buffer in s[8:11]."""
    made = Wave(lds_bytes=lds)
    made.lds[:] = 0xEE
    made.exec_mask = mask
    places = address + 16 * np.arange(LANES, dtype=np.uint64)
    made.vectors[2], made.vectors[3] = places % np.uint64(2**32), places >> np.uint64(32)
    made.vectors[4] = 16 * np.arange(LANES)
    made.set_pair(12, address)
    set_resource(made, 8, address, 1024, swizzled=swizzled, stride=stride)
    made.scalars[M0] = m0
    return made


def one_lane(arch: str, text: str, made: Wave) -> Run:
    result = run(arch, text + WAIT, made)
    assert not result.findings, result.findings
    return result


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_m0_has_as_many_bits_as_lds_needs(arch: str) -> None:
    bits = 18 if arch == "gfx950" else 16
    lds = CHIPS[arch].lds_bytes
    load = "buffer_load_dword v4, s[8:11], 0 offen offset:32 lds"
    with area(arch, 1024 + 32) as memory:
        for bit in range(32):
            for m0, start in ((1 << bit, 1 << bit if bit < bits else 0), (0xFFFFFFFF << bits & 0xFFFFFFFF | 4, 4)):
                made = state(memory.address, lds, 1, m0)
                one_lane(arch, load, made)
                start += 32
                assert made.lds[start : start + 4].tobytes() == memory.bytes[32:36].tobytes()
                assert (made.lds[:start] == 0xEE).all() and (made.lds[start + 4 :] == 0xEE).all()


LOADS = (
    ("gfx942", "buffer_load_ubyte v4, s[8:11], 0 offen lds", 1, 0),
    ("gfx942", "buffer_load_sshort v4, s[8:11], 0 offen lds", 2, 1),
    ("gfx942", "buffer_load_dword v4, s[8:11], 0 offen lds", 4, 0),
    ("gfx950", "buffer_load_dwordx3 v4, s[8:11], 0 offen lds", 12, 0),
    ("gfx950", "buffer_load_dwordx4 v4, s[8:11], 0 offen lds", 16, 0),
    ("gfx942", "global_load_lds_ubyte v[2:3], off", 1, 0),
    ("gfx942", "global_load_lds_sbyte v4, s[12:13]", 1, 1),
    ("gfx942", "global_load_lds_ushort v[2:3], off", 2, 0),
    ("gfx942", "global_load_lds_dword v4, s[12:13]", 4, 0),
    ("gfx950", "global_load_lds_dwordx3 v[2:3], off", 12, 0),
    ("gfx950", "global_load_lds_dwordx4 v4, s[12:13]", 16, 0),
)


@pytest.mark.parametrize(("arch", "text", "size", "signed"), LOADS, ids=[one[1].split()[0] for one in LOADS])
def test_one_lane_alone(arch: str, text: str, size: int, signed: int) -> None:
    """It writes its own place; bytes are counted, LDS' by whole dwords."""
    whole = max(size, 4)
    with area(arch, 1024) as memory:
        memory.bytes[15::16] |= 0x80
        for lane in EDGES:
            for top in (0x00, 0x80):
                memory.bytes[16 * lane + size - 1] = top | 5
                made = state(memory.address, 4096, 1 << lane, 64)
                result = one_lane(arch, text, made)
                data = memory.bytes[16 * lane : 16 * lane + size].tobytes()
                data += (b"\xff" if signed and top else b"\0") * (whole - size)
                start = 64 + whole * lane
                assert made.lds[start : start + whole].tobytes() == data
                assert (made.lds[:start] == 0xEE).all() and (made.lds[start + whole :] == 0xEE).all()
                assert (result.counts["global_read"], result.counts["lds_written"]) == (size, whole)


@pytest.mark.parametrize("stride", [0, 1, 2, 4, 8])
@pytest.mark.parametrize("swizzled", [False, True])
def test_several_dwords_from_a_swizzled_buffer_are_not_executed(swizzled: bool, stride: int) -> None:
    """What lies apart does not go to LDS in one piece; a dword does."""
    with area("gfx950", 1024) as memory:
        for name, size in (("dword", 4), ("dwordx3", 12), ("dwordx4", 16)):
            made = state(memory.address, 4096, 1, 0, swizzled=swizzled, stride=stride)
            result = run("gfx950", f"buffer_load_{name} v4, s[8:11], 0 offen lds" + WAIT, made)
            if swizzled and stride and size > 4:
                [finding] = result.findings
                said = "loads of several dwords to LDS from a swizzled buffer are not executed"
                assert (finding.rule, finding.what) == ("unsupported", said)
                assert (made.lds == 0xEE).all()
            else:
                assert not result.findings
                assert made.lds[:size].tobytes() == memory.bytes[:size].tobytes()


@pytest.mark.parametrize("lane", EDGES)
def test_lds_ends_before_the_data(lane: int) -> None:
    """The lane that is beyond is named; those before have their data."""
    with area("gfx942", 1024) as memory:
        for load in ("global_load_lds_dword v4, s[12:13]", "buffer_load_ubyte v4, s[8:11], 0 offen lds"):
            size = 4 * lane + 3
            made = state(memory.address, size, (2 << lane) - 1, 0)
            result = run("gfx942", load + WAIT, made)
            [finding] = result.findings
            said = f"4 bytes at LDS address {4 * lane}, of which the workgroup has {size}"
            assert (finding.rule, finding.lane, finding.what) == ("out_of_bounds", lane, said)
            assert (made.lds[4 * lane :] == 0xEE).all() and result.counts["lds_written"] == 4 * lane
            if lane:
                expected = memory.bytes.reshape(LANES, 16)[:lane, 0]
                np.testing.assert_array_equal(made.lds[: 4 * lane : 4], expected)


@pytest.mark.parametrize("size", [2, 4])
def test_lanes_that_are_not_aligned_write_zeros(size: int) -> None:
    name = {2: "ushort", 4: "dword"}[size]
    with area("gfx942", 1024) as memory:
        for lane in EDGES:
            made = state(memory.address, 4096, 2**64 - 1, 0)
            made.vectors[4, lane] += size // 2
            result = run("gfx942", f"global_load_lds_{name} v4, s[12:13]" + WAIT, made)
            [finding] = result.findings
            at = memory.address + 16 * lane + size // 2
            assert finding.what.startswith(f"not a multiple of {size}: 4 bytes at {at:#x} ")
            assert (finding.rule, finding.lane) == ("misaligned", lane)
            rows = made.lds[: 4 * LANES].reshape(LANES, 4)
            assert not rows[lane].any()
            others = np.arange(LANES) != lane
            np.testing.assert_array_equal(rows[others, :size], memory.bytes.reshape(LANES, 16)[others, :size])
