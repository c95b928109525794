"""Buffer resources: what is in range, where structured and swizzled buffers lie, loads straight to LDS."""

from __future__ import annotations

import numpy as np
import pytest
from memory_support import RAW_BUFFER, Area, area, rules, run, set_addresses, set_resource, wave
from numpy.typing import NDArray

from ckgen_emulator.bindings import EXEC, LANES, M0

pytestmark = pytest.mark.amd

ARCH = "gfx942"
WAIT = "\ns_waitcnt vmcnt(0) lgkmcnt(0)"


def words_in_range(memory: Area, address: NDArray[np.int64], count: int, end: int) -> NDArray[np.uint32]:
    """Dwords at each lane's offset, 0 where one does not end by `end`; `count` rows."""
    found = np.zeros((count, LANES), np.uint32)
    for part in range(count):
        for lane, at in enumerate(address + 4 * part):
            if at + 4 <= end:
                found[part, lane] = memory.bytes[at : at + 4].view(np.uint32)[0]
    return found


@pytest.mark.parametrize("checked", [True, False])
@pytest.mark.parametrize(
    ("records", "soffset"), [(1000, 0), (998, 0), (1000, 400), (1000, 999), (1000, 5000), (0, 0), (3, 0)]
)
def test_raw_range(records: int, soffset: int, checked: bool) -> None:
    """Dword for dword: an offset is in range if it and SOFFSET end within NUM_RECORDS."""
    with area(ARCH, 2048) as memory:
        state = wave()
        offsets = np.arange(LANES) * 17
        state.vectors[2] = offsets
        state.scalars[12] = soffset
        set_resource(state, 8, memory.address, records)
        text = """
        buffer_load_dwordx4 v[20:23], v2, s[8:11], s12 offen offset:3
        buffer_load_ushort v24, v2, s[8:11], s12 offen
        buffer_store_dwordx3 v[30:32], v2, s[8:11], s13 offen offset:1000
        """
        state.scalars[13] = 0
        assert not run(ARCH, text + WAIT, state, checked=checked).findings
        at = offsets + soffset + 3
        expected = words_in_range(memory, at, 4, records)
        np.testing.assert_array_equal(state.vectors[20:24], expected)
        halves = [int(memory.bytes[o : o + 2].view(np.uint16)[0]) if o + 2 <= records else 0 for o in offsets + soffset]
        assert state.vectors[24].tolist() == halves


@pytest.mark.parametrize("checked", [True, False])
def test_raw_stores_are_dropped_dword_for_dword(checked: bool) -> None:
    with area(ARCH, 2048) as memory:
        state = wave()
        offsets = np.arange(LANES) * 32
        state.vectors[2] = offsets
        set_resource(state, 8, memory.address, 1000)
        expected = memory.bytes.copy()
        for lane, at in enumerate(offsets):
            for part in range(4):
                if at + 4 * part + 4 <= 1000:
                    expected[at + 4 * part : at + 4 * part + 4] = np.frombuffer(
                        state.vectors[20 + part, lane].tobytes(), np.uint8
                    )
        result = run(ARCH, "buffer_store_dwordx4 v[20:23], v2, s[8:11], 0 offen" + WAIT, state, checked=checked)
        assert not result.findings
        np.testing.assert_array_equal(memory.bytes, expected)


def test_offsets_wrap_before_the_range_check() -> None:
    """VADDR + immediate is modulo 2^32, SOFFSET is added after that."""
    with area(ARCH, 256) as memory:
        state = wave()
        state.vectors[2] = 0xFFFFFFF0
        state.vectors[3] = 16
        state.scalars[12] = 0xFFFFFFF8
        set_resource(state, 8, memory.address, 256)
        text = "buffer_load_dword v20, v2, s[8:11], 0 offen offset:36\nbuffer_load_dword v21, v3, s[8:11], s12 offen\n"
        assert not run(ARCH, text + WAIT, state).findings
        assert (state.vectors[20] == memory.bytes[20:24].view(np.uint32)).all()
        assert not state.vectors[21].any()


