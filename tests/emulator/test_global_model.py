"""Random accesses of memory by several workgroups, against a model of the records that are kept of each dword."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from spread import Spread, drawn_places
from step_support import arguments, emulator, kernel

from ckgen_emulator.bindings import Options

pytestmark = pytest.mark.amd

ARCH = "gfx942"
PROGRAMS, GROUPS, WAVES, EPOCHS = 20, 3, 2, 3
SIZE = 2048
"""Bytes of each program's own memory."""

OPS = {
    ("load", 1): "global_load_ubyte v{to}, v5, s[8:9]", ("load", 2): "global_load_ushort v{to}, v5, s[8:9]",
    ("load", 4): "global_load_dword v{to}, v5, s[8:9]", ("load", 8): "global_load_dwordx2 v[{to}:{to1}], v5, s[8:9]",
    ("load", 12): "global_load_dwordx3 v[{to}:{to2}], v5, s[8:9]",
    ("load", 16): "global_load_dwordx4 v[{to}:{to3}], v5, s[8:9]", ("store", 1): "global_store_byte v5, v6, s[8:9]",
    ("store", 2): "global_store_short v5, v6, s[8:9]", ("store", 4): "global_store_dword v5, v6, s[8:9]",
    ("store", 8): "global_store_dwordx2 v5, v[6:7], s[8:9]", ("store", 12): "global_store_dwordx3 v5, v[6:8], s[8:9]",
    ("store", 16): "global_store_dwordx4 v5, v[6:9], s[8:9]", ("atomic", 4): "global_atomic_or v5, v10, s[8:9]",
    ("atomic", 8): "global_atomic_or_x2 v5, v[10:11], s[8:9]", ("sum", 4): "global_atomic_add_f32 v5, v12, s[8:9]",
}  # fmt: skip


@dataclass(frozen=True)
class Touch(Spread):
    """`value` is each dword that a store writes; `waits`: how many may be under way behind it, None for all."""

    scoped: bool
    value: int
    waits: int | None

    @property
    def reads(self) -> bool:
        return self.kind == "load"

    @property
    def way(self) -> str:
        """How what it writes leaves: plain stores stay in caches that are not coherent."""
        return {"store": "replaced" if self.scoped else "plain", "load": "plain"}.get(self.kind, self.kind)

    def lines(self, number: int) -> str:
        to = 20 + 4 * number
        text = OPS[self.kind, self.size].format(to=to, **{f"to{part}": to + part for part in (1, 2, 3)})
        values = "\n".join(f"v_mov_b32 v{row}, {self.value:#x}" for row in range(6, 10))
        lines = values + self.around(text + " sc1" * self.scoped) + "s_nop 1\n"
        return lines + ("" if self.waits is None else f"s_waitcnt vmcnt({self.waits})\n")


Program = list[list[list[list[Touch]]]]
"""By workgroup, epoch and wave; barriers are between epochs."""


def touch(dice: random.Random, kinds: tuple[tuple[str, bool], ...]) -> Touch:
    kind, scoped = dice.choice(kinds)
    size, base, stride, mask = drawn_places(dice, kind, [size for one, size in OPS if one == kind])
    value = dice.choice((0x01010101, 0x02020202, dice.randrange(2**30)))
    twist = dice.choice((0, 0, 0, 1, 63))
    return Touch(kind, size, base, stride, twist, mask, scoped, value, dice.choice((0, 1, None)))


def program(dice: random.Random, kinds: tuple[tuple[str, bool], ...]) -> Program:
    return [
        [[[touch(dice, kinds) for _ in range(dice.choice((0, 1, 1)))] for _ in range(WAVES)] for _ in range(EPOCHS)]
        for _ in range(GROUPS)
    ]


Key = tuple[int, int, int, int]
"""Of an access: workgroup, epoch, wave, number."""
Told = tuple[int, str, str]
"""Lane, what is done where, and by whom it was touched before."""


