"""A tune: every problem's candidates timed, the winners chosen, and what selection takes anyway left out."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from ckgen.measure.model import Candidate, Effort, Measured, Measurer, MeasureStatus
from ckgen.model.errors import UsageError
from ckgen.tune.choose import choose
from ckgen.tune.journal import Contents, Journal
from ckgen.tune.known import Known
from ckgen.tune.problems import Problem
from ckgen.tune.search import CONFIRM, RUNGS, Rung, Searched, search
from ckgen.tune.ties import fastest

Heard = Callable[[str], None]
NAMES = (*(rung.name for rung in RUNGS), CONFIRM.name)
_PART = dict(zip(NAMES, (0.25, 0.25, 0.5), strict=True))
"""Of a problem's share of the budget, by rung."""


@dataclass(frozen=True, slots=True)
class Options:
    """What decides a tune. `budget` is seconds for all problems together, None: as long as it takes.

    `min_improvement`: the part of its time by which a row must beat what selection takes. `within`: the part of the
    best time that a row may lose so that fewer kernels do; None: none. `kernels` are globs of instances, none: all.
    `exhaustive`: no candidate is left out before the last rung, so that journals hold what each of them costs.
    """

    budget: float | None = None
    min_improvement: float = 0.02
    within: float | None = None
    kernels: tuple[str, ...] = ()
    exhaustive: bool = False


@dataclass(frozen=True, slots=True)
class Tuned:
    """A problem's end. `winner` is None where nothing was timed; `is_row`: whether it is worth a row.

    `selected` is what selection took as the library stood. `why` says why there is no row.
    """

    problem: Problem
    searched: Searched
    selected: Candidate | None
    winner: Measured | None = None
    is_row: bool = False
    why: str = ""

    @property
    def gain(self) -> float | None:
        """The part of the time of what selection takes that the winner saves; None where that was not timed."""
        before = self.searched.confirmed.get(self.selected) if self.selected is not None else None
        if before is None or self.winner is None:
            return None
        return 1 - self.winner.median_us / before.median_us


@dataclass(slots=True)
class Outcome:
    """All problems' ends, in ladders; how many measurements were made, and how many journals knew.

    `is_least`: whether no fewer kernels would do, None where that was not asked. `lost`: problems of ladders whose
    workers of a cluster all died.
    """

    ladders: list[list[Tuned]] = field(default_factory=list)
    measured: int = 0
    known: int = 0
    is_least: bool | None = None
    lost: int = 0

    @property
    def every(self) -> list[Tuned]:
        """Every problem's."""
        return [one for ladder in self.ladders for one in ladder]

    @property
    def failures(self) -> list[tuple[Problem, Measured]]:
        """Every candidate that was wrong or did not end, with its problem; one that is refused is none."""
        every = ((one.problem, failed) for one in self.every for failed in one.searched.failed)
        return [(problem, failed) for problem, failed in every if failed.status is not MeasureStatus.REFUSED]


