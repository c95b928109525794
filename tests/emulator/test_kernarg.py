"""The kernel-argument segment: what a launch fills in, and which bytes of it nobody wrote."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from elf_support import ENDS, Object, descriptor, metadata, note
from memory_support import area
from step_support import arguments, assemble, emulator, kernel

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


def made(text: str, args: tuple[tuple[str, int, int], ...]) -> bytes:
    """A kernel with a segment of 64 bytes in s[0:1], its metadata such as no assembler takes them."""
    listed = [{".value_kind": kind, ".offset": at, ".size": size} for kind, at, size in args]
    one = Object().with_section("text", assemble(text, ARCH) + ENDS)
    one = one.with_section("rodata", descriptor(kernarg=64, rsrc1=3, rsrc2=2 << 1, rsrc3=7, properties=8))
    return one.with_section("note", note(metadata({".symbol": "k.kd", ".args": listed}))).bytes()


def seen(args: tuple[tuple[str, int, int], ...], grid: Sequence[int], block: Sequence[int]) -> dict[int, int]:
    """Bytes of a segment of 64 that are written, by their place."""
    chip = emulator(ARCH)
    size = 64
    with area(ARCH, 64) as memory:
        text = f"""
        s_mov_b32 s10, {memory.address & 0xFFFFFFFF:#x}
        s_mov_b32 s11, {memory.address >> 32:#x}
        v_readfirstlane_b32 s20, v0
        s_cmp_lg_u32 s20, 0
        s_cbranch_scc1 done
        v_and_b32 v1, 0x3ff, v0
        global_load_ubyte v5, v1, s[0:1]
        s_waitcnt vmcnt(0)
        global_store_byte v1, v5, s[10:11]
        done:
        """
        load = "global_load_ubyte v5, v1, s[0:1]\ns_waitcnt vmcnt(0)\n"
        many = ["v_readfirstlane_b32 s20, v0\ns_cmp_lg_u32 s20, 0\ns_cbranch_scc1 done\nv_and_b32 v1, 0x3ff, v0\n"]
        for byte in range(size):
            low, high = ((1 << byte) >> 32 * half & 0xFFFFFFFF for half in (0, 1))
            many.append(f"s_mov_b32 exec_lo, {low:#x}\ns_mov_b32 exec_hi, {high:#x}\n{load}")
        many.append("done:\n")
        module = chip.load(made(text, args))
        chip.launch(module, "k", grid, block, b"", Options(checked=False), 300)
        chip.unload(module)
        module = chip.load(made("".join(many), args))
        findings = chip.launch(module, "k", [1, *grid[1:]], block, b"", Options(most_findings=100), 300).findings
        chip.unload(module)
        missing = {one.lane for one in findings if "nothing has written" in one.what}
        return {byte: int(memory.bytes[byte]) for byte in range(size) if byte not in missing}


def placed(*values: tuple[int, int, int]) -> dict[int, int]:
    """Bytes of little-endian numbers: place, size, value."""
    return {at + byte: value >> 8 * byte & 0xFF for at, size, value in values for byte in range(size)}


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ((("hidden_shared_base", 0, 4), ("hidden_private_base", 8, 4)), placed((0, 4, 0x10000), (8, 4, 0x20000))),
        ((("hidden_dynamic_lds_size", 60, 4),), placed((60, 4, 300))),
        ((("hidden_dynamic_lds_size", 61, 4), ("hidden_dynamic_lds_size", 64, 4)), {}),
        ((("hidden_dynamic_lds_size", 8, 16),), placed((8, 8, 300))),
        ((("hidden_dynamic_lds_size", 8, 1),), {8: 300 & 0xFF}),
        ((("hidden_dynamic_lds_size", 8, 0),), {}),
        ((("hidden_group_size_x", 0, 2), ("hidden_group_size_w", 8, 2), ("hidden_group_size_xx", 16, 2)),
         placed((0, 2, 64))),
        ((("hidden_group_size_", 0, 2), ("hidden_group_size_{", 8, 2), ("hidden_group_size_y", 16, 2)),
         placed((16, 2, 2))),
        ((("hidden_remainder_x", 0, 2), ("hidden_remainder_y", 2, 2), ("hidden_remainder_z", 4, 2),
          ("hidden_remainder", 8, 2)), placed((0, 6, 0))),
        ((("hidden_global_offset_x", 0, 8), ("hidden_global_offset_z", 16, 8), ("hidden_global_offset_w", 32, 8)),
         placed((0, 8, 0), (16, 8, 0))),
        ((("hidden_none", 0, 8), ("hidden_heap_v1", 8, 8), ("hidden_default_queue", 16, 8)), {}),
    ],
)  # fmt: skip
def test_what_a_launch_writes_of_the_segment(args: tuple[tuple[str, int, int], ...], expected: dict[int, int]) -> None:
    assert seen(args, (1, 1, 1), (64, 2, 1)) == expected


@pytest.mark.parametrize(
    ("grid", "block", "dimensions"),
    [
        ((1, 1, 1), (64, 1, 1), 1), ((5, 1, 1), (64, 1, 1), 1), ((1, 2, 1), (64, 1, 1), 2), ((1, 1, 1), (64, 2, 1), 2),
        ((1, 1, 2), (64, 1, 1), 3), ((1, 1, 1), (64, 1, 2), 3), ((1, 2, 2), (64, 1, 1), 3), ((1, 1, 3), (64, 2, 1), 3),
    ],
)  # fmt: skip
def test_dimensions_are_those_with_more_than_one_item(
    grid: tuple[int, ...], block: tuple[int, ...], dimensions: int
) -> None:
    assert seen((("hidden_grid_dims", 4, 2),), grid, block) == placed((4, 2, dimensions))