@dataclass(frozen=True)
class Record:
    """Of a dword: who touched which of its bytes last, as which of its operations, and how."""

    group: int
    wave: int
    number: int
    mask: int
    way: str

    @property
    def through(self) -> bool:
        """Whether it went past caches that are not coherent."""
        return self.way != "plain"


class Model:
    """Of one program. A workgroup runs before the next one does, a wave up to its barrier before the next one."""

    def __init__(self, start: int, first_group: int) -> None:
        self.start, self.first_group = start, first_group
        self.memory = bytearray(SIZE)
        self.writers: dict[int, Record] = {}
        self.readers: dict[int, Record] = {}
        self.found: dict[Key, list[Told]] = {}

    def run(self, made: Program) -> None:
        for group, epochs in enumerate(made):
            issued, done, arrived = [0] * WAVES, [0] * WAVES, [0] * WAVES
            late: list[tuple[Key, Told]] = []
            for epoch, waves in enumerate(epochs):
                for wave, touches in enumerate(waves):
                    for number, of in enumerate(touches):
                        issued[wave] += 1
                        self.access(of, (group, epoch, wave, number), issued[wave], arrived, late)
                        if of.waits is not None:
                            done[wave] = max(done[wave], issued[wave] - of.waits)
                arrived = list(done)
            for wave in range(WAVES):  # what nothing confirmed is told when its wave ends
                for key, told in late:
                    if key[2] == wave:
                        self.found[key].append(told)

    def access(self, of: Touch, key: Key, number: int, arrived: list[int], late: list[tuple[Key, Told]]) -> None:
        group, _, wave, _ = key
        told = self.found.setdefault(key, [])
        data = (of.value.to_bytes(4, "little") * 4)[: of.size]

        def races(record: Record | None, mask: int) -> bool:
            return record is not None and (record.group, record.wave) != (group, wave) and bool(record.mask & mask)

        parts = [(lane, at, mask) for lane, first in of.places() for at, mask in dwords(self.start + first, of.size)]
        firsts = dict(of.places())
        for lane, at, mask in parts:
            writer, reader = self.writers.get(at), self.readers.get(at)
            if of.kind == "store" and self.memory[firsts[lane] : firsts[lane] + of.size] == data:
                continue
            for record, verb in ((writer, "wrote"), (reader, "reads")):
                if record is None or not races(record, mask) or (verb == "reads" and of.kind != "store"):
                    continue
                past_caches = record.through and (of.scoped or of.kind in ("atomic", "sum"))
                if verb == "wrote" and past_caches and {record.way, of.way} != {"sum", "replaced"}:
                    continue
                same = record.group == group
                if same and record.number <= arrived[record.wave]:
                    continue
                missing = ("no s_waitcnt vmcnt(0) of that wave and barrier between" if same
                           else "no release of that workgroup at device scope is acquired here")  # fmt: skip
                verbs = "reads" if of.reads else "writes"
                who = f"wave {record.wave} of workgroup {self.first_group + record.group} {verb}: {missing}"
                text = f"{verbs} 4 bytes at {at:#x}", who
                if of.reads and not of.scoped and verb == "wrote" and record.through:
                    late.append((key, (lane, *text)))
                else:
                    told.append((lane, *text))
        for _, at, mask in parts:
            self.sign(of, at, mask, Record(group, wave, number, mask, of.way))
        for first in firsts.values():
            if of.kind == "store":
                self.memory[first : first + of.size] = data

    def sign(self, of: Touch, at: int, mask: int, new: Record) -> None:
        if of.reads and of.scoped:
            return
        records = self.readers if of.reads else self.writers
        old = records.get(at)
        own = old is not None and (old.group, old.wave) == (new.group, new.wave)
        if old is not None and own and (old.number == new.number if of.reads else old.way == new.way):
            mask |= old.mask
        records[at] = Record(new.group, new.wave, new.number, mask, new.way)


