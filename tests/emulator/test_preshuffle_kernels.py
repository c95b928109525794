"""The device functions of a preshuffled B, compiled and executed: the permutation of the host, both ways."""

from __future__ import annotations

import struct
from functools import cache

import numpy as np
import pytest
from step_support import CHIPS, table

from amd_support import code_object_of
from ckgen.families.gemm.reference import preshuffle
from ckgen_emulator.bindings import Emulator, Options

TEXT = """#include <backends/hip/preshuffle.hpp>
CKGEN_PRESHUFFLE_KERNEL(there, false)
CKGEN_PRESHUFFLE_KERNEL(back, true)
"""
LANES = 256


@cache
def code_object(arch: str) -> bytes:
    return code_object_of("preshuffle", "ck_tile", arch, TEXT).read_bytes()


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
@pytest.mark.parametrize(("n", "row_bytes", "gap", "groups"), [(16, 32, 0, 1), (48, 96, 16, 1), (64, 352, 48, 3)])
def test_the_hosts_permutation_and_its_inverse(arch: str, n: int, row_bytes: int, gap: int, groups: int) -> None:
    """Rows with gaps between them, more chunks than lanes, and a grid that is no divisor of them."""
    rows = np.random.default_rng(n).integers(0, 256, (n, row_bytes + gap), dtype=np.uint8)
    shuffled = np.zeros((n, row_bytes), np.uint8)
    again = np.full_like(rows, 0xA5)
    with Emulator(CHIPS[arch], table(arch)) as emulator:
        emulator.add(rows)
        emulator.add(shuffled, written=False)
        emulator.add(again, written=False)
        module = emulator.load(code_object(arch))
        for symbol, source, target in (("there", rows, shuffled), ("back", shuffled, again)):
            args = struct.pack("<2Q4q", source.ctypes.data, target.ctypes.data, row_bytes + gap, n, row_bytes, groups)
            run = emulator.launch(module, symbol, [groups, 1, 1], [LANES, 1, 1], args, Options(seed=7))
            assert not run.findings, run.findings
    assert np.array_equal(shuffled, preshuffle(np.ascontiguousarray(rows[None, :, :row_bytes]))[0])
    assert np.array_equal(again[:, :row_bytes], rows[:, :row_bytes]) and (again[:, row_bytes:] == 0xA5).all()
