"""A measurer whose true times are known: of candidates by name, with noise, and some that fail."""

from __future__ import annotations

import hashlib
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from ckgen.fuzz.case import Case
from ckgen.measure.model import Candidate, Effort, Environment, Measured, MeasureStatus
from ckgen.measure.timing import Sample

ENVIRONMENT = Environment("a fake", "x86_64_v4:2", "1.0", 2, (("ckgen", "0"),))


@cache
def text_of(problem: Case) -> str:
    """Its text, which tunes ask for again and again."""
    return problem.text()


def made_up(problem: Case, candidate: Candidate) -> float:
    """Microseconds between 100 and 400, by the names alone."""
    digest = hashlib.sha256(f"{text_of(problem)} {candidate}".encode()).digest()
    return 100 + 300 * int.from_bytes(digest[:4], "big") / 2**32


@dataclass
class FakeMeasurer:
    """`noise` is the part of a time by which a single round varies; a median of n rounds varies less. `layout` is that
    by which all of a process vary, however many rounds there are; 0: noise is the same in all of them. `bursts` is the
    part of measurements in which something else takes a CPU during a part of the rounds, which then last twice as long.
    `ends` are candidates that are not timed. `cost` is what rounds of
    samples last. `heard` hears each outcome that was kept."""

    names: Sequence[str]
    true: Callable[[Case, Candidate], float] = made_up
    noise: float = 0.0
    layout: float = 0.0
    bursts: float = 0.0
    seed: int = 0
    process: int = 1
    ends: Mapping[str, MeasureStatus] = field(default_factory=dict)
    usual: str | None = None
    cost: float = 0
    calls: int = 0
    heard: Callable[[Case, Measured], None] = lambda *_: None

    def environment(self) -> Environment:
        return ENVIRONMENT

    def candidates(self, problem: Case) -> tuple[Candidate, ...]:
        return tuple(map(Candidate, self.names))

    def selected(self, problem: Case) -> Candidate | None:
        return Candidate(self.usual) if self.usual is not None else None

    def renew(self) -> None:
        self.process += 1

    def measure(
        self,
        problem: Case,
        candidates: Sequence[Candidate],
        effort: Effort,
        done: Callable[[Measured], None] | None = None,
    ) -> tuple[Measured, ...]:
        self.calls += 1
        shared = random.Random(f"{self.seed} {text_of(problem)} {effort} {self.process}")
        burst = shared.random() if shared.random() < self.bursts else None
        found = []
        for one in candidates:
            measured = self._one(problem, one, effort, burst)
            if done is not None:
                done(measured)
                self.heard(problem, measured)
            found.append(measured)
        return tuple(found)

    def _one(self, problem: Case, one: Candidate, effort: Effort, burst: float | None) -> Measured:
        """`burst`: the part of the rounds in which something else takes a CPU, if it does."""
        end = self.ends.get(one.instance, MeasureStatus.OK)
        if end is not MeasureStatus.OK:
            return Measured(one, end, reason=f"it is {end.value}")
        self.cost += effort.most * effort.sample
        text = text_of(problem)
        draw = random.Random(f"{self.seed} {text} {one} {effort} {self.process if self.layout else ''}")
        wide = self.noise / math.sqrt(effort.most)
        placed = random.Random(f"{self.seed} {text} {one} {self.process}").gauss(0, self.layout)
        time = self.true(problem, one) * max(1 + draw.gauss(0, wide) + placed, 0.05)
        if burst is not None:
            return self._taken(one, time, draw, effort.most, burst)
        return Measured(one, MeasureStatus.OK, "", time, 0.6745 * wide, effort.most, 0.0, 0.0, "c0de")

    def _taken(self, one: Candidate, time: float, draw: random.Random, rounds: int, part: float) -> Measured:
        """With a part of the rounds in which it has one CPU of two."""
        sample = Sample(
            tuple(time * (1 + draw.gauss(0, self.noise)) * (2 if draw.random() < part else 1) for _ in range(rounds))
        )
        return Measured(one, MeasureStatus.OK, "", sample.median, sample.spread, rounds, 0.0, 0.0, "c0de")
