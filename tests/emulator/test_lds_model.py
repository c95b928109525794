"""Random accesses of LDS by several waves, against a model that keeps what is known of every byte by itself."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, field, replace

import pytest
from spread import Spread, drawn_places
from step_support import emulator, kernel

from ckgen_emulator.bindings import Finding, Options

pytestmark = pytest.mark.amd

ARCH = "gfx942"
PROGRAMS, WAVES, EPOCHS = 30, 4, 4
SIZE = 2048
SEVERAL = -1
"""The writer of a byte that several waves have touched with atomics."""

OPS = {
    ("read", 1): "ds_read_u8 v{to}, v5", ("read", 2): "ds_read_u16 v{to}, v5", ("read", 4): "ds_read_b32 v{to}, v5",
    ("read", 8): "ds_read_b64 v[{to}:{to1}], v5", ("read", 12): "ds_read_b96 v[{to}:{to2}], v5",
    ("read", 16): "ds_read_b128 v[{to}:{to3}], v5", ("write", 1): "ds_write_b8 v5, v6",
    ("write", 2): "ds_write_b16 v5, v6", ("write", 4): "ds_write_b32 v5, v6", ("write", 8): "ds_write_b64 v5, v[6:7]",
    ("write", 12): "ds_write_b96 v5, v[6:8]", ("write", 16): "ds_write_b128 v5, v[6:9]",
    ("atomic", 4): "ds_add_u32 v5, v6", ("atomic", 8): "ds_or_b64 v5, v[6:7]",
}  # fmt: skip


@dataclass(frozen=True)
class Touch(Spread):
    """`waits`: how many may be under way behind it, None for all."""

    waits: int | None

    def covers(self, at: int) -> bool:
        return any(first <= at < first + self.size for _, first in self.places())

    def lines(self, number: int) -> str:
        to = 20 + 4 * number
        names = {f"to{part}": to + part for part in (1, 2, 3)}
        lines = self.around(OPS[self.kind, self.size].format(to=to, **names))
        return lines + ("" if self.waits is None else f"s_waitcnt lgkmcnt({self.waits})\n")


Culprit = tuple[int, bool] | None
"""A wave, and whether its access is of an epoch before; None if it is not known any more."""
Wrong = tuple[str, int, int, Culprit]
"""What, lane, byte, with whom."""
Program = list[list[list[Touch]]]
"""By epoch and wave; barriers are between epochs."""


def touch(dice: random.Random) -> Touch:
    kind = dice.choices(("read", "write", "atomic"), (5, 5, 2))[0]
    size, base, stride, mask = drawn_places(dice, kind, [size for one, size in OPS if one == kind])
    waits = dice.choice((0, 0, 0, 1, 2, None))
    return Touch(kind, size, base, stride, dice.choice((0, 0, 0, 1, 5, 63)), mask, waits)


def program(dice: random.Random) -> Program:
    made = [[[touch(dice) for _ in range(dice.choice((0, 0, 1, 2)))] for _ in range(WAVES)] for _ in range(EPOCHS)]
    if dice.random() < 0.7:  # else: nothing has written most of it
        whole = 2**64 - 1
        made[0] = [[Touch("write", 16, at, 16, 0, whole, waits) for at, waits in ((0, None), (1024, 0))], [], [], []]
    return made


@dataclass(frozen=True)
class Byte:
    """What is known of one: epochs in which it was written and read last, and by whom."""

    written: bool = False
    writer: int = SEVERAL
    write_epoch: int = 0
    atomic: bool = False
    readers: frozenset[int] = frozenset()
    read_epoch: int = 0


@dataclass
class Logged:
    """An access; `carried` into a later epoch than its own, since nothing had waited for it."""

    touch: Touch
    epoch: int
    carried: bool = False


@dataclass
class Model:
    epoch: int = 1
    bytes: list[Byte] = field(default_factory=lambda: [Byte()] * SIZE)
    log: list[list[Logged]] = field(default_factory=lambda: [[] for _ in range(WAVES)])

    def problems(self, at: int, kind: str, wave: int) -> dict[str, Culprit]:
        """By what is wrong; with whom."""
        one = self.bytes[at]
        found: dict[str, Culprit] = {}
        if kind != "write" and not one.written:
            found["unwritten"] = None
        both_atomic = kind == "atomic" and one.atomic
        if one.write_epoch == self.epoch and one.writer != wave and not both_atomic:
            writers = {one.writer} if one.writer != SEVERAL else set(range(WAVES)) - {wave}
            found["writes"] = self.culprit(writers, at, reads=False)
        others = set(one.readers) - {wave} if one.read_epoch == self.epoch else set()
        if kind != "read" and others:
            found["reads"] = self.culprit(others, at, reads=True)
        return found

    def culprit(self, waves: set[int], at: int, *, reads: bool) -> Culprit:
        """The first wave's youngest access of this epoch."""
        for wave in sorted(waves):
            for one in reversed(self.log[wave]):
                if one.epoch == self.epoch and (one.touch.kind == "read") == reads and one.touch.covers(at):
                    return wave, one.carried
        return None

    def stamped(self, one: Byte, kind: str, wave: int) -> Byte:
        if kind == "read":
            before = one.readers if one.read_epoch == self.epoch else frozenset()
            return replace(one, written=True, readers=before | {wave}, read_epoch=self.epoch)
        same = one.write_epoch == self.epoch
        atomic = kind == "atomic" and (one.atomic or not same)
        writer = SEVERAL if kind == "atomic" and same and one.writer != wave else wave
        return replace(one, written=True, writer=writer, write_epoch=self.epoch, atomic=atomic)

    def run(self, of: Touch, wave: int) -> list[Wrong]:
        """Each thing that is wrong once."""
        self.log[wave].append(Logged(of, self.epoch))
        found: dict[str, Wrong] = {}
        for lane, first in of.places():
            for at in range(first, first + of.size):
                for what, who in self.problems(at, of.kind, wave).items():
                    found.setdefault(what, (what, lane, at, who))
                self.bytes[at] = self.stamped(self.bytes[at], of.kind, wave)
        return list(found.values())

    def barrier(self, outstanding: list[list[Touch]]) -> None:
        """What is under way happens in the next epoch, too."""
        self.epoch += 1
        for wave, touches in enumerate(outstanding):
            for one in self.log[wave][len(self.log[wave]) - len(touches) :]:
                one.epoch, one.carried = self.epoch, True
            for of in touches:
                for _, first in of.places():
                    for at in range(first, first + of.size):
                        self.bytes[at] = self.stamped(self.bytes[at], of.kind, wave)


