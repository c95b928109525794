"""A measurer of kernels whose undisturbed times are known, on a machine that others use too: what they take only adds.

Time passes on a clock of its own, by the real rounds of `interleaved`: so what a search costs is known with its winner.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from ckgen.fuzz.case import Case
from ckgen.measure import timing
from ckgen.measure.model import Candidate, Effort, Environment, Measured, MeasureStatus
from ckgen.measure.timing import Body, interleaved
from ckgen.tune import budget
from tune.fake_measurer import ENVIRONMENT

DISTURBED, LONGER = 0.55, (1.1, 2.0)
"""The part of samples that last longer, and how many times as long."""
NOISE, HEARS, START = 0.005, 0.0006, 1.0
"""Of a call's time as a part; seconds between samples, and until a fresh process has its operands."""


@dataclass
class DisturbedMachine:
    """Candidates' seconds by name. `draw` decides what is disturbed, and when."""

    seconds: dict[str, float]
    draw: random.Random
    now: float = 0.0
    is_fresh: bool = False
    known: dict[Candidate, float] = field(default_factory=dict)

    def patch(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Makes rounds and tunes live by this clock."""
        clock = SimpleNamespace(perf_counter=lambda: self.now, monotonic=lambda: self.now, sleep=lambda seconds: None)
        monkeypatch.setattr(timing, "time", clock)
        monkeypatch.setattr(timing, "waited", lambda: 0.0)
        monkeypatch.setattr(budget, "time", clock)

    def environment(self) -> Environment:
        return ENVIRONMENT

    def candidates(self, problem: Case) -> tuple[Candidate, ...]:
        return tuple(map(Candidate, sorted(self.seconds)))

    def selected(self, problem: Case) -> Candidate | None:
        return None

    def renew(self) -> None:
        self.is_fresh = True

    def measure(
        self,
        problem: Case,
        candidates: Sequence[Candidate],
        effort: Effort,
        done: Callable[[Measured], None] | None = None,
    ) -> tuple[Measured, ...]:
        found = list(self._timed(candidates, effort) if self._is_ready(effort.ends) else map(_late, candidates))
        for one in found if done is not None else ():
            done(one)
        return tuple(found)

    def _is_ready(self, ends: float) -> bool:
        """Whether a process is there, or began before the end."""
        if self.is_fresh:
            self.known.clear()
            self.is_fresh = 0 < ends <= START
            self.now += ends if self.is_fresh else START
        return not self.is_fresh

    def _timed(self, candidates: Sequence[Candidate], effort: Effort) -> Sequence[Measured]:
        longer = dict.fromkeys(candidates, 1.0)

        def heard(name: str) -> None:
            self.now += HEARS
            longer[Candidate(name)] = self.draw.uniform(*LONGER) if self.draw.random() < DISTURBED else 1.0

        def call(one: Candidate) -> None:
            self.now += self.seconds[one.instance] * longer[one] * self.draw.gauss(1.0, NOISE)

        bodies = {
            one.instance: Body(((lambda one=one: call(one)),), 0.0, known=self.known.get(one)) for one in candidates
        }
        samples = interleaved(bodies, effort, heard=heard)
        self.known |= {Candidate(name): sample.median for name, sample in samples.items()}
        return [
            Measured(Candidate(name), MeasureStatus.OK, "", one.median * 1e6, one.spread, len(one.seconds))
            for name, one in samples.items()
        ]


def _late(one: Candidate) -> Measured:
    return Measured(one, MeasureStatus.LATE, "it was late")
