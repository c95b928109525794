"""Every LDS instruction with one lane at the end of LDS, or beyond it, and with one lane alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from lds_support import LANES, fresh
from step_support import assemble, emulator

from ckgen_emulator.bindings import EXEC, M0, Options, Run, Wave

pytestmark = pytest.mark.amd

SIZE = 1024
ALL = 2**LANES - 1
EDGES = (0, 1, 31, 32, 62, 63)


@dataclass(frozen=True)
class Op:
    """`bytes` per access, `accesses` of the same address, `touch`: r, w or both; `alignment` that is asked for."""

    text: str
    bytes: int
    touch: str
    alignment: int = 1
    accesses: int = 1
    arch: str = "gfx942"

    def __str__(self) -> str:
        return self.text.split()[0]


OPS = (
    Op("ds_read_u8 v10, v0", 1, "r"), Op("ds_read_i8 v10, v0", 1, "r"), Op("ds_read_u8_d16 v10, v0", 1, "r"),
    Op("ds_read_i8_d16_hi v10, v0", 1, "r"), Op("ds_read_u16 v10, v0", 2, "r"), Op("ds_read_i16 v10, v0", 2, "r"),
    Op("ds_read_u16_d16 v10, v0", 2, "r"), Op("ds_read_u16_d16_hi v10, v0", 2, "r"), Op("ds_read_b32 v10, v0", 4, "r"),
    Op("ds_read_b64 v[10:11], v0", 8, "r"), Op("ds_read_b96 v[10:12], v0", 12, "r"),
    Op("ds_read_b128 v[10:13], v0", 16, "r"), Op("ds_read2_b32 v[10:11], v0", 4, "r", accesses=2),
    Op("ds_read2_b64 v[10:13], v0", 8, "r", accesses=2), Op("ds_read2st64_b32 v[10:11], v0", 4, "r", accesses=2),
    Op("ds_write_b8 v0, v4", 1, "w"), Op("ds_write_b8_d16_hi v0, v4", 1, "w"), Op("ds_write_b16 v0, v4", 2, "w"),
    Op("ds_write_b16_d16_hi v0, v4", 2, "w"), Op("ds_write_b32 v0, v4", 4, "w"), Op("ds_write_b64 v0, v[4:5]", 8, "w"),
    Op("ds_write_b96 v0, v[4:6]", 12, "w"), Op("ds_write_b128 v0, v[4:7]", 16, "w"),
    Op("ds_write2_b32 v0, v4, v5", 4, "w", accesses=2), Op("ds_write2_b64 v0, v[4:5], v[6:7]", 8, "w", accesses=2),
    Op("ds_add_u32 v0, v4", 4, "rw", 4), Op("ds_add_rtn_u32 v10, v0, v4", 4, "rw", 4),
    Op("ds_max_i64 v0, v[4:5]", 8, "rw", 8), Op("ds_add_rtn_u64 v[10:11], v0, v[4:5]", 8, "rw", 8),
    Op("ds_cmpst_rtn_b32 v10, v0, v4, v5", 4, "rw", 4), Op("ds_wrxchg_rtn_b64 v[10:11], v0, v[4:5]", 8, "rw", 8),
    Op("ds_wrxchg2_rtn_b32 v[10:11], v0, v4, v5", 4, "rw", 4, accesses=2), Op("ds_add_f32 v0, v4", 4, "rw", 4),
    Op("ds_pk_add_f16 v0, v4", 4, "rw", 4), Op("ds_add_f64 v0, v[4:5]", 8, "rw", 8),
    Op("ds_read_b64_tr_b16 v[10:11], v0", 8, "r", 8, arch="gfx950"),
    Op("ds_read_b96_tr_b6 v[10:12], v0", 12, "r", 16, arch="gfx950"),
)  # fmt: skip


def state(at: list[int] | np.ndarray[tuple[int], np.dtype[np.uint32]], size: int = SIZE, mask: int = ALL) -> Wave:
    wave = fresh(7, mask, size)
    wave.vectors[0] = at
    return wave


def run(op: Op, wave: Wave, checked: bool = True) -> Run:
    return emulator(op.arch).step(assemble(op.text, op.arch), wave, Options(checked=checked))


def moved(result: Run) -> tuple[int, int]:
    return result.counts["lds_read"], result.counts["lds_written"]


@pytest.mark.parametrize("op", OPS, ids=str)
def test_one_lane_at_the_end_and_one_beyond(op: Op) -> None:
    """All lanes are on; those that are inside do as they do without the other."""
    last = (SIZE - op.bytes) // op.alignment * op.alignment
    beyond = [last + op.alignment] + ([2**32 - op.alignment, SIZE] if SIZE % op.alignment == 0 else [])
    for lane in EDGES:
        checked = lane % 2 == 0
        wave = state(np.zeros(LANES, np.uint32))
        wave.vectors[0, lane] = last
        result = run(op, wave, checked)
        assert not result.findings, result.findings
        whole = op.bytes * LANES * op.accesses
        assert moved(result) == (whole * ("r" in op.touch), whole * ("w" in op.touch))
        for at in beyond:
            wave.vectors[0, lane] = at
            before = wave.vectors.copy()
            wave.lds[-64:] = 0x5A
            result = run(op, wave, checked)
            [finding] = result.findings
            said = f"{op.bytes} bytes at LDS address {at}, of which the workgroup has {SIZE}"
            assert (finding.rule, finding.lane, finding.count) == ("out_of_bounds", lane, op.accesses)
            assert finding.what == said
            whole = op.bytes * (LANES - 1) * op.accesses
            assert moved(result) == (whole * ("r" in op.touch), whole * ("w" in op.touch))
            assert (wave.lds[-64:] == 0x5A).all()
            if "v10" in op.text and "d16" not in op.text and "_tr_" not in op.text:
                assert not wave.vectors[10, lane]
            np.testing.assert_array_equal(wave.vectors[20:], before[20:])


@pytest.mark.parametrize("op", [one for one in OPS if "_tr_" not in one.text], ids=str)
def test_one_lane_alone(op: Op) -> None:
    """It is the only one that moves anything, and what the others point to does not matter."""
    for lane in EDGES:
        wave = state(np.full(LANES, 2**32 - 1, np.uint32), mask=1 << lane)
        wave.vectors[0, lane] = 512
        before, lds = wave.vectors.copy(), wave.lds.copy()
        result = run(op, wave, lane % 2 == 0)
        assert not result.findings, result.findings
        assert moved(result) == tuple(op.bytes * op.accesses * (kind in op.touch) for kind in "rw")
        others = np.arange(LANES) != lane
        np.testing.assert_array_equal(wave.vectors[:, others], before[:, others])
        assert (wave.lds[:512] == lds[:512]).all() and (wave.lds[512 + op.bytes :] == lds[512 + op.bytes :]).all()
        if lane % 2 == 0:
            cycles = result.counts["lds_cycles"], result.counts["lds_conflict_cycles"]
            assert cycles == (op.accesses, 0)


@pytest.mark.parametrize("op", [one for one in OPS if one.alignment > 1], ids=str)
def test_one_lane_that_is_not_aligned(op: Op) -> None:
    lanes = EDGES if "_tr_" not in op.text else (0, 63)
    for lane in lanes:
        for mask in (ALL, 1 << lane) if "_tr_" not in op.text else (ALL,):
            wave = state(np.zeros(LANES, np.uint32), mask=mask)
            wave.vectors[0, lane] = 64 + op.alignment // 2
            [finding] = run(op, wave).findings
            assert (finding.rule, finding.lane) == ("misaligned", lane)
            said = f"LDS address {64 + op.alignment // 2}, which is no multiple of {op.alignment}"
            assert finding.what == said and finding.count == op.accesses


@pytest.mark.parametrize("op", OPS, ids=str)
def test_lds_smaller_than_one_access(op: Op) -> None:
    size = op.bytes - 1
    wave = state(np.zeros(LANES, np.uint32), size)
    [finding] = run(op, wave).findings
    assert finding.what == f"{op.bytes} bytes at LDS address 0, of which the workgroup has {size}"
    assert (finding.lane, finding.count) == (0, op.accesses)
    exact = state(np.zeros(LANES, np.uint32), op.bytes)
    assert not run(op, exact).findings


@pytest.mark.parametrize("base", [0, 4, 0xFF00])
def test_addresses_of_threads_reach_the_end(base: int) -> None:
    """M0's lower 16 bits, the offset and four bytes per lane."""
    size = base + 256 + 8
    for text in ("ds_read_addtid_b32 v10 offset:8", "ds_write_addtid_b32 v4 offset:8"):
        for short in (0, 1, 256):
            wave = fresh(3, ALL, size - short)
            wave.scalars[M0] = base
            findings = emulator("gfx942").step(assemble("s_nop 1\n" + text, "gfx942"), wave).findings
            if short == 0:
                assert not findings
                continue
            [finding] = findings
            lane = 64 - (short + 3) // 4
            assert (
                finding.what
                == f"4 bytes at LDS address {base + 8 + 4 * lane}, of which the workgroup has {size - short}"
            )
            assert finding.lane == lane