class Tuner:
    """Tunes on one device. What `contents` holds of the same code is not measured again."""

    def __init__(
        self, measurer: Measurer, journal: Journal, contents: Contents, options: Options, heard: Heard = lambda _: None
    ) -> None:
        code = journal.header.code
        self.known = Known(code, NAMES, contents.records)
        self._measurer = measurer
        self._journal = journal
        self._options = options
        self._heard = heard
        self._selected = {one.problem: one.selected for one in contents.asked if one.code == code}
        self._together = max((record.together for record in contents.records), default=0)
        self._ends = time.monotonic() + options.budget if options.budget is not None else None
        self._left = 0
        self._out = Outcome()

    def tune(self, ladders: Sequence[Sequence[Problem]]) -> Outcome:
        """Every problem's end. What fails is in it, and ends nothing."""
        self._left = sum(map(len, ladders))
        for ladder in ladders:
            found: list[Tuned] = []
            for problem in ladder:
                before = fastest(found[-1].searched.confirmed.values()) if found else None
                found.append(self._search(problem, before.candidate if before is not None else None))
                self._left -= 1
            self._out.ladders.append(found)
        winners, self._out.is_least = choose(self._confirmed(), self.known, self._options.within, self._confirm)
        for tuned in self._out.ladders:
            tuned[:] = [self._judged(one, winners.get(one.problem.text)) for one in tuned]
        return self._out

    def _search(self, problem: Problem, neighbour: Candidate | None) -> Tuned:
        """What selection takes, and the neighbour below in M, are among the last few in any case."""
        nothing = Searched({}, 0, (), None)
        if self._seconds_left() == 0 and problem.text not in self._selected:
            return Tuned(problem, nothing, None, why="the budget was spent")
        try:
            candidates = [one for one in self._measurer.candidates(problem.case) if self._is_meant(one)]
            selected = self._selection(problem)
        except UsageError as error:
            return Tuned(problem, nothing, None, why=str(error))
        if not candidates:
            return Tuned(problem, nothing, selected, why="no instance that is meant supports it")
        share = self._share()

        def measure(rung: Rung, asked: Sequence[Candidate]) -> Mapping[Candidate, Measured]:
            effort = rung.effort
            if share is not None:
                part = 1.0 if self._options.exhaustive else _PART[rung.name]
                effort = replace(effort, seconds=min(effort.seconds, share * part))
            self._heard(f"{problem.key}: {rung.name}, {len(asked)} candidates; {self._left} problems left")
            return self._measure(problem, rung.name, asked, effort)

        wanted = [one for one in (selected, neighbour) if one is not None]
        rungs = () if self._options.exhaustive else RUNGS
        return Tuned(problem, search(candidates, wanted, measure, rungs), selected)

    def _confirmed(self) -> list[list[tuple[Problem, Mapping[Candidate, Measured]]]]:
        return [[(one.problem, one.searched.confirmed) for one in ladder] for ladder in self._out.ladders]

    def _confirm(self, problem: Problem, asked: Sequence[Candidate]) -> None:
        self._measure(problem, CONFIRM.name, asked, CONFIRM.effort)

    def _measure(
        self, problem: Problem, rung: str, asked: Sequence[Candidate], effort: Effort
    ) -> dict[Candidate, Measured]:
        """What the journals know, and the rest, each kept as soon as it is final."""
        text = problem.text
        found = {one: known for one in asked if (known := self.known.at(text, rung).get(one)) is not None}
        self._out.known += len(found)
        missing = [one for one in asked if one not in found]
        if not missing:
            return found
        self._together += 1

        def done(measured: Measured) -> None:
            if measured.candidate not in found:
                self._journal.measured(text, rung, self._together, measured)
                self.known.add(text, rung, measured)
                found[measured.candidate] = measured
                self._out.measured += 1

        for measured in self._measurer.measure(problem.case, missing, effort, done):
            done(measured)
        return found

    def _selection(self, problem: Problem) -> Candidate | None:
        if problem.text not in self._selected:
            selected = self._measurer.selected(problem.case)
            self._journal.asked(problem.text, selected)
            self._selected[problem.text] = selected
        return self._selected[problem.text]

    def _judged(self, one: Tuned, winner: Measured | None) -> Tuned:
        """Whether the winner beats what selection takes."""
        if winner is None:
            return one if one.why else replace(one, why="no candidate could be timed")
        done = replace(one, winner=winner)
        gain = done.gain
        if gain is None or not self._options.min_improvement or gain >= self._options.min_improvement:
            return replace(done, is_row=True)
        return replace(done, why="saves too little over what selection takes")

    def _is_meant(self, one: Candidate) -> bool:
        globs = self._options.kernels
        return not globs or any(fnmatchcase(one.instance, glob) for glob in globs)

    def _seconds_left(self) -> float | None:
        return max(self._ends - time.monotonic(), 0.0) if self._ends is not None else None

    def _share(self) -> float | None:
        """Of this problem, if all that are left share alike."""
        left = self._seconds_left()
        return left / max(self._left, 1) if left is not None else None
