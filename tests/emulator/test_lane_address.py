"""Where memory instructions go, bit for bit: a chip without memory names the address of every access in a finding."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import pytest
from step_support import CHIPS, assemble, table

from ckgen_emulator.bindings import LANES, Emulator, Finding, Options, Wave

pytestmark = pytest.mark.amd

ARCH = "gfx942"
DRAWS = 150
"""Of resources and offsets, for each instruction."""
EDGES = (0, 1, 31, 32, 62, 63)
"""Lanes that are alone."""
FULL = 0xFFFFFFFF


@cache
def nowhere() -> Emulator:
    """A chip that has no allocation."""
    return Emulator(CHIPS[ARCH], table(ARCH))


def found(text: str, state: Wave) -> tuple[Finding, ...]:
    return nowhere().step(assemble(text, ARCH), state, Options(checked=False)).findings


def reached(finding: Finding, verb: str) -> tuple[int, int]:
    """Address and bytes of an access."""
    matched = re.fullmatch(verb + r": (\d+) bytes at 0x([0-9a-f]+): there are no allocations", finding.what)
    assert matched and finding.rule == "out_of_bounds", finding
    return int(matched[2], 16), int(matched[1])


@dataclass(frozen=True)
class Resource:
    """A buffer resource; `stride` has 18 bits where thread numbers are added, else 14."""

    base: int
    stride: int
    records: int
    swizzled: bool
    code: int
    add_thread: bool

    def put(self, state: Wave, first: int) -> None:
        state.set_pair(first, self.base | (self.stride & 0x3FFF) << 48 | self.swizzled << 63)
        state.scalars[first + 2] = self.records
        state.scalars[first + 3] = (
            2 << 12 | self.code << 21 | self.add_thread << 23 | (self.stride >> 14 if self.add_thread else 7) << 15
        )

    def place(self, index: int, at: int, counted: bool) -> int:
        """Of a byte, from the base on (CDNA3 ISA, 9.1.5). `counted`: there is an index or a thread's number."""
        if not self.swizzled or self.stride == 0 or not counted:
            return index * self.stride + at
        group = 8 << self.code
        block = index // group * self.stride * group
        return block + at // 4 * 4 * group + index % group * 4 + at % 4


@dataclass(frozen=True)
class Access:
    """A buffer instruction; `rows`: of index and offset, in v2 on."""

    name: str
    size: int
    verb: str = "read"

    @property
    def by_dwords(self) -> bool:
        """Whether what is in range is asked of each dword."""
        return self.size >= 4 and "atomic" not in self.name


ACCESSES = (
    Access("buffer_load_ubyte v20", 1),
    Access("buffer_load_ushort v20", 2),
    Access("buffer_load_dword v20", 4),
    Access("buffer_load_dwordx4 v[20:23]", 16),
    Access("buffer_store_short v20", 2, "written"),
    Access("buffer_store_dwordx3 v[20:22]", 12, "written"),
    Access("buffer_atomic_add v20", 4, "written"),
    Access("buffer_atomic_add_x2 v[20:21]", 8, "written"),
)


def expected(
    one: Access, of: Resource, soffset: int, index: int | None, offset: int, lane: int
) -> Iterator[tuple[int, int]]:
    """Address and bytes of all that is in range: an access, or its dwords where they are apart."""
    number = (index or 0) + (lane if of.add_thread else 0)
    room = max(of.records - soffset, 0)
    apart = of.swizzled and of.stride != 0 and "atomic" not in one.name
    parts = range(0, one.size, 4) if apart else range(1)
    size = min(one.size, 4) if apart else one.size
    for part in parts:
        at = offset + part
        address = of.base + soffset + of.place(number, at, index is not None or of.add_thread)
        if index is not None and of.stride != 0:
            there = size if index < of.records else 0
        elif at + size <= room:
            there = size
        else:
            there = max(room - at, 0) // 4 * 4 if one.by_dwords else 0
        if there:
            yield address, there


