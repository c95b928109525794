"""Lanes that nothing has written: who reads them by another lane's number is told, moves carry them on."""

from __future__ import annotations

import pytest
from step_support import assemble, emulator

from ckgen_emulator.bindings import LANES, Finding, Options, Wave

pytestmark = pytest.mark.amd

ARCH = "gfx942"
EDGES = (0, 1, 31, 32, 63)


def execute(mask: int) -> str:
    return f"s_mov_b32 exec_lo, {mask & 0xFFFFFFFF:#x}\ns_mov_b32 exec_hi, {mask >> 32:#x}\n"


def found(text: str, mask: int, rows: str = "v4", arch: str = ARCH) -> tuple[Finding, ...]:
    """Of lines behind writes of these registers in the lanes of a mask."""
    writes = "".join(
        f"v_mov_b32 {row}, 0\n" if row[0] == "v" else f"v_accvgpr_write_b32 {row}, 0\n" for row in rows.split()
    )
    lines = execute(mask) + writes + "s_mov_b64 exec, -1\ns_nop 4\n" + text + "\ns_waitcnt lgkmcnt(0)"
    return emulator(arch).step(assemble(lines, arch), Wave(lds_bytes=64), Options(), all_written=False).findings


@pytest.mark.parametrize("lane", EDGES)
def test_a_lane_that_is_read_by_its_number(lane: int) -> None:
    """Once; another lane is another's."""
    missing = 2**64 - 1 & ~(1 << lane)
    said = f"v4 was never written in lane {lane}, which is read"
    [one] = found(f"v_readlane_b32 s20, v4, {lane}\nv_readlane_b32 s20, v4, {lane}", missing)
    assert (one.rule, one.what, one.lane, one.count) == ("uninitialised", said, lane, 1)
    assert not found(f"v_readlane_b32 s20, v4, {(lane + 1) % LANES}", missing)
    assert not found(f"s_mov_b32 s21, {lane + 64 + 1}\nv_readlane_b32 s20, v4, s21", missing | (1 << lane))
    [one] = found(f"s_mov_b32 s21, {lane + 64}\nv_readlane_b32 s20, v4, s21", missing)
    assert one.what == said
    first = execute(2**64 - (1 << lane)) + "v_readfirstlane_b32 s20, v4"
    [one] = found(first, missing)
    assert (one.what, one.lane) == (said, lane)
    assert not found(first, 1 << lane)
    assert not found(f"v_writelane_b32 v4, 7, {lane}\ns_nop 0\nv_readlane_b32 s20, v4, {lane}", missing)
    whole = [one.what for one in found(f"v_writelane_b32 v4, 7, {lane}\nv_not_b32 v5, v4", 0)]
    assert whole == ["v4 was never written in 63 lanes"]


def test_no_lane_at_all_reads_the_first() -> None:
    lines = "s_mov_b64 exec, 0\nv_readfirstlane_b32 s20, v4\ns_mov_b64 exec, -1"
    [one] = found(lines, 2**64 - 2)
    assert one.what == "v4 was never written in lane 0, which is read"
    assert not found(lines, 1)


@pytest.mark.parametrize("lane", EDGES)
def test_lanes_that_others_pull(lane: int) -> None:
    """By the LDS unit: data that any lane takes, and every address."""
    missing = 2**64 - 1 & ~(1 << lane)
    rotate = "v_mov_b32 v6, 4\nv_mbcnt_lo_u32_b32 v7, -1, 0\nv_mbcnt_hi_u32_b32 v7, -1, v7\nv_lshlrev_b32 v7, 2, v7\n"
    said = "v4 was never written in 1 lanes that others read"
    for text in ("ds_bpermute_b32 v8, v7, v4 offset:4", "ds_permute_b32 v8, v7, v4 offset:4",
                 "ds_swizzle_b32 v8, v4 offset:swizzle(SWAP,16)"):  # fmt: skip
        [one] = found(rotate + text, missing)
        assert (one.rule, one.what, one.lane, one.count) == ("uninitialised", said, lane, 1), text
    for text in ("ds_bpermute_b32 v8, v4, v7", "ds_permute_b32 v8, v4, v7"):
        [one] = found(rotate + text, missing)
        assert (one.what, one.lane) == (said, lane), text
    alone = rotate + "v_mov_b32 v9, 0\nds_bpermute_b32 v8, v9, v4"
    assert bool(found(alone, missing)) == (lane == 0)
    [one] = found(rotate + "s_nop 4\nds_bpermute_b32 a8, v7, a4", missing, "a4")
    assert one.what == said.replace("v4", "a4")


@pytest.mark.parametrize("lane", EDGES)
def test_dpp_reads_lanes_that_are_on(lane: int) -> None:
    missing = 2**64 - 1 & ~(1 << lane)
    line = "v_mov_b32_dpp v5, v4 row_mirror row_mask:0xf bank_mask:0xf"
    [one] = found(line, missing)
    assert (one.what, one.lane) == (f"v4 was never written in lane {lane}, which is read", lane)
    assert not found(execute(missing) + "s_nop 4\n" + line, missing)
    [one] = found(line, 0)
    assert one.what == "v4 was never written in lane 0 and 63 more, which is read"


MOVES = ("v_mov_b32 v5, v4", "v_accvgpr_write_b32 a5, v4", "v_mov_b64 v[6:7], v[4:5]", "v_swap_b32 v8, v4")


@pytest.mark.parametrize("lane", EDGES)
@pytest.mark.parametrize("move", MOVES)
def test_moves_carry_what_is_unwritten(move: str, lane: int) -> None:
    """In the lanes of EXEC only; elsewhere the destination is as it was."""
    use, rows = {
        MOVES[0]: ("v_not_b32 v20, v5", "v4"), MOVES[1]: ("ds_write_b32 v30, a5", "v4"),
        MOVES[2]: ("v_not_b32 v20, v6", "v4 v5"), MOVES[3]: ("v_not_b32 v20, v8", "v4"),
    }[move]  # fmt: skip
    missing = 2**64 - 1 & ~(1 << lane)
    start = "v_mov_b32 v30, 0\n"
    name = use.rpartition(" ")[2]
    [one] = found(f"{start}{move}\ns_nop 4\n{use}", missing, rows)
    assert (one.what, one.lane) == (f"{name} was never written in 1 lanes", lane)
    fill = "v_mov_b32 v5, 0\nv_accvgpr_write_b32 a5, v5\nv_mov_b32 v6, 0\nv_mov_b32 v7, 0\nv_mov_b32 v8, 0\n"
    fill = fill if move != MOVES[2] else "v_mov_b32 v6, 0\nv_mov_b32 v7, 0\n"
    off = f"{start}{fill}{execute(missing)}{move}\ns_mov_b64 exec, -1\ns_nop 4\n{use}"
    assert not found(off, missing, rows)
