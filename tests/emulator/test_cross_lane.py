"""Moves, swaps and lane accesses: what they do under EXEC, and what a checked run knows of unwritten lanes."""

from __future__ import annotations

import numpy as np
import pytest
from conversion_support import ACTIVE, EXEC, U32
from step_support import assemble, emulator

from ckgen_emulator.bindings import LANES, M0, Run, Wave

ALL = 2**LANES - 1
LANE = np.arange(LANES)
ON = np.isin(LANE, ACTIVE)
A0 = 256  # a0's row
RANDOM = np.random.default_rng(41)


def _wave(exec_mask: int = EXEC) -> Wave:
    """Every register holds something else in every lane."""
    wave = Wave()
    wave.vectors[:] = RANDOM.integers(0, 2**32, wave.vectors.shape, dtype=np.uint32)
    wave.scalars[:100] = RANDOM.integers(0, 2**32, 100, dtype=np.uint32)
    wave.exec_mask = exec_mask
    return wave


def _step(text: str, wave: Wave, arch: str = "gfx942", *, all_written: bool = True) -> Run:
    return emulator(arch).step(assemble(text, arch), wave, all_written=all_written)


def _clean(text: str, wave: Wave, arch: str = "gfx942") -> None:
    assert _step(text, wave, arch).findings == ()


@pytest.mark.parametrize(
    ("text", "to", "source"),
    [
        ("v_mov_b32 v5, v9", 5, 9),
        ("v_mov_b32_e64 v5, v9", 5, 9),
        ("v_mov_b32 v5, v5", 5, 5),
        ("v_accvgpr_read_b32 v5, a9", 5, A0 + 9),
        ("v_accvgpr_write_b32 a5, v9", A0 + 5, 9),
        ("v_accvgpr_mov_b32 a5, a9", A0 + 5, A0 + 9),
    ],
)
def test_moves_copy_the_lanes_of_exec(text: str, to: int, source: int) -> None:
    wave = _wave()
    before = wave.vectors.copy()
    _clean(text, wave)
    assert np.array_equal(wave.vectors[to], np.where(ON, before[source], before[to]))
    others = np.arange(512) != to
    assert np.array_equal(wave.vectors[others], before[others])


@pytest.mark.parametrize(
    ("source", "low", "high"),
    [
        ("v[8:9]", 8, 9),
        ("v[4:5]", 4, 5),
        ("s[6:7]", "s6", "s7"),
        ("1.0", 0, 0x3FF00000),
        ("-3", 0xFFFFFFFD, 0xFFFFFFFF),
    ],
)
def test_move_of_64_bits(source: str, low: int | str, high: int | str) -> None:
    wave = _wave()
    before, scalars = wave.vectors.copy(), wave.scalars.copy()
    _clean(f"v_mov_b64 v[4:5], {source}", wave)
    for register, expected in ((4, low), (5, high)):
        if isinstance(expected, str):
            values = np.full(LANES, scalars[int(expected[1:])])
        elif source.startswith("v"):
            values = before[expected]
        else:
            values = np.full(LANES, expected, np.uint32)
        assert np.array_equal(wave.vectors[register], np.where(ON, values, before[register]))


def test_moves_of_scalars_and_constants() -> None:
    wave = _wave()
    before, scalars = wave.vectors.copy(), wave.scalars.copy()
    _clean("v_mov_b32 v1, s3\nv_mov_b32 v2, 0x12345678\nv_accvgpr_write_b32 a3, -1\nv_nop\nv_mov_b32 v4, vcc_hi", wave)
    for row, value in ((1, scalars[3]), (2, 0x12345678), (A0 + 3, 0xFFFFFFFF), (4, scalars[107])):
        assert np.array_equal(wave.vectors[row], np.where(ON, np.uint32(value), before[row]))


def test_move_with_dpp_and_sdwa() -> None:
    wave = _wave()
    before = wave.vectors.copy()
    _clean(
        "v_mov_b32_dpp v1, v2 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf bound_ctrl:0\n"
        "v_mov_b32_sdwa v3, v4 dst_sel:BYTE_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1",
        wave,
    )
    neighbour = LANE ^ 1
    moved = np.where(ON[neighbour], before[2][neighbour], 0)
    assert np.array_equal(wave.vectors[1], np.where(ON, moved, before[1]))
    placed = before[3] & 0xFFFF00FF | (before[4] >> 16 & 0xFF) << 8
    assert np.array_equal(wave.vectors[3], np.where(ON, placed, before[3]))