def resources(dice: random.Random, one: Access) -> Iterator[tuple[Resource, int, int, int]]:
    """With SOFFSET, index and offset; bounds are met, missed by one and far away."""
    for draw in range(DRAWS):
        add_thread = draw % 3 == 0
        swizzled = draw % 4 == 0 and one.size <= 4 + one.by_dwords * 12
        unit = one.size if "atomic" in one.name else min(one.size, 4) if swizzled else 1  # that must be aligned
        stride = dice.choice((0, 1, 2, 4, 12, dice.randrange(1 << 14)))
        if add_thread and dice.random() < 0.5:
            stride |= dice.randrange(16) << 14
        index, offset = dice.choice((FULL, dice.randrange(1 << 20))), dice.choice((2056, dice.randrange(1 << 20)))
        soffset = dice.choice((0, 4, dice.randrange(1 << 20), dice.randrange(1 << 31)))
        base = dice.randrange(1 << 47)
        base, stride, offset, soffset = (value // unit * unit for value in (base, stride, offset, soffset))
        end = soffset + offset + one.size
        records = dice.choice((FULL, index, index + 1, soffset, *(end + by for by in (-one.size, -4, -1, 0, 1))))
        yield Resource(base, stride, min(records, FULL), swizzled, draw % 4, add_thread), soffset, index, offset


@pytest.mark.parametrize("form", ["off", "offen", "idxen", "idxen offen"])
@pytest.mark.parametrize("access", ACCESSES, ids=lambda one: one.name.split()[0])
def test_buffers(access: Access, form: str) -> None:
    dice = random.Random(f"{access.name} {form}")
    indexed, has_offset = "idxen" in form, "offen" in form
    address = {"off": "off", "idxen offen": "v[2:3]"}.get(form, "v2")
    text = f"{access.name}, {address}, s[8:11], s12 {form.replace('off ', '') if form != 'off' else ''} offset:2056"
    inside = 0
    for of, soffset, index, offset in resources(dice, access):
        lane = dice.choice(EDGES)
        state = Wave()
        state.exec_mask = 1 << lane
        of.put(state, 8)
        state.scalars[12] = soffset
        own = (offset - 2056) % 2**32 if has_offset else 0
        rows = [index] * indexed + [own] * has_offset
        for row, value in enumerate(rows):
            state.vectors[2 + row, lane] = value
        at = (own + 2056) % 2**32
        parts = list(expected(access, of, soffset, index if indexed else None, at, lane))
        findings = found(text, state)
        assert len(findings) == bool(parts), (of, soffset, index, offset)
        for finding in findings:
            assert reached(finding, access.verb) == parts[0], (of, soffset, index, offset)
            assert (finding.lane, finding.count) == (lane, len(parts))
            inside += 1
    assert DRAWS // 4 < inside < DRAWS


FLATS = (
    ("global_load_dword v20, v[2:3], off offset:{at}", "read", 4),
    ("global_load_dwordx4 v[20:23], v2, s[8:9] offset:{at}", "read", 16),
    ("global_store_dwordx2 v[2:3], v[20:21], off offset:{at}", "written", 8),
    ("global_atomic_add v2, v20, s[8:9] offset:{at}", "written", 4),
    ("flat_load_dwordx3 v[20:22], v[2:3] offset:{at}", "read", 12),
    ("flat_store_byte v[2:3], v20 offset:{at}", "written", 1),
    ("flat_atomic_add_x2 v[2:3], v[20:21] offset:{at}", "written", 8),
    ("global_load_lds_dword v[2:3], off offset:{at}", "read", 4),
)


@pytest.mark.parametrize(("text", "verb", "size"), FLATS, ids=[one[0].split()[0] for one in FLATS])
def test_global_and_flat(text: str, verb: str, size: int) -> None:
    """64 bits of the lane, or 32 over a scalar base, and an immediate of 13 bits with a sign (FLAT: 12 without)."""
    dice = random.Random(text)
    for draw in range(40):
        lane = dice.choice(EDGES)
        immediate = 4088 if text.startswith("flat") else (4088, -4096, 0, -8)[draw % 4]
        state = Wave(lds_bytes=65536)
        state.exec_mask = 1 << lane
        own, base = dice.randrange(1 << 47) & ~7 | 1 << 46, dice.randrange(1 << 47) & ~7
        state.vectors[2, lane], state.vectors[3, lane] = own % 2**32, own >> 32
        state.set_pair(8, base)
        [finding] = found(text.format(at=immediate), state)
        place = own if "s[8:9]" not in text else base + own % 2**32
        assert reached(finding, verb) == (place + immediate, size)
        assert finding.lane == lane


SCALARS = (
    ("s_load_dword s20, s[8:9], {at}", 4),
    ("s_load_dwordx16 s[20:35], s[8:9], s12 offset:{at}", 4),
    ("s_buffer_load_dword s20, s[8:11], s12", 4),
    ("s_store_dwordx4 s[20:23], s[8:9], {at}", 16),
)


@pytest.mark.parametrize(("text", "size"), SCALARS, ids=[one[0].split()[0] for one in SCALARS])
def test_scalar(text: str, size: int) -> None:
    """A base of 64 bits (of a buffer 48), an immediate of 21 bits with a sign, and 32 bits without one."""
    dice = random.Random(text)
    for draw in range(60):
        immediate = (0xFFFFC, -0x100000, 0, -4)[draw % 4] if "{at}" in text else 0
        base, soffset = dice.randrange(1 << 48) & ~3, dice.randrange(1 << 31) & ~3
        state = Wave()
        state.scalars[12] = soffset
        buffer = "buffer" in text
        stride = dice.choice((0, 1, 2, dice.randrange(1 << 14)))
        limit = soffset // max(stride, 1)  # the first record that is not below the offset
        records = limit + dice.choice((1, 2))
        state.set_pair(8, base | (stride | dice.choice((0, 3)) << 14) << 48 if buffer else base)
        state.scalars[10] = records
        finds = found(text.format(at=immediate), state)
        place = base + immediate + (soffset if "s12" in text else 0)
        if buffer and records * max(stride, 1) - soffset < 4:
            assert not finds and state.scalars[20] == 0
            continue
        [finding] = finds
        assert reached(finding, "written" if "store" in text else "read") == (place, size)
        assert finding.lane == -1


@pytest.mark.parametrize("lane", range(LANES))
def test_the_first_lane_outside_is_named(lane: int) -> None:
    """Once for all of them."""
    state = Wave()
    state.exec_mask = 2**LANES - (1 << lane)
    state.vectors[2] = range(0, 4 * LANES, 4)
    [finding] = found("global_load_dword v20, v2, s[8:9]", state)
    assert reached(finding, "read") == (4 * lane, 4)
    assert (finding.lane, finding.count) == (lane, 1)
