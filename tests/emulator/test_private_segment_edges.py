"""Where a lane's scratch ends, and whom a finding names."""

from __future__ import annotations

import pytest
from private_segment_support import OWN, WAIT, run
from step_support import kernel, launch

from ckgen.model.errors import UsageError

pytestmark = pytest.mark.amd


@pytest.mark.parametrize(("scratch", "rows"), [(1, 1), (4, 1), (5, 2), (7, 2), (8, 2), (21, 6)])
def test_whole_dwords_of_every_lane_belong_to_the_wave(scratch: int, rows: int) -> None:
    """The segment's last byte is there; the next row is said to be beyond, once for all lanes."""
    store = f"{OWN}buffer_store_byte v0, off, s[0:3], 0 offset:{{at}}\n{WAIT}"
    assert not run(store.format(at=scratch - 1), scratch).findings
    [found] = run(store.format(at=4 * rows), scratch).findings
    assert found.what == f"1 bytes at {256 * rows} of this wave's {256 * rows} bytes of scratch"
    assert (found.rule, found.lane, found.count) == ("out_of_bounds", 0, 1)


def execute(mask: int) -> str:
    """EXEC, as literals of 32 bits."""
    return f"s_mov_b32 exec_lo, {mask & 0xFFFFFFFF:#x}\ns_mov_b32 exec_hi, {mask >> 32:#x}\n"


@pytest.mark.parametrize("lane", [0, 1, 62, 63])
def test_a_finding_names_the_first_lane_once(lane: int) -> None:
    """Of those that read what nobody wrote, or go outside: by SCRATCH, where each lane has its own offset."""
    lanes = execute(2**64 - (1 << lane)) + "v_mov_b32 v2, {at}\n"
    for at, what in (
        (8, "nothing has written byte 8 of this lane's private segment"),
        (14, "4 bytes at 14 of a private segment of 16 bytes"),
        (2**32 - 4, "4 bytes at -4 of a private segment of 16 bytes"),
    ):
        text = lanes.format(at=f"{at:#x}") + f"scratch_load_dword v3, v2, off\n{WAIT}"
        made = kernel(text, "gfx942", scratch=16, directives=("enable_private_segment 1",))
        [found] = launch(made, "gfx942", [1], 64, b"").findings
        assert (found.what, found.lane, found.count) == (what, lane, 1)
    text = f"{execute(1 << lane)}v_mov_b32 v2, 0xc\nscratch_store_dword v2, v0, off\n{WAIT}"
    text += f"scratch_load_dword v3, v2, off\n{WAIT}"
    made = kernel(text, "gfx942", scratch=16, directives=("enable_private_segment 1",))
    assert not launch(made, "gfx942", [1], 64, b"").findings


@pytest.mark.parametrize(("block", "waves"), [(1, 3328), (64, 3328), (65, 3328), (128, 3328), (129, 3120)])
def test_waves_are_counted_by_whole_workgroups(block: int, waves: int) -> None:
    """A compute unit holds 32 waves: ten workgroups of three."""
    with pytest.raises(UsageError, match=f"bytes of scratch, in each of the {waves} waves that the chip holds"):
        run("", 131072, block=block)


def test_the_largest_scratch_that_the_buffer_has() -> None:
    """104 compute units hold 3328 waves; the pool, of almost 4 GiB, has 1259 KiB for each and for the one before."""
    assert not run("", 20144).findings
    with pytest.raises(UsageError, match="20148 bytes of scratch, in each of the 3328 waves that the chip holds"):
        run("", 20148)
