"""The kernel-argument segment: what a launch fills in, and which bytes of it nobody wrote."""

from __future__ import annotations

import numpy as np
import pytest
from step_support import arguments, emulator, kernel

from ckgen_emulator.bindings import Finding, Options

pytestmark = pytest.mark.amd

ARCH = "gfx942"
GRID, BLOCK, DYNAMIC_LDS = (3, 2, 4), (64, 2, 1), 768
SEGMENT = 96
HIDDEN = (
    ("hidden_block_count_x", 16, 4, GRID[0]),
    ("hidden_block_count_y", 20, 4, GRID[1]),
    ("hidden_block_count_z", 24, 4, GRID[2]),
    ("hidden_group_size_x", 28, 2, BLOCK[0]),
    ("hidden_group_size_y", 30, 2, BLOCK[1]),
    ("hidden_group_size_z", 32, 2, BLOCK[2]),
    ("hidden_remainder_x", 34, 2, 0),
    ("hidden_global_offset_x", 40, 8, 0),
    ("hidden_grid_dims", 48, 2, 3),
    ("hidden_dynamic_lds_size", 52, 4, DYNAMIC_LDS),
)
"""LLVM's AMDGPU usage guide, "Code Object V5 Metadata": kind, offset, size, and what it says of the launch above."""
UNKNOWN = ("hidden_hostcall_buffer", 56, 8)
WRITTEN = {*range(8), *(at + byte for _, at, size, _ in HIDDEN for byte in range(size))}

_ARGS = (("global_buffer", 0, 8), *(one[:3] for one in HIDDEN), UNKNOWN)

# out[byte] = that byte of the segment. s[0:1]: the segment, whose first argument is out.
COPIES = """
s_load_dwordx2 s[4:5], s[0:1], 0x0
v_and_b32 v0, 0x3ff, v0
v_mov_b32 v1, {first}
v_add_u32 v1, v0, v1
v_cmp_gt_u32 vcc, {count}, v0
s_and_b64 exec, exec, vcc
global_load_ubyte v5, v1, s[0:1]
s_waitcnt vmcnt(0) lgkmcnt(0)
global_store_byte v1, v5, s[4:5]
"""


def copied(first: int, count: int, args: bytes = b"") -> tuple[bytes, tuple[Finding, ...]]:
    """Bytes of the segment as a kernel reads them, and what is wrong with that."""
    out = np.zeros(SEGMENT, np.uint8)
    chip = emulator(ARCH)
    module = chip.load(kernel(COPIES.format(first=first, count=count), ARCH, kernarg=SEGMENT, args=_ARGS))
    chip.add(out)
    try:
        run = chip.launch(module, "k", GRID, BLOCK, arguments(out) + args, Options(), DYNAMIC_LDS)
    finally:
        chip.remove(out)
        chip.unload(module)
    return out[first : first + count].tobytes(), run.findings


@pytest.mark.parametrize(("kind", "at", "size", "value"), HIDDEN, ids=[one[0] for one in HIDDEN])
def test_a_launch_fills_in_what_it_knows(kind: str, at: int, size: int, value: int) -> None:
    read, findings = copied(at, size)
    assert findings == ()
    assert int.from_bytes(read, "little") == value, kind


def test_the_rest_of_the_segment_is_uninitialised() -> None:
    for byte in (8, 15, 36, 39, 50, 51, UNKNOWN[1], 64, SEGMENT - 1):
        assert byte not in WRITTEN
        (finding,) = copied(byte, 1)[1]
        assert finding.rule == "uninitialised" and "byte 0 of 1 bytes" in finding.what
    for byte in (7, 16, 33, 35, 47, 49, 55):
        assert byte in WRITTEN
        assert copied(byte, 1)[1] == ()


def test_arguments_reach_as_far_as_the_caller_says() -> None:
    assert copied(8, 5, args=b"\1\2\3\4\5") == (b"\1\2\3\4\5", ())
    (finding,) = copied(8, 6, args=b"\1\2\3\4\5")[1]
    assert (finding.rule, finding.lane) == ("uninitialised", 5)
