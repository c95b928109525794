"""LDS instructions one by one, against numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from lds_support import LANES, SOME, fresh, lanes_of, step
from numpy.typing import NDArray
from step_support import assemble, emulator

from ckgen_emulator.bindings import M0, Options, Wave

pytestmark = pytest.mark.amd


def element(lds: NDArray[np.uint8], at: NDArray[np.integer[Any]], kind: Any) -> Any:
    """What lies at byte addresses, one per lane."""
    width = np.dtype(kind).itemsize
    gathered = np.stack([lds[at + byte] for byte in range(width)], 1)
    return np.ascontiguousarray(gathered).view(kind)[:, 0]


@pytest.mark.parametrize("checked", [True, False])
@pytest.mark.parametrize("mask", [2**LANES - 1, SOME])
@pytest.mark.parametrize(("stride", "base"), [(16, 0), (80, 64), (20, 3)])
def test_reads(checked: bool, mask: int, stride: int, base: int) -> None:
    """Contiguous, padded and unaligned addresses."""
    wave = fresh(1, mask)
    at = np.random.default_rng(2).permutation(LANES) * stride + base
    wave.vectors[0] = at
    before = wave.vectors.copy()
    text = """
      ds_read_b32 v10, v0 offset:4
      ds_read_b64 v[12:13], v0 offset:8
      ds_read_b96 v[14:16], v0 offset:4000
      ds_read_b128 v[20:23], v0 offset:1000
      ds_read2_b32 v[24:25], v0 offset0:3 offset1:200
      ds_read2_b64 v[28:31], v0 offset0:3 offset1:200
      ds_read2st64_b32 v[32:33], v0 offset0:2 offset1:9
      ds_read2st64_b64 v[36:39], v0 offset0:1 offset1:4
      ds_read_u8 v40, v0 offset:1
      ds_read_i8 v41, v0 offset:2
      ds_read_u16 v42, v0 offset:6
      ds_read_i16 v43, v0 offset:10
      ds_read_u8_d16 v44, v0 offset:1
      ds_read_u8_d16_hi v45, v0 offset:2
      ds_read_i8_d16 v46, v0 offset:3
      ds_read_i8_d16_hi v47, v0 offset:4
      ds_read_u16_d16 v48, v0 offset:6
      ds_read_u16_d16_hi v49, v0 offset:8
      ds_read_b64 a[4:5], v0 offset:8
      ds_read_b128 v[0:3], v0 offset:32
    """
    assert step(text, wave, checked=checked) == ()
    expected = before.copy()

    def dwords(first: int, offset: int, count: int) -> None:
        for part in range(count):
            expected[first + part] = element(wave.lds, at + offset + 4 * part, np.uint32)

    for first, offset, count in [
        (10, 4, 1), (12, 8, 2), (14, 4000, 3), (20, 1000, 4), (24, 12, 1), (25, 800, 1), (28, 24, 2), (30, 1600, 2),
        (32, 512, 1), (33, 2304, 1), (36, 512, 2), (38, 2048, 2), (256 + 4, 8, 2), (0, 32, 4),
    ]:  # fmt: skip
        dwords(first, offset, count)
    for row, kind, offset in [(40, np.uint8, 1), (41, np.int8, 2), (42, np.uint16, 6), (43, np.int16, 10)]:
        expected[row] = element(wave.lds, at + offset, kind).astype(np.int32).view(np.uint32)
    for row, kind, offset, high in [
        (44, np.uint8, 1, False), (45, np.uint8, 2, True), (46, np.int8, 3, False), (47, np.int8, 4, True),
        (48, np.uint16, 6, False), (49, np.uint16, 8, True),
    ]:  # fmt: skip
        half = element(wave.lds, at + offset, kind).astype(np.int32).view(np.uint32) & 0xFFFF
        kept = before[row] & (0xFFFF if high else 0xFFFF0000)
        expected[row] = kept | (half << 16 if high else half)
    expected = np.where(lanes_of(mask), expected, before)
    different = np.flatnonzero((wave.vectors != expected).any(axis=1))
    assert different.size == 0, different


@pytest.mark.parametrize("checked", [True, False])
@pytest.mark.parametrize("mask", [2**LANES - 1, SOME])
@pytest.mark.parametrize(("stride", "base"), [(16, 0), (48, 64), (20, 3)])
def test_writes(checked: bool, mask: int, stride: int, base: int) -> None:
    wave = fresh(3, mask)
    at = np.random.default_rng(4).permutation(LANES) * stride + base
    wave.vectors[0] = at
    expected = wave.lds.copy()
    active = np.flatnonzero(lanes_of(mask))
    v = wave.vectors

    def put(offset: int, *rows: Any, width: int = 4, shift: int = 0) -> None:
        for lane in active:
            for part, row in enumerate(rows):
                start = int(at[lane]) + offset + width * part
                value = int(v[row][lane]) >> shift & (2 ** (8 * width) - 1)
                expected[start : start + width] = np.frombuffer(value.to_bytes(width, "little"), np.uint8)

    text = """
      ds_write_b32 v0, v1 offset:4
      ds_write_b64 v0, v[2:3] offset:3200
      ds_write_b96 v0, v[4:6] offset:3300
      ds_write_b128 v0, v[8:11] offset:6400
      ds_write2_b32 v0, v12, v13 offset0:3 offset1:200
      ds_write2_b64 v0, v[14:15], v[16:17] offset0:3 offset1:200
      ds_write2st64_b32 v0, v18, v19 offset0:20 offset1:25
      ds_write2st64_b64 v0, v[20:21], v[22:23] offset0:19 offset1:21
      ds_write_b8 v0, v24 offset:12000
      ds_write_b8_d16_hi v0, v25 offset:12001
      ds_write_b16 v0, v26 offset:12002
      ds_write_b16_d16_hi v0, v27 offset:12006
      ds_write_b64 v0, a[2:3] offset:8
    """
    assert step(text, wave, checked=checked) == ()
    put(4, 1)
    put(3200, 2, 3)
    put(3300, 4, 5, 6)
    put(6400, 8, 9, 10, 11)
    put(12, 12)
    put(800, 13)
    put(24, 14, 15)
    put(1600, 16, 17)
    put(20 * 256, 18)
    put(25 * 256, 19)
    put(19 * 512, 20, 21)
    put(21 * 512, 22, 23)
    put(12000, 24, width=1)
    put(12001, 25, width=1, shift=16)
    put(12002, 26, width=2)
    put(12006, 27, width=2, shift=16)
    put(8, 258, 259)
    assert np.array_equal(wave.lds, expected)


def test_thread_addresses() -> None:
    """The addtid forms: M0's lower half, the offset and four bytes a lane."""
    wave = fresh(5)
    wave.scalars[M0] = 0xABCD0100
    before = wave.lds.copy()
    assert step("ds_write_addtid_b32 v1 offset:512\nds_read_addtid_b32 v2 offset:4", wave) == ()
    assert np.array_equal(wave.lds.view(np.uint32)[192:256], wave.vectors[1])
    assert np.array_equal(wave.vectors[2], before.view(np.uint32)[65:129])