def dwords(first: int, size: int) -> Iterator[tuple[int, int]]:
    """Each aligned dword that some of the bytes are in, and which of its bytes those are."""
    for at in range(first // 4 * 4, first + size, 4):
        yield at, sum(1 << byte for byte in range(4) if first <= at + byte < first + size)


def text(programs: list[Program]) -> tuple[str, list[tuple[int, int, int, int, int]]]:
    """Workgroups of program p are 3 p on; and the accesses in the order of their code."""
    lines = ["s_load_dwordx2 s[8:9], s[0:1], 0", "v_readfirstlane_b32 s20, v0", "s_lshr_b32 s20, s20, 6"]
    lines += [
        "v_and_b32 v0, 63, v0",
        "v_mov_b32 v10, 0",
        "v_mov_b32 v11, 0",
        "v_bfrev_b32 v12, 1",
        "s_waitcnt lgkmcnt(0)",
    ]
    for index in range(GROUPS * len(programs)):
        lines += [f"s_cmp_lg_u32 s2, {index}", f"s_cbranch_scc1 not{index}", f"s_branch is{index}", f"not{index}:"]
    lines.append("s_endpgm")
    order = []
    for index, made in enumerate(programs):
        for group, epochs in enumerate(made):
            lines += [f"is{GROUPS * index + group}:", f"s_add_u32 s8, s8, {SIZE * index:#x}", "s_addc_u32 s9, s9, 0"]
            for epoch, waves in enumerate(epochs):
                for wave, touches in enumerate(waves):
                    past = f"past_{index}_{group}_{epoch}_{wave}"
                    lines += [f"s_cmp_eq_u32 s20, {wave}", f"s_cbranch_scc0 {past}"]
                    for number, of in enumerate(touches):
                        order.append((index, group, epoch, wave, number))
                        lines.append(of.lines(number + epoch))
                    lines.append(f"{past}:")
                lines.append("s_barrier")
            lines += ["s_waitcnt vmcnt(0)", "s_endpgm"]
    return "\n".join(lines), order


KINDS = (
    (("load", False), ("store", False), ("store", True), ("atomic", False), ("sum", False)),
    (("load", False), ("store", False), ("load", True)),
)
"""Never both loads past the caches and what publishes: then nothing is acquired."""


@pytest.mark.parametrize("kinds", KINDS)
@pytest.mark.parametrize("skew", [0, 2])
def test_races_are_those_of_the_records(kinds: tuple[tuple[str, bool], ...], skew: int) -> None:
    dice = random.Random(skew + len(kinds))
    kinds = (
        kinds if skew == 0 else tuple(one for one in kinds if one[0] not in ("atomic", "sum"))
    )  # which must be aligned
    programs = [program(dice, kinds) for _ in range(PROGRAMS)]
    body, order = text(programs)
    memory = np.zeros(PROGRAMS * SIZE + 64, np.uint8)
    memory = memory[-memory.ctypes.data % 64 + skew :][: PROGRAMS * SIZE]
    chip = emulator(ARCH)
    base = chip.add(memory)
    module = chip.load(kernel(body, ARCH, vgprs=128))
    grid, block = [GROUPS * PROGRAMS, 1, 1], [64 * WAVES, 1, 1]
    result = chip.launch(module, "k", grid, block, arguments(memory), Options(most_findings=10000))
    chip.unload(module)
    chip.remove(memory)
    found = {one.address: one for one in result.findings}
    assert len(found) == len(result.findings) and {one.rule for one in result.findings} == {"global_race"}
    expected: dict[tuple[int, ...], list[Told]] = {}
    for index, made in enumerate(programs):
        model = Model(base + SIZE * index, GROUPS * index)
        model.run(made)
        expected |= {(index, *key): what for key, what in model.found.items()}
    wrong = [key for key in order if expected[key]]
    assert len(wrong) == len(found) > PROGRAMS
    for key, address in zip(wrong, sorted(found), strict=True):
        finding, told = found[address], expected[key]
        index, group, _, wave, _ = key
        lane, what, who = told[0]
        assert finding.what.startswith(what + " ") and finding.what.endswith(", which " + who), (finding, told[0])
        assert (finding.group[0], finding.wave, finding.lane) == (GROUPS * index + group, wave, lane)
        assert finding.count == len(told)