def test_moves_relative_to_m0() -> None:
    wave = _wave()
    before = wave.vectors.copy()
    _clean(
        "s_mov_b32 s0, 7\ns_set_gpr_idx_on s0, gpr_idx(SRC0,DST)\nv_mov_b32 v1, v20\ns_set_gpr_idx_off", wave, "gfx90a"
    )
    assert np.array_equal(wave.vectors[8], np.where(ON, before[27], before[8]))
    assert np.array_equal(wave.vectors[1], before[1])


def test_swap() -> None:
    wave = _wave()
    before = wave.vectors.copy()
    _clean("v_swap_b32 v1, v2", wave)
    assert np.array_equal(wave.vectors[1], np.where(ON, before[2], before[1]))
    assert np.array_equal(wave.vectors[2], np.where(ON, before[1], before[2]))


def _swapped(row: int, to: U32, source: U32, exec_mask: int, fetch: bool, zero: bool) -> tuple[U32, U32]:
    """Lane by lane from the definition: row 2i of the source and row 2i + 1 of the destination change places."""
    new_to, new_source = to.copy(), source.copy()
    for lane in range(LANES):
        other = lane ^ row
        if not exec_mask >> lane & 1:
            continue
        there = fetch or exec_mask >> other & 1
        if lane // row % 2 == 0:
            new_source[lane] = to[other] if there else 0 if zero else source[lane]
        else:
            new_to[lane] = source[other] if there else 0 if zero else to[lane]
    return new_to, new_source


@pytest.mark.parametrize("row", [16, 32])
@pytest.mark.parametrize("exec_mask", [ALL, EXEC, 0x0000FFFF_0000FFFF])
@pytest.mark.parametrize(
    ("form", "flags", "fetch", "zero"),
    [("", "", False, False), ("_e64", " fi:1", True, False), ("_e64", " bound_ctrl:1", False, True)],
)
def test_permlane_swaps(row: int, exec_mask: int, form: str, flags: str, fetch: bool, zero: bool) -> None:
    wave = _wave(exec_mask)
    before = wave.vectors.copy()
    _clean(f"v_permlane{row}_swap_b32{form} v1, v2{flags}", wave, "gfx950")
    to, source = _swapped(row, before[1], before[2], exec_mask, fetch, zero)
    assert np.array_equal(wave.vectors[1], to)
    assert np.array_equal(wave.vectors[2], source)


@pytest.mark.parametrize("row", [16, 32])
def test_permlane_swap_exchanges_halves(row: int) -> None:
    wave = _wave(ALL)
    wave.vectors[1], wave.vectors[2] = LANE, LANE + 100
    _clean(f"v_permlane{row}_swap_b32 v1, v2", wave, "gfx950")
    even = LANE // row % 2 == 0
    assert np.array_equal(wave.vectors[1], np.where(even, LANE, LANE - row + 100))
    assert np.array_equal(wave.vectors[2], np.where(even, LANE + row, LANE + 100))


@pytest.mark.parametrize(("exec_mask", "lane"), [(EXEC, 1), (1 << 63, 63), (0, 0), (0b110 << 40, 41)])
def test_read_first_lane(exec_mask: int, lane: int) -> None:
    wave = _wave(exec_mask)
    expected = wave.vectors[7, lane]
    _clean("v_readfirstlane_b32 s5, v7\nv_readfirstlane_b32 vcc_lo, v7", wave)
    assert wave.scalars[5] == wave.scalars[106] == expected


def test_read_and_write_lanes_whatever_exec_is() -> None:
    wave = _wave(0)
    before, scalars = wave.vectors.copy(), wave.scalars.copy()
    wave.scalars[20], wave.scalars[M0] = 64 + 33, 9  # six bits count
    _clean(
        "v_readlane_b32 s5, v7, 63\nv_readlane_b32 s6, v7, s20\nv_readlane_b32 s7, v7, m0\n"
        "v_writelane_b32 v1, s3, 62\nv_writelane_b32 v1, 17, s20\nv_writelane_b32 v2, s4, m0",
        wave,
    )
    assert wave.scalars[5:8].tolist() == before[7, [63, 33, 9]].tolist()
    before[1, 62], before[1, 33], before[2, 9] = scalars[3], 17, scalars[4]
    assert np.array_equal(wave.vectors, before)


