"""Allocations: which may be next to each other, what is said of places between them, which bytes are written."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from numpy.typing import NDArray
from step_support import CHIPS, assemble, table

from ckgen.model.errors import UsageError
from ckgen_emulator.bindings import LANES, Emulator, Options, Wave

pytestmark = pytest.mark.amd

ARCH = "gfx942"
Bytes = NDArray[np.uint8]


@contextmanager
def fresh(size: int = 1024) -> Iterator[tuple[Emulator, Bytes]]:
    """A chip that knows nothing of the bytes yet."""
    with Emulator(CHIPS[ARCH], table(ARCH)) as chip:
        memory = np.zeros(size + 64, np.uint8)
        yield chip, memory[-memory.ctypes.data % 64 :][:size]


@pytest.mark.parametrize(
    ("first", "last", "good"),
    [
        (100, 200, False), (200, 300, True), (50, 100, True), (199, 300, False), (50, 101, False), (120, 130, False),
        (50, 300, False), (100, 101, False), (199, 200, False), (201, 202, True), (0, 50, True), (99, 100, True),
    ],
)  # fmt: skip
def test_allocations_touch_but_do_not_overlap(first: int, last: int, good: bool) -> None:
    with fresh() as (chip, memory):
        chip.add(memory[100:200])
        if good:
            chip.add(memory[first:last])
            chip.remove(memory[first:last])
        else:
            with pytest.raises(UsageError, match="memory that is empty or overlaps what is known"):
                chip.add(memory[first:last])
        chip.remove(memory[100:200])
        chip.add(memory[first:last])


def test_what_is_no_allocation() -> None:
    with fresh() as (chip, memory):
        with pytest.raises(UsageError, match="memory that is empty or overlaps what is known"):
            chip.add(memory[5:5])
        chip.add(memory[8:16])
        for other in (memory[9:16], memory[16:24], memory[:8]):
            with pytest.raises(UsageError, match="memory that is not known"):
                chip.remove(other)
        chip.remove(memory[8:16])
        with pytest.raises(UsageError, match="memory that is not known"):
            chip.remove(memory[8:16])


@pytest.mark.parametrize(
    ("address", "size", "good"), [(1, 2**64 - 2, True), (1, 2**64 - 1, False), (2**63, 2**63, False)]
)
def test_memory_ends_with_64_bits(address: int, size: int, good: bool) -> None:
    with fresh() as (chip, _):
        assert chip._core.ckgen_emu_memory_add(chip._handle, address, size, 1, 1) == (0 if good else 1)


def said(chip: Emulator, address: int, text: str = "global_load_dword v4, v[2:3], off") -> str:
    state = Wave()
    state.exec_mask = 1
    state.vectors[2, 0], state.vectors[3, 0] = address % 2**32, address >> 32
    [finding] = chip.step(assemble(text, ARCH), state, Options(checked=False)).findings
    return finding.what


def test_places_are_told_by_what_is_nearest() -> None:
    """The allocation before where both are as near."""
    with fresh() as (chip, memory):
        start = chip.add(memory[128:256])
        above = chip.add(memory[512:640])
        low, high = f"of 128 bytes at {start:#x}", f"of 128 bytes at {above:#x}"
        for at, what in (
            (-1, f"begin 1 bytes before the allocation {low}"),
            (-100, f"begin 100 bytes before the allocation {low}"),
            (125, f"end 1 bytes past the allocation {low}"),
            (127, f"end 3 bytes past the allocation {low}"),
            (128, f"begin 0 bytes past the end of the allocation {low}"),
            (255, f"begin 127 bytes past the end of the allocation {low}"),
            (256, f"begin 128 bytes past the end of the allocation {low}"),
            (257, f"begin 127 bytes before the allocation {high}"),
            (383, f"begin 1 bytes before the allocation {high}"),
            (384 + 126, f"end 2 bytes past the allocation {high}"),
            (384 + 128, f"begin 0 bytes past the end of the allocation {high}"),
            (1 << 20, f"begin {(1 << 20) - 512} bytes past the end of the allocation {high}"),
        ):
            assert said(chip, start + at) == f"read: 4 bytes at {start + at:#x} {what}"
        inside = said(chip, start + 2, "global_atomic_add v[2:3], v4, off")
        assert inside == f"not a multiple of 4: 4 bytes at {start + 2:#x} in the allocation {low}"


def test_what_is_gone_is_gone() -> None:
    with fresh() as (chip, memory):
        address = chip.add(memory[:64])
        state = Wave()
        state.set_pair(8, address)
        code = assemble("s_load_dword s20, s[8:9], 0\ns_waitcnt lgkmcnt(0)", ARCH)
        for _ in range(2):
            assert not chip.step(code, state).findings
        chip.remove(memory[:64])
        assert [one.rule for one in chip.step(code, state).findings] == ["out_of_bounds"]
        chip.add(memory[:64], written=False)
        assert [one.rule for one in chip.step(code, state).findings] == ["uninitialised"]


def test_more_allocations_than_are_remembered() -> None:
    with fresh() as (chip, memory):
        places = [chip.add(memory[at : at + 8]) for at in range(0, 1024, 16)]
        memory[:] = np.arange(1024) // 16
        state = Wave()
        state.vectors[2] = np.array(places) % 2**32
        state.vectors[3] = np.array(places) >> 32
        for text, mask in (
            ("global_load_ubyte v4, v[2:3], off", 2**64 - 1),
            ("global_load_ubyte v4, v[2:3], off", 1 << 63),
        ):
            state.exec_mask = mask
            assert not chip.step(assemble(text + "\ns_waitcnt vmcnt(0)", ARCH), state).findings
        assert state.vectors[4].tolist() == list(range(LANES))


def marked(chip: Emulator, address: int, size: int) -> int:
    return int(chip._core.ckgen_emu_memory_written(chip._handle, address, size))


def test_bytes_that_the_host_writes_are_written() -> None:
    """Each for itself, wherever they begin and end; nothing beyond an allocation's end."""
    dice = random.Random(5)
    load = assemble("global_load_ubyte v4, v2, s[8:9]\ns_waitcnt vmcnt(0)", ARCH)
    for _ in range(40):
        with fresh(320) as (chip, memory):
            address = chip.add(memory[3:315], written=False)
            written = np.zeros(312, bool)
            for _ in range(dice.randrange(1, 4)):
                first = dice.randrange(312)
                count = dice.choice((1, 63, 64, 65, 128, 200)) % (313 - first) or 1
                assert marked(chip, address + first, count) == 0
                written[first : first + count] = True
            for start in range(0, 256, LANES):
                state = Wave()
                state.vectors[2] = np.arange(start, start + LANES)
                state.set_pair(8, address)
                good = written[start : start + LANES]
                for chosen in (good, ~good):
                    state.exec_mask = sum(1 << lane for lane in np.flatnonzero(chosen).tolist())
                    findings = chip.step(load, state).findings
                    if chosen is good or not chosen.any():
                        assert findings == ()
                        continue
                    [finding] = findings
                    assert finding.lane == np.flatnonzero(chosen)[0]
                    assert re.match("nothing has written byte 0 of 1 bytes at ", finding.what)
    with fresh() as (chip, memory):
        address = chip.add(memory[:64], written=False)
        refused = [marked(chip, address + at, size) for at, size in ((0, 65), (63, 2), (64, 1), (-1, 1), (100, 1))]
        assert refused == [1] * 5
        assert [marked(chip, address + at, size) for at, size in ((0, 64), (63, 1))] == [0, 0]
