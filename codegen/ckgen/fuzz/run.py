"""A run: case after case of one seed until time or count is over, every failure minimised and told once."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any

from ckgen.families.common.sensitivity import Sensitivity
from ckgen.fuzz.case import Case
from ckgen.fuzz.child import Child
from ckgen.fuzz.draw import case_of
from ckgen.fuzz.outcome import CaseStatus, Failure, Outcome
from ckgen.fuzz.prepare import Inputs
from ckgen.fuzz.shrink import shrink
from ckgen.fuzz.space import Space

MOST_FAILURES = 10


@dataclass(slots=True)
class Report:
    """Counts of a run and what failed; `emulated` problems, counted by op, are not among `cases`."""

    seed: int
    seconds: float = 0.0
    cases: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    tiers: Counter[str] = field(default_factory=Counter)
    instances: set[str] = field(default_factory=set)
    emulated: dict[str, int] = field(default_factory=dict)
    seen: dict[str, list[Sensitivity]] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """The document of `ckgen fuzz --json`."""
        return {
            "seed": self.seed,
            "seconds": round(self.seconds, 3),
            "cases": self.cases,
            "refused": self.statuses[CaseStatus.REFUSED.value],
            "planned": self.statuses[CaseStatus.PLANNED.value],
            "ran": self.statuses[CaseStatus.RAN.value],
            "tiers": dict(sorted(self.tiers.items())),
            "instances": len(self.instances),
            "emulated": self.emulated,
            "sensitivity": {data: asdict(one) for data, one in self.sensitivity().items()},
            "failures": [failure.to_json() for failure in self.failures],
        }

    def sensitivity(self) -> dict[str, Sensitivity]:
        """By kind of data: the median problem's median, the worst problem's worst; of a verbose subject."""
        found = {data: [one for one in each if one.worst == one.worst] for data, each in sorted(self.seen.items())}
        return {
            data: Sensitivity(median(one.median for one in each), max(one.worst for one in each))
            for data, each in found.items()
            if each
        }


@dataclass(frozen=True, slots=True)
class Subject:
    """What is fuzzed: a built library of that name, the inputs of its plan, and the plan.

    `ops` is what was asked for, as in `--ops gemm`; empty for all.
    """

    library: Path
    name: str
    inputs: Inputs
    space: Space
    ops: str = ""
    verbose: bool = False

    def child(self) -> Child:
        """A worker over the library."""
        return Child(self.library, self.name, self.inputs, verbose=self.verbose)

    def command(self, case: Case) -> str:
        """The line that runs the case alone."""
        return " ".join(filter(None, ("ckgen fuzz", self.ops, f"--problem '{case.text()}'")))


def fuzz(
    subject: Subject,
    seed: int,
    seconds: float,
    heard: Callable[[Report], None] = lambda report: None,
    count: int | None = None,
) -> Report:
    """Runs until the time is over, `count` cases are done or MOST_FAILURES different ones are found; `heard` hears
    after each case."""
    report = Report(seed)
    told: set[tuple[str, str]] = set()
    began = time.monotonic()
    with subject.child() as child:
        while report.seconds < seconds and report.cases != count and len(report.failures) < MOST_FAILURES:
            case = case_of(subject.space, seed, report.cases)
            outcome = child.ask(case)
            if outcome.kind is not None:
                key = (outcome.kind.value, outcome.about)
                if key not in told:
                    told.add(key)
                    failure = _minimised(subject, case, outcome, child)
                    report.failures.append(replace(failure, index=report.cases, drawn=case.text()))
            _note(report, outcome)
            report.seconds = time.monotonic() - began
            heard(report)
    return report


def run_case(subject: Subject, case: Case) -> Report:
    """The report of one given case, minimised where it fails."""
    report, began = Report(case.seed), time.monotonic()
    with subject.child() as child:
        outcome = child.ask(case)
        if outcome.kind is not None:
            report.failures.append(_minimised(subject, case, outcome, child))
    _note(report, outcome)
    report.seconds = time.monotonic() - began
    return report


def _note(report: Report, outcome: Outcome) -> None:
    report.cases += 1
    report.statuses[outcome.status.value] += 1
    if outcome.tier:
        report.tiers[outcome.tier] += 1
    if outcome.status is CaseStatus.RAN:
        report.instances.add(outcome.instance)
    for data, sensitivity in outcome.seen.items():
        report.seen.setdefault(data, []).append(sensitivity)


def _minimised(subject: Subject, case: Case, outcome: Outcome, child: Child) -> Failure:
    assert outcome.kind is not None
    smallest, better = shrink(case, outcome.kind, child.ask)
    return Failure(outcome.kind, (better or outcome).what, subject.command(smallest))