def test_count_below() -> None:
    wave = _wave()
    before, scalars = wave.vectors.copy(), wave.scalars.copy()
    _clean(
        "v_mbcnt_lo_u32_b32 v1, -1, 0\nv_mbcnt_hi_u32_b32 v1, -1, v1\n"
        "v_mbcnt_lo_u32_b32 v2, s3, v9\nv_mbcnt_hi_u32_b32 v3, v8, v9",
        wave,
    )
    assert np.array_equal(wave.vectors[1][ON], LANE[ON])
    for lane in ACTIVE:
        low = (int(scalars[3]) & (1 << min(lane, 32)) - 1).bit_count()
        high = (int(before[8, lane]) & (1 << max(lane - 32, 0)) - 1).bit_count()
        assert wave.vectors[2, lane] == (int(before[9, lane]) + low) & 0xFFFFFFFF
        assert wave.vectors[3, lane] == (int(before[9, lane]) + high) & 0xFFFFFFFF
    assert np.array_equal(wave.vectors[1:4, ~ON], before[1:4, ~ON])


def _found(text: str, exec_mask: int = ALL, arch: str = "gfx950") -> list[tuple[str, int, str]]:
    """Findings of a run in which no vector register is written at first; wait states stand between all lines."""
    wave = _wave(exec_mask)
    run = _step(text.replace("\n", "\ns_nop 7\n"), wave, arch, all_written=False)
    return [(one.rule, one.lane, one.what) for one in run.findings]


_HALF = "s_mov_b64 exec, 0xffff\n"
_FULL = "s_mov_b64 exec, -1\n"


def test_a_lane_that_was_never_written_is_reported_where_it_is_read() -> None:
    written = _HALF + "v_mov_b32 v1, 0\n" + _FULL
    assert _found(written + "v_readlane_b32 s0, v1, 15") == []
    assert _found(written + "v_readlane_b32 s0, v1, 16") == [
        ("uninitialised", 16, "v1 was never written in lane 16, which is read")
    ]
    assert _found(written + "v_readfirstlane_b32 s0, v1") == []
    assert _found("v_readfirstlane_b32 s0, v1") == [
        ("uninitialised", 0, "v1 was never written in lane 0, which is read")
    ]
    assert _found("s_mov_b64 exec, 0\nv_readfirstlane_b32 s0, v1")[0][1] == 0


def test_a_written_lane_is_no_written_register() -> None:
    write = "v_writelane_b32 v1, 5, 3\n"
    assert _found(write + "v_readlane_b32 s0, v1, 3") == []
    assert [lane for _, lane, _ in _found(write + "v_readlane_b32 s0, v1, 4")] == [4]
    assert [lane for _, lane, _ in _found(write + "v_mbcnt_lo_u32_b32 v2, v1, 0")] == [0]


@pytest.mark.parametrize(
    "move",
    [
        "v_mov_b32 v2, v1",
        "v_mov_b64 v[2:3], v[0:1]\nv_mov_b32 v2, v3",
        "v_accvgpr_write_b32 a0, v1\nv_accvgpr_mov_b32 a1, a0\nv_accvgpr_read_b32 v2, a1",
        "v_swap_b32 v2, v1",
    ],
)
def test_moves_carry_what_is_unwritten_to_its_use(move: str) -> None:
    half = _HALF + "v_mov_b32 v1, 0\n" + _FULL
    use = "\nv_readlane_b32 s0, v2, 20\nv_readlane_b32 s1, v2, 3"
    assert [lane for _, lane, _ in _found(half + move + use)] == [20]
    whole = _FULL + "v_mov_b32 v1, 0\n"
    assert _found(whole + move + use) == []


def test_dpp_reports_what_it_reads() -> None:
    assert _found("v_mov_b32_dpp v2, v1 row_shr:1 row_mask:0xf bank_mask:0xf") == [
        ("uninitialised", 0, "v1 was never written in lane 0 and 63 more, which is read")
    ]


def test_permlane_swap_carries_lanes_of_both_registers() -> None:
    half = "s_mov_b32 exec_hi, 0\nv_mov_b32 v1, 0\nv_mov_b32 v2, 0\n" + _FULL + "v_permlane32_swap_b32 v1, v2\n"
    # v1's upper half is v2's lower one, written; v2's lower half is v1's upper one, never written
    assert _found(half + "v_readlane_b32 s0, v1, 5\nv_readlane_b32 s0, v1, 40") == []
    assert [lane for _, lane, _ in _found(half + "v_readlane_b32 s0, v2, 5")] == [5]
    assert [lane for _, lane, _ in _found(half + "v_readlane_b32 s0, v2, 40")] == [40]


def test_every_move_is_executed() -> None:
    wanted = ("v_mov_", "v_accvgpr", "v_permlane", "v_swap", "v_read", "v_write", "v_mbcnt", "v_nop")
    opcodes = emulator("gfx950").opcodes()
    assert [name for name, known in opcodes.items() if name.startswith(wanted) and not known] == []