def test_all_of_the_range_has_to_exist() -> None:
    """NUM_RECORDS beyond the allocation does not make the memory there."""
    with area(ARCH, 256) as memory:
        state = wave()
        state.vectors[2] = np.arange(LANES) * 4 + 8
        set_resource(state, 8, memory.address, 4096)
        result = run(ARCH, "buffer_load_dword v20, v2, s[8:11], 0 offen" + WAIT, state)
        assert rules(result) == ["out_of_bounds"]
        assert result.findings[0].lane == 62
        assert not state.vectors[20, 62:].any()


@pytest.mark.parametrize(
    ("text", "index", "offset"), [("idxen", True, False), ("offen", False, True), ("idxen offen", True, True)]
)
def test_structured(text: str, index: bool, offset: bool) -> None:
    """With idxen NUM_RECORDS counts records; without, a stride changes nothing and it counts bytes."""
    stride, records = 20, 40
    with area(ARCH, 4096) as memory:
        state = wave()
        lane = np.arange(LANES)
        indices, offsets = (lane * 7) % 64, lane % 5 * 4
        operands = [indices] * index + [offsets] * offset
        for row, values in enumerate(operands):
            state.vectors[2 + row] = values
        state.scalars[12] = 8
        set_resource(state, 8, memory.address, records, stride=stride)
        registers = "v[2:3]" if len(operands) == 2 else "v2"
        assert not run(
            ARCH, f"buffer_load_dwordx2 v[20:21], {registers}, s[8:11], s12 {text} offset:4" + WAIT, state
        ).findings
        start = indices * stride * index + offsets * offset + 4 + 8
        words = words_in_range(memory, start, 2, 1 << 30 if index else records)
        np.testing.assert_array_equal(state.vectors[20:22], np.where(indices < records, words, 0) if index else words)


@pytest.mark.parametrize("code", [0, 1, 2, 3])
def test_swizzled(code: int) -> None:
    """Elements of 4 bytes of `index stride` records lie side by side (CDNA3 ISA, "Swizzled buffer addressing")."""
    index_stride, stride = 8 << code, 24
    with area(ARCH, 64 * stride) as memory:
        state = wave()
        lane = np.arange(LANES)
        state.vectors[2], state.vectors[3] = lane, lane % 3 * 4
        set_resource(state, 8, memory.address, 64, stride=stride, swizzled=True, word3=RAW_BUFFER | code << 21)
        expected = np.zeros((3, LANES), np.uint32)
        for one in lane:
            for part in range(3):
                offset = one % 3 * 4 + 4 + 4 * part
                block = one // index_stride * stride * index_stride
                at = block + offset // 4 * 4 * index_stride + one % index_stride * 4 + offset % 4
                expected[part, one] = memory.bytes[at : at + 4].view(np.uint32)[0]
        assert not run(
            ARCH, "buffer_load_dwordx3 v[20:22], v[2:3], s[8:11], 0 idxen offen offset:4" + WAIT, state
        ).findings
        np.testing.assert_array_equal(state.vectors[20:23], expected)
        data = state.vectors[30:33].copy()
        memory.bytes[:] = 0
        assert not run(
            ARCH,
            "buffer_store_dwordx3 v[30:32], v[2:3], s[8:11], 0 idxen offen offset:4\n"
            "buffer_load_dwordx3 v[24:26], v[2:3], s[8:11], 0 idxen offen offset:4" + WAIT,
            state,
        ).findings
        np.testing.assert_array_equal(state.vectors[24:27], data)


def test_thread_numbers_in_the_address() -> None:
    with area(ARCH, 4096) as memory:
        state = wave()
        set_resource(state, 8, memory.address, 4096, stride=12, word3=1 << 23)
        assert not run(ARCH, "buffer_load_dword v20, off, s[8:11], 0 offset:4" + WAIT, state).findings
        expected = words_in_range(memory, np.arange(LANES) * 12 + 4, 1, 4096)
        np.testing.assert_array_equal(state.vectors[20], expected[0])


