"""Runs every mutant of a subject until something tells it from the kernel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ckgen.build.amd.model import AmdToolchain
from ckgen_emulator.bindings import Emulator
from ckgen_emulator.mutate.child import ChildFailure, in_child
from ckgen_emulator.mutate.choose import Mutant, mutants
from ckgen_emulator.mutate.code import Code
from ckgen_emulator.mutate.regions import executed
from ckgen_emulator.mutate.subject import Subject

SEEDS = (0, 1, 2, 3)
_SECONDS = 60.0
_LOOPS = 5
"""A mutant may execute so many times the kernel's instructions before it counts as one that never ends."""


@dataclass(frozen=True, slots=True)
class Caught:
    """By which checks at once, and the first problem and seed that showed it."""

    by: tuple[str, ...]
    problem: int
    seed: int


@dataclass(frozen=True, slots=True)
class Verdict:
    """A mutant and what became of it; `caught` is None for a survivor. `crash`: how the emulator itself failed."""

    mutant: Mutant
    caught: Caught | None
    crash: str = ""

    def to_json(self) -> dict[str, Any]:
        """All but the code."""
        one = self.mutant
        return {
            "operator": one.operator, "address": f"{one.address:#x}", "region": one.region.value,
            "before": one.before, "after": one.after, "problems": list(one.problems),
            "caught": asdict(self.caught) if self.caught else None, "crash": self.crash,
        }  # fmt: skip


class Campaign:
    """A subject under the schedules of `seeds`, the first of them 0; clean runs say what is executed and how much."""

    def __init__(self, subject: Subject, folder: Path, seeds: Sequence[int] = SEEDS) -> None:
        self.subject, self.seeds = subject, seeds
        self.emulator = Emulator(subject.chip, subject.table)
        self.code = Code.read(subject.code, self.emulator)
        self.ran: list[Counter[int]] = []
        self._most = 0
        for problem in range(subject.problems):
            trace = folder / f"trace-{problem}"
            self._clean(problem, str(trace))
            self.ran.append(executed(trace))
            trace.unlink()

    def mutants(self, toolchain: AmdToolchain, seed: int, most: int) -> list[Mutant]:
        """As choose.mutants."""
        return mutants(self.code, self.ran, self.emulator, toolchain, seed, most)

    def judge(self, mutant: Mutant) -> Verdict:
        """Every problem that executes it, under every schedule."""
        for seed in self.seeds:
            try:
                caught = in_child(lambda seed=seed: self._first(mutant, seed), _SECONDS)  # type: ignore[misc]
            except ChildFailure as failure:
                return Verdict(mutant, None, str(failure))
            if caught:
                return Verdict(mutant, Caught(tuple(caught["by"]), caught["problem"], seed))
        return Verdict(mutant, None)

    def _first(self, mutant: Mutant, seed: int) -> dict[str, Any] | None:
        seen = self.subject.run(mutant.data, mutant.problems, seed, self._most)
        for problem, one in zip(mutant.problems, seen, strict=True):
            if one.caught:
                return {"by": one.caught, "problem": problem}
        return None

    def _clean(self, problem: int, trace: str) -> None:
        """ValueError if the kernel itself is not right: then nothing can be said of its mutants."""
        for seed in self.seeds:
            text = trace if seed == 0 else ""
            (seen,) = in_child(
                lambda seed=seed, text=text: [  # type: ignore[misc]
                    asdict(one) for one in self.subject.run(self.subject.code, [problem], seed, 0, text)
                ],
                _SECONDS,
            )
            if seen["rules"] or seen["wrong"] or seen["refused"]:
                raise ValueError(f"{self.subject.name}, problem {problem}, seed {seed} is not clean: {seen}")
            self._most = max(self._most, seen["instructions"] * _LOOPS + 100_000)


def campaign(
    subject: Subject, toolchain: AmdToolchain, folder: Path, seed: int, most: int, heard: Callable[[Verdict], None]
) -> list[Verdict]:
    """All mutants of a subject, judged."""
    made = Campaign(subject, folder)
    verdicts = []
    for mutant in made.mutants(toolchain, seed, most):
        verdicts.append(made.judge(mutant))
        heard(verdicts[-1])
    return verdicts
