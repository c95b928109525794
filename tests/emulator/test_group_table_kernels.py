"""The kernels that make the table of groups, compiled and executed: from arguments, and from arrays on the device."""

from __future__ import annotations

import struct
from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from step_support import CHIPS, table

from amd_support import code_object_of
from ckgen_emulator.bindings import Emulator, Options

TEXT = """#include <backends/hip/describe_groups.hpp>
#include <backends/hip/upload.hpp>
CKGEN_DESCRIBE_GROUPS_KERNEL(describe)
CKGEN_UPLOAD_KERNEL(upload)
"""
LANES, UPLOADED = 256, 224
POINTERS, DIMENSIONS = 6, 3
OPERANDS = np.dtype([("pointers", "u8", POINTERS), ("d", "u8", 2), ("ld", "i8", DIMENSIONS), ("ldd", "i8", 2)])
ENTRY = np.dtype(
    [("pointers", "u8", POINTERS - 1), ("d", "u8", 2), ("size", "i4", 3), ("ld", "i4", DIMENSIONS), ("ldd", "i4", 2)]
)
TILE = (64, 32)


@cache
def code_object(arch: str) -> bytes:
    return code_object_of("group table", "ck_tile", arch, TEXT).read_bytes()


def expected(
    operands: NDArray[np.void], sizes: NDArray[np.int64], splits: int
) -> tuple[NDArray[np.int64], NDArray[np.void]]:
    """The work before each group and of all, and the entries: all pointers but the bias'."""
    busy = (sizes[:, 0] > 0) & (sizes[:, 1] > 0)
    tiles = -(-sizes[:, 0] // TILE[0]) * -(-sizes[:, 1] // TILE[1]) * busy * splits
    entries = np.zeros(len(sizes), ENTRY)
    entries["pointers"] = operands["pointers"][:, : POINTERS - 1]
    for name in ("d", "ld", "ldd"):
        entries[name] = operands[name]
    entries["size"] = np.maximum(sizes, 0)
    return np.concatenate([[0], np.cumsum(tiles)]), entries


@pytest.mark.parametrize(("count", "splits"), [(1, 1), (5, 3), (256, 1), (700, 2)])
def test_the_table_of_arrays_on_the_device(count: int, splits: int) -> None:
    """One group, a full workgroup and several rounds of one; groups without rows or columns, and negative sizes."""
    random = np.random.default_rng(count)
    operands = np.zeros(count, OPERANDS)
    for name in OPERANDS.names or ():
        operands[name] = random.integers(0, 2**31, operands[name].shape)
    sizes = random.integers(-40, 400, (count, 3))
    first, entries = np.zeros(count + 1, np.int32), np.zeros(count, ENTRY)
    with Emulator(CHIPS["gfx942"], table("gfx942")) as emulator:
        emulator.add(operands)
        emulator.add(sizes)
        emulator.add(first, written=False)
        emulator.add(entries, written=False)
        places = [array.ctypes.data for array in (operands, sizes, first, entries)]
        args = struct.pack("<4Q4i", *places, count, *TILE, splits)
        module = emulator.load(code_object("gfx942"))
        run = emulator.launch(module, "describe", [1, 1, 1], [LANES, 1, 1], args, Options(seed=3))
    assert not run.findings, run.findings
    before, wanted = expected(operands, sizes, splits)
    assert np.array_equal(first, before) and np.array_equal(entries, wanted)


@pytest.mark.parametrize("words", [1, 63, UPLOADED])
def test_what_an_upload_writes(words: int) -> None:
    payload = np.random.default_rng(words).integers(0, 2**32, UPLOADED, dtype=np.uint32)
    target = np.full(UPLOADED + 1, 0xA5A5A5A5, np.uint32)
    with Emulator(CHIPS["gfx942"], table("gfx942")) as emulator:
        emulator.add(target)
        module = emulator.load(code_object("gfx942"))
        args = struct.pack("<QI", target.ctypes.data, words) + payload.tobytes() + bytes(4)
        run = emulator.launch(module, "upload", [1, 1, 1], [LANES, 1, 1], args, Options(seed=3))
    assert not run.findings, run.findings
    assert np.array_equal(target[:words], payload[:words]) and (target[words:] == 0xA5A5A5A5).all()