def expected(made: Program) -> dict[tuple[int, int, int], list[Wrong]]:
    """By epoch, wave and number of the access. A wave runs up to its barrier before the next one does."""
    model = Model()
    found = {}
    outstanding: list[list[Touch]] = [[] for _ in range(WAVES)]
    for epoch, waves in enumerate(made):
        for wave, touches in enumerate(waves):
            for number, of in enumerate(touches):
                found[epoch, wave, number] = model.run(of, wave)
                outstanding[wave].append(of)
                if of.waits is not None:
                    outstanding[wave] = outstanding[wave][max(len(outstanding[wave]) - of.waits, 0) :]
        model.barrier(outstanding)
    return found


def text(programs: list[Program]) -> tuple[str, list[tuple[int, int, int, int]]]:
    """Workgroup i runs program i; and the accesses in the order of their code."""
    lines = ["v_readfirstlane_b32 s20, v0", "s_lshr_b32 s20, s20, 6", "v_and_b32 v0, 63, v0"]
    lines += [f"v_mov_b32 v{row}, v0" for row in range(6, 10)]
    order = []
    for index in range(len(programs)):
        lines += [f"s_cmp_lg_u32 s2, {index}", f"s_cbranch_scc1 not{index}", f"s_branch is{index}", f"not{index}:"]
    lines.append("s_endpgm")
    for index, made in enumerate(programs):
        lines.append(f"is{index}:")
        for epoch, waves in enumerate(made):
            for wave, touches in enumerate(waves):
                name = f"past_{index}_{epoch}_{wave}"
                lines += [f"s_cmp_eq_u32 s20, {wave}", f"s_cbranch_scc0 {name}"]
                for number, of in enumerate(touches):
                    order.append((index, epoch, wave, number))
                    lines.append(of.lines(number + 2 * epoch))
                lines.append(f"{name}:")
            lines.append("s_barrier")
        lines.append("s_endpgm")
    return "\n".join(lines), order


SAID = re.compile(
    r"LDS byte 0x([0-9a-f]+) is (read|written)"
    r"(?:, and nothing has written it|; (?:another wave|wave (\d+)) (reads|writes) it"
    r"(?: by .*?)?, (and no barrier is between the two|which it had not waited for when it came to the barrier))"
)


@pytest.mark.parametrize("seed", [1, 2])
def test_races_are_those_of_the_bytes(seed: int) -> None:
    dice = random.Random(seed)
    programs = [program(dice) for _ in range(PROGRAMS)]
    body, order = text(programs)
    chip = emulator(ARCH)
    module = chip.load(kernel(body, ARCH, lds=SIZE, vgprs=128))
    options = Options(most_findings=10000)
    result = chip.launch(module, "k", [PROGRAMS, 1, 1], [64 * WAVES, 1, 1], bytes(8), options)
    chip.unload(module)
    found: dict[int, dict[str, Finding]] = {}
    for one in result.findings:
        of = found.setdefault(one.address, {})
        assert one.rule not in of
        of[one.rule] = one
    addresses = iter(sorted(found))
    predicted = {(index, *key): what for index, made in enumerate(programs) for key, what in expected(made).items()}
    wrong = [key for key in order if predicted[key]]
    assert len(wrong) == len(found) > PROGRAMS
    for index, epoch, wave, number in wrong:
        of = found[next(addresses)]
        problems = predicted[index, epoch, wave, number]
        kind = programs[index][epoch][wave][number].kind
        for rule in ("uninitialised", "lds_race"):
            these = [one for one in problems if (one[0] == "unwritten") == (rule == "uninitialised")]
            assert (rule in of) == bool(these), problems
            if these:
                assert (of[rule].group, of[rule].wave, of[rule].count) == ((index, 0, 0), wave, len(these))
                compare(of[rule], these, "read" if kind == "read" or rule == "uninitialised" else "written")


def compare(finding: Finding, these: list[Wrong], verb: str) -> None:
    """Lane, byte and the other wave are those of one of the things that are wrong."""
    matched = SAID.fullmatch(finding.what)
    assert matched and matched[2] == verb, finding
    said: Culprit = (int(matched[3]), matched[5].startswith("which")) if matched[3] is not None else None
    lane, at = finding.lane, int(matched[1], 16)
    assert any((lane, at, said, matched[4] or what) == (one, byte, who, what) for what, one, byte, who in these), these