@pytest.mark.parametrize("checked", [True, False])
@pytest.mark.parametrize(
    ("arch", "op", "size"),
    [
        ("gfx942", "dword", 4),
        ("gfx942", "ushort", 2),
        ("gfx942", "sbyte", 1),
        ("gfx950", "dwordx3", 12),
        ("gfx950", "dwordx4", 16),
    ],
)
def test_buffer_to_lds(arch: str, op: str, size: int, checked: bool) -> None:
    """LDS address: M0 + immediate + lane · whole dwords; lanes out of range write zeros, lanes that are off nothing."""
    whole, skew, immediate = max(size, 4), 48, 32
    with area(arch, 4096) as memory:
        state = wave()
        state.lds[:] = 0xAA
        lane = np.arange(LANES)
        state.vectors[2] = lane * 20
        state.scalars[M0] = skew
        state.exec_mask = 2**64 - 1 & ~(1 << 5)
        end = 1000
        set_resource(state, 8, memory.address, end)
        load = f"buffer_load_{op} v2, s[8:11], 0 offen offset:{immediate} lds" + WAIT
        assert not run(arch, load, state, checked=checked).findings
        expected = np.full(65536, 0xAA, np.uint8)
        for one in lane[lane != 5]:
            at = int(one) * 20 + immediate
            data = bytearray(whole)
            for start in range(0, size, 4):
                part = min(4, size)
                if at + start + part <= end:
                    data[start : start + part] = memory.bytes[at + start : at + start + part].tobytes()
            if op == "sbyte" and data[0] & 0x80:
                data[1:] = b"\xff" * 3
            to = skew + immediate + int(one) * whole
            expected[to : to + whole] = np.frombuffer(bytes(data), np.uint8)
        np.testing.assert_array_equal(state.lds, expected)


@pytest.mark.parametrize(
    ("arch", "op", "size"),
    [
        ("gfx942", "dword", 4), ("gfx942", "ubyte", 1), ("gfx942", "sbyte", 1), ("gfx942", "ushort", 2),
        ("gfx942", "sshort", 2), ("gfx950", "dwordx3", 12), ("gfx950", "dwordx4", 16),
    ],
)  # fmt: skip
def test_global_to_lds(arch: str, op: str, size: int) -> None:
    """The immediate counts for both addresses."""
    whole = max(size, 4)
    with area(arch, 4096) as memory:
        state = wave()
        state.vectors[2] = np.arange(LANES) * 32
        state.set_pair(12, memory.address)
        state.scalars[M0] = 256
        assert not run(arch, f"global_load_lds_{op} v2, s[12:13] offset:16" + WAIT, state).findings
        rows = np.zeros((LANES, whole), np.uint8)
        for lane in range(LANES):
            rows[lane, :size] = memory.bytes[lane * 32 + 16 : lane * 32 + 16 + size]
            if op.startswith("s"):
                rows[lane, size:] = 0xFF if rows[lane, size - 1] & 0x80 else 0
        np.testing.assert_array_equal(state.lds[272 : 272 + LANES * whole], rows.ravel())


def test_to_lds_takes_whole_dwords() -> None:
    with area(ARCH, 256) as memory:
        state = wave()
        set_addresses(state, 2, np.full(LANES, memory.address + 2, np.uint64))
        state.scalars[M0] = 0
        assert rules(run(ARCH, "global_load_lds_dword v[2:3], off" + WAIT, state)) == ["misaligned"]


def test_nothing_happens_without_lanes() -> None:
    with area(ARCH, 256) as memory:
        state = wave()
        before = state.vectors.copy()
        set_resource(state, 8, 0xDEAD000, 4096)
        state.set_pair(EXEC, 0)
        text = "buffer_load_dword v20, off, s[8:11], 0\nbuffer_store_dword v20, off, s[8:11], 0\n"
        text += "buffer_atomic_add v20, off, s[8:11], 0 sc0"
        assert not run(ARCH, text + WAIT, state).findings
        np.testing.assert_array_equal(state.vectors, before)
        del memory