def reversed5(value: int) -> int:
    return int(f"{value:05b}"[::-1], 2)


SWIZZLES: list[tuple[str, Callable[[int], int]]] = [
    ("swizzle(QUAD_PERM, 3, 1, 0, 2)", lambda i: i & ~3 | (3, 1, 0, 2)[i & 3]),
    ("swizzle(SWAP, 4)", lambda i: i ^ 4),
    ("swizzle(REVERSE, 8)", lambda i: i ^ 7),
    ("swizzle(BROADCAST, 16, 5)", lambda i: i & ~15 | 5),
    ('swizzle(BITMASK_PERM, "01pi0")', lambda i: i & 32 | 8 | i & 4 | (i & 2) ^ 2),
    ("0xc060", lambda i: i & 32 | (i + 3) & 31),
    ("0xc460", lambda i: i & 32 | (i - 3) & 31),
    ("0xc068", lambda i: i & 32 | i & 8 | (i + 3) & 23),
    ("0xe000", lambda i: i & 32 | reversed5(i & 31)),
    ("0xe010", lambda i: i & 32 | i & 16 | reversed5(i & 31) >> 1),
    ("0xe01f", lambda i: i),
]


@pytest.mark.parametrize("mask", [2**LANES - 1, SOME])
def test_exchanges_between_lanes(mask: int) -> None:
    """Swizzles and permutes; lanes that are off give 0 and keep what they have."""
    wave = fresh(10, mask)
    random = np.random.default_rng(11)
    address = random.integers(0, 2**20, LANES).astype(np.uint32)
    wave.vectors[0] = address
    before = wave.vectors.copy()
    lines = [f"ds_swizzle_b32 v{10 + i}, v1 offset:{how}" for i, (how, _) in enumerate(SWIZZLES)]
    lines += ["ds_bpermute_b32 v40, v0, v1 offset:8", "ds_permute_b32 v41, v0, v1 offset:4", "ds_nop"]
    assert step("\n".join(lines), wave) == ()
    active = lanes_of(mask)
    value = np.where(active, before[1], 0)
    for index, (how, source) in enumerate(SWIZZLES):
        moved = np.array([value[source(lane)] for lane in range(LANES)])
        assert np.array_equal(wave.vectors[10 + index], np.where(active, moved, before[10 + index])), how
    pulled = value[(address + 8) // 4 % LANES]
    assert np.array_equal(wave.vectors[40], np.where(active, pulled, before[40]))
    pushed = np.zeros(LANES, np.uint32)
    for lane in np.flatnonzero(active):
        pushed[(address[lane] + 4) // 4 % LANES] = before[1][lane]
    assert np.array_equal(wave.vectors[41], np.where(active, pushed, before[41]))


@pytest.mark.parametrize(("shift", "rules"), [(1, []), (2, ["uninitialised"])])
def test_exchange_reads_only_lanes_that_are_wanted(shift: int, rules: list[str]) -> None:
    """v1 is written in the lower 32 lanes; address 2 * lane names no others, 4 * lane does."""
    text = f"""
      v_mbcnt_lo_u32_b32 v0, -1, 0
      v_mbcnt_hi_u32_b32 v0, -1, v0
      v_lshlrev_b32_e32 v0, {shift}, v0
      s_mov_b32 exec_hi, 0
      v_mov_b32_e32 v1, 7
      s_mov_b32 exec_hi, -1
      ds_bpermute_b32 v2, v0, v1
      s_waitcnt lgkmcnt(0)
    """
    run = emulator("gfx942").step(assemble(text, "gfx942"), Wave(), Options(), all_written=False)
    assert [found.rule for found in run.findings] == rules


@pytest.mark.parametrize(("bits", "dwords"), [(16, 2), (8, 2), (4, 2), (6, 3)])
def test_transposing_reads(bits: int, dwords: int) -> None:
    """Blocks of 16 lanes, each a matrix of 16 columns whose rows lie in consecutive lanes, come out transposed."""
    wave = fresh(12)
    space = 16 if dwords == 3 else 8
    at = np.random.default_rng(13).permutation(LANES) * space
    wave.vectors[0] = at
    assert step(f"ds_read_b{32 * dwords}_tr_b{bits} v[4:{3 + dwords}], v0 offset:32", wave, "gfx950") == ()
    count = 32 * dwords // bits

    def unpacked(words: Any) -> list[int]:
        whole = sum(int(word) << 32 * index for index, word in enumerate(words))
        return [whole >> bits * index & (2**bits - 1) for index in range(count)]

    lds = wave.lds.view(np.uint32)
    for block in range(4):
        rows = [unpacked(lds[(at[lane] + 32) // 4 :][:dwords]) for lane in range(16 * block, 16 * block + 16)]
        matrix = np.array(rows).reshape(count, 16)
        result = np.array([unpacked(wave.vectors[4 : 4 + dwords, 16 * block + lane]) for lane in range(16)])
        assert np.array_equal(result, matrix.T), block


def test_transposing_reads_want_all_lanes_and_alignment() -> None:
    wave = fresh(14, SOME)
    wave.vectors[0] = np.arange(LANES) * 8
    assert step("ds_read_b64_tr_b16 v[4:5], v0", wave, "gfx950") == ("unsupported",)
    wave = fresh(14)
    wave.vectors[0] = np.arange(LANES) * 8 + 4
    assert step("ds_read_b64_tr_b16 v[4:5], v0", wave, "gfx950") == ("misaligned",)
    wave.vectors[0] = np.arange(LANES) * 12
    assert step("ds_read_b96_tr_b6 v[4:6], v0", wave, "gfx950") == ("misaligned",)


@pytest.mark.parametrize("checked", [True, False])
def test_out_of_bounds(checked: bool) -> None:
    """Reads give 0, writes are dropped, each is reported, and an address wraps at 32 bits."""
    wave = fresh(15, size=1024)
    wave.vectors[0] = np.arange(LANES) * 16
    wave.vectors[1] = np.uint32(0xFFFFFFF0) + np.arange(LANES, dtype=np.uint32) % 4 * 4
    before, lds = wave.vectors.copy(), wave.lds.copy()
    assert step("ds_read_b128 v[4:7], v0", wave, checked=checked) == ()
    assert step("ds_read_b32 v8, v1 offset:16", wave, checked=checked) == ()
    assert np.array_equal(wave.vectors[8], lds.view(np.uint32)[np.arange(LANES) % 4])
    assert step("ds_read_b128 v[4:7], v0 offset:8", wave, checked=checked) == ("out_of_bounds",)
    assert not wave.vectors[4:8, 63].any()
    assert np.array_equal(wave.vectors[4][:63], lds.view(np.uint32)[2:254:4])
    assert step("ds_write_b64 v0, v[10:11] offset:12", wave, checked=checked) == ("out_of_bounds",)
    lds.view(np.uint32)[3:255:4] = before[10][:63]
    lds.view(np.uint32)[4:256:4] = before[11][:63]
    assert np.array_equal(wave.lds, lds)
    assert step("ds_add_rtn_u32 v2, v1, v1", wave, checked=checked) == ("out_of_bounds",)
    assert not wave.vectors[2].any()
    for text in ("ds_read_u8 v2, v1", "ds_write_b8 v1, v1", "ds_read2_b32 v[2:3], v0 offset0:0 offset1:255"):
        assert step(text, wave, checked=checked) == ("out_of_bounds",), text
    assert np.array_equal(wave.lds, lds)


def test_unwritten_bytes() -> None:
    """Exactly the bytes that were written may be read."""
    lane = "v_mbcnt_lo_u32_b32 v0, -1, 0\nv_mbcnt_hi_u32_b32 v0, -1, v0\n"
    address = lane + "v_lshlrev_b32_e32 v0, 2, v0\nv_mov_b32_e32 v1, 1\n"

    def rules(text: str) -> list[tuple[str, int]]:
        code = assemble(address + text + "\ns_waitcnt lgkmcnt(0)", "gfx942")
        run = emulator("gfx942").step(code, Wave(1024), Options(), all_written=False)
        return [(found.rule, found.lane) for found in run.findings]

    assert rules("ds_write_b32 v0, v1\nds_read_b32 v2, v0") == []
    assert rules("ds_write_b32 v0, v1\nds_read_b64 v[2:3], v0") == [("uninitialised", 63)]
    assert rules("ds_write_b16 v0, v1\nds_write_b16 v0, v1 offset:2\nds_read_b32 v2, v0") == []
    assert rules("ds_write_b16 v0, v1\nds_read_u16 v2, v0\nds_read_u8 v3, v0 offset:1") == []
    assert rules("ds_write_b16 v0, v1\nds_read_b32 v2, v0") == [("uninitialised", 0)]
    assert rules("ds_write_b8 v0, v1 offset:3\nds_read_u8 v2, v0 offset:2") == [("uninitialised", 0)]
    assert rules("ds_add_u32 v0, v1") == [("uninitialised", 0)]
    assert rules("ds_write_b32 v0, v1\nds_add_u32 v0, v1") == []


def test_results_before_the_wait() -> None:
    wave = fresh(17)
    wave.vectors[0] = np.arange(LANES) * 4
    assert step("ds_read_b32 v2, v0\nv_mov_b32_e32 v3, v2", wave) == ("before_wait",)
    assert step("ds_read_b32 v2, v0\nds_read_b32 v4, v0\ns_waitcnt lgkmcnt(1)\nv_mov_b32_e32 v3, v2", wave) == ()
    assert step("ds_add_rtn_u32 v2, v0, v1\nv_mov_b32_e32 v3, v2", wave) == ("before_wait",)
    assert step("ds_bpermute_b32 v2, v0, v1\nv_mov_b32_e32 v3, v2", wave) == ("before_wait",)


def distinct(phase: list[int], at: NDArray[Any], dwords: int, banks: int) -> int:
    """Cycles of one phase: the most dwords that one bank has to give."""
    wanted = {int(at[lane]) // 4 + part for lane in phase for part in range(dwords)}
    return int(max(np.bincount([dword % banks for dword in wanted])))


def spread(*ranges: tuple[int, int]) -> list[int]:
    return [lane for first, last in ranges for lane in range(first, last + 1)]


WIDE = [
    spread((0, 3), (20, 23)), spread((4, 7), (16, 19)), spread((8, 11), (28, 31)), spread((12, 15), (24, 27)),
]  # fmt: skip
WIDE_950 = [spread((0, 3), (12, 15), (20, 27)), spread((4, 11), (16, 19), (28, 31))]
PHASES: list[tuple[str, str, int, list[list[int]]]] = [
    ("gfx942", "ds_read_b128 v[4:7], v0", 4, WIDE),
    ("gfx942", "ds_write_b128 v0, v[4:7]", 4, [spread((8 * i, 8 * i + 7)) for i in range(4)]),
    ("gfx942", "ds_read_b64 v[4:5], v0", 2, [spread((0, 15)), spread((16, 31))]),
    ("gfx942", "ds_write_b32 v0, v4", 1, [spread((0, 31))]),
    ("gfx950", "ds_read_b128 v[4:7], v0", 4, WIDE_950),
    ("gfx950", "ds_read_b96 v[4:6], v0", 3, WIDE),
    ("gfx950", "ds_read_b64 v[4:5], v0", 2, [spread((0, 31))]),
    ("gfx950", "ds_write_b64 v0, v[4:5]", 2, [spread((0, 15)), spread((16, 31))]),
]


@pytest.mark.parametrize("stride", [0, 16, 64, 80, 128, 256])
def test_bank_conflicts(stride: int) -> None:
    """Rows of a matrix, 16 lanes down and 4 across, with and without padding; 0: anywhere."""
    lane = np.arange(LANES)
    at = lane % 16 * stride + lane // 16 * 16
    if stride == 0:
        at = np.random.default_rng(19).integers(0, 256, LANES) * 16
    for arch, text, dwords, half in PHASES:
        wave = fresh(18)
        wave.vectors[0] = at
        run = emulator(arch).step(assemble(text, arch), wave, Options())
        phases = half + [[lane + 32 for lane in phase] for phase in half]
        cycles = [distinct(phase, at, dwords, 64 if arch == "gfx950" else 32) for phase in phases]
        assert run.counts["lds_cycles"] == sum(cycles), text
        assert run.counts["lds_conflict_cycles"] == sum(cycles) - len(cycles), text
        assert run.counts["lds_read"] + run.counts["lds_written"] == 4 * dwords * LANES


@pytest.mark.parametrize(("arch", "banks"), [("gfx942", 32), ("gfx950", 64)])
def test_bytes_conflict_by_the_dwords_that_hold_them(arch: str, banks: int) -> None:
    """Two lanes at the same distance lie in one bank or in two, as the first one's place in its dword says."""
    for size, text in ((1, "ds_read_u8 v1, v0"), (2, "ds_read_u16 v1, v0")):
        for distance in (4 * banks - 4, 4 * banks - 3, 4 * banks - 2, 4 * banks - 1, 4 * banks):
            found, expected = [], []
            for start in (0, 1, 2, 3):
                wave = fresh(20, 3)
                wave.vectors[0] = start + distance * np.arange(LANES)
                found.append(emulator(arch).step(assemble(text, arch), wave, Options()).counts["lds_conflict_cycles"])
                lanes = (range(at // 4, (at + size - 1) // 4 + 1) for at in (start, start + distance))
                dwords = {dword for lane in lanes for dword in lane}
                expected.append(int(max(np.bincount([dword % banks for dword in dwords]))) - 1)
            assert found == expected, (text, distance)