@pytest.mark.parametrize("lane", EDGES)
def test_flat_reaches_the_end_of_lds(lane: int) -> None:
    """Of one lane, as any other access of LDS."""
    for text, size in (("flat_load_dwordx3 v[10:12], v[0:1]", 12), ("flat_store_dwordx2 v[0:1], v[4:5]", 8),
                       ("flat_store_byte v[0:1], v4", 1)):  # fmt: skip
        for beyond in (0, 1, 2000):
            wave = fresh(5, 1 << lane, SIZE)
            at = SIZE - size + beyond
            wave.vectors[0, lane], wave.vectors[1, lane] = at, 1 << 16
            result = emulator("gfx942").step(assemble(text, "gfx942"), wave)
            assert moved(result) == (("load" in text) * size * (not beyond), ("store" in text) * size * (not beyond))
            if not beyond:
                assert not result.findings
                continue
            [finding] = result.findings
            said = f"{size} bytes at LDS address {at}, of which the workgroup has {SIZE}"
            assert (finding.what, finding.lane, finding.count) == (said, lane, 1)
            assert "load" not in text or not wave.vectors[10:13, lane].any()


def test_nothing_is_done_where_no_lane_is_on() -> None:
    for op in OPS:
        if "_tr_" in op.text:
            continue
        wave = state(np.full(LANES, 2**32 - 1, np.uint32))
        wave.set_pair(EXEC, 0)
        before, lds = wave.vectors.copy(), wave.lds.copy()
        result = run(op, wave)
        assert not result.findings and moved(result) == (0, 0) and result.counts["lds_cycles"] == 0
        assert np.array_equal(wave.vectors, before) and np.array_equal(wave.lds, lds)
