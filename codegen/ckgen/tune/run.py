"""A tune: every problem's candidates timed, the winners chosen, and what selection takes anyway left out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from ckgen.fuzz.operations import operation_of
from ckgen.measure.model import Candidate, Effort, Measured, Measurer, MeasureStatus
from ckgen.model.errors import UsageError
from ckgen.progress import Pace, PartDone, Standing
from ckgen.tune.choose import of_few_kernels
from ckgen.tune.journal import Contents, Keeper
from ckgen.tune.known import Known
from ckgen.tune.losses import Turn, pooled
from ckgen.tune.problems import Problem, signature_of
from ckgen.tune.prune import Prune
from ckgen.tune.search import CONFIRM, RUNGS, Rung, Searched, search
from ckgen.tune.ties import Contest, Verdict, verdicts

Heard = Callable[[str], None]
"""Hears what goes on, of most a `PartDone`."""
NAMES = (*(rung.name for rung in RUNGS), CONFIRM.name)
_PART = dict(zip(NAMES, (0.25, 0.25, 0.5), strict=True))
"""Of a problem's share of the budget, by rung."""
_FOR_DOUBT, _LEAST_FOR_DOUBT = 0.4, 5.0
"""Of the budget, for turns of problems whose winner is in doubt after the first; nothing where that is fewer seconds
than these, which a fresh process and its operands take."""
_FOR_OLDER = 0.1
"""Of the budget, for turns beside an older table."""
SPENT = "the budget was spent"
COMPARED = 5
"""Turns in which a winner is timed beside an older table's."""
_BEGUN = 0.75
"""Of a problem's share, for what a rung verifies and times before it begins no further candidate. Only the first
verifies much, and what it leaves is enough for the others."""
_LEAST_SHARE = 0.5
"""Seconds of a problem's share at least: where a budget is too small for all problems, it tunes those that it reaches,
rather than time a candidate of each."""
_LEAST = 0.001
"""Seconds of a limit, which is none where it is 0."""
_BEYOND = 0.02
"""Of the budget, in which what was begun within it may end."""
_NO_FAILURES = (MeasureStatus.REFUSED, MeasureStatus.LATE)


@dataclass(frozen=True, slots=True)
class Options:
    """What decides a tune. `budget` is seconds for all problems together, None: as long as it takes.

    `min_improvement`: the part of its time by which a row must beat what selection takes. `within`: the part of the
    best time that a row may lose so that fewer kernels do; None: none. `kernels` are globs of instances, none: all.
    `prune` leaves candidates of a problem out before any is timed.
    `exhaustive`: no candidate is left out before the last rung, so that journals hold what each of them costs.
    `older`: by problem's text what an older table takes, which is timed beside the winner.
    """

    budget: float | None = None
    min_improvement: float = 0.02
    within: float | None = None
    kernels: tuple[str, ...] = ()
    prune: Prune | None = None
    exhaustive: bool = False
    older: Mapping[str, Candidate] = field(default_factory=dict)


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

    `is_least`: whether no fewer kernels would do, None where that was not asked; False where candidates of a problem
    with a winner were never timed, as any of them might do for others too. `lost`: problems of ladders whose
    workers of a cluster all died. `late`: candidates that were not timed, because their problem's share of the
    budget was over; another run with the journal times them. `doubtful`: problems whose winner is not certain after all
    turns that there are, or that the budget gave.
    """

    ladders: list[list[Tuned]] = field(default_factory=list)
    measured: int = 0
    known: int = 0
    is_least: bool | None = None
    lost: int = 0
    late: int = 0
    doubtful: int = 0

    @property
    def every(self) -> list[Tuned]:
        """Every problem's."""
        return [one for ladder in self.ladders for one in ladder]

    @property
    def failures(self) -> list[tuple[Problem, Measured]]:
        """Every candidate that was wrong or did not end, with its problem; one that is refused or late is none."""
        every = ((one.problem, failed) for one in self.every for failed in one.searched.failed)
        return [(problem, failed) for problem, failed in every if failed.status not in _NO_FAILURES]


def with_turns(one: Tuned, turns: Sequence[Turn], failed: Iterable[Measured] = ()) -> Tuned:
    """With what all its turns say, and what failed in further ones."""
    if not one.searched.confirmed:
        return one
    every = (*one.searched.failed, *failed)
    return replace(one, searched=replace(one.searched, confirmed=pooled(turns), failed=every))


def is_whole(every: Iterable[Tuned], known: Known) -> bool:
    """Whether of each problem that was timed all candidates were, at some rung."""
    for one in every:
        late = {failed.candidate for failed in one.searched.failed if failed.status is MeasureStatus.LATE}
        if one.searched.confirmed and not late <= known.best(one.problem.text).keys():
            return False
    return True


def judged(one: Tuned, winner: Candidate | None, min_improvement: float) -> Tuned:
    """Whether the winner beats what selection takes."""
    if winner is None:
        is_late = any(failed.status is MeasureStatus.LATE for failed in one.searched.failed)
        return one if one.why else replace(one, why=SPENT if is_late else "no candidate could be timed")
    done = replace(one, winner=one.searched.confirmed[winner], is_row=True, why="")
    gain = done.gain
    if gain is None or not min_improvement or gain >= min_improvement:
        return done
    return replace(done, is_row=False, why="saves too little over what selection takes")


def in_order_of_work(ladders: Iterable[Sequence[Problem]]) -> list[Problem]:
    """Small problems first: what they leave of their share of the budget is there for large ones."""

    def work(problem: Problem) -> tuple[int, str]:
        signature = signature_of(problem.key.signature)
        return operation_of(signature).flops(problem.case, signature), problem.text

    return sorted((problem for ladder in ladders for problem in ladder), key=work)


class Tuner:
    """Tunes on one device. What `contents` holds of the same code is not measured again."""

    def __init__(
        self, measurer: Measurer, journal: Keeper, contents: Contents, options: Options, heard: Heard = lambda _: None
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
        self._total = self._left = 0
        self._pace = Pace()
        self._turn = 1
        self._failed: dict[str, list[Measured]] = {}
        self._out = Outcome()

    def tune(self, ladders: Sequence[Sequence[Problem]]) -> Outcome:
        """Every problem's end. What fails is in it, and ends nothing."""
        self._total = self._left = sum(map(len, ladders))
        found = {problem: self._search(problem) for problem in in_order_of_work(ladders)}
        self._out.ladders = [[found[problem] for problem in ladder] for ladder in ladders]
        winners = self._settled()
        if self._options.within is not None and winners:
            winners, self._out.is_least = self._of_few(list(winners), self._options.within)
        self._compare(winners)
        for tuned in self._out.ladders:
            least = self._options.min_improvement
            tuned[:] = [judged(self._pooled(one), winners.get(one.problem), least) for one in tuned]
        return self._out

    def _search(self, problem: Problem) -> Tuned:
        """What selection takes is among the last few in any case."""
        nothing = Searched({}, 0, (), None)
        share = self._share()
        self._left -= 1
        if share == 0 and problem.text not in self._selected:
            return Tuned(problem, nothing, None, why=SPENT)
        try:
            candidates = [one for one in self._measurer.candidates(problem.case) if self._is_meant(one)]
            selected = self._selection(problem)
        except UsageError as error:
            return Tuned(problem, nothing, None, why=str(error))
        if not candidates:
            return Tuned(problem, nothing, selected, why="no instance that is meant supports it")

        def measure(rung: Rung, asked: Sequence[Candidate]) -> Mapping[Candidate, Measured]:
            effort = rung.effort
            if share is not None:
                part = share * (1.0 if self._options.exhaustive else _PART[rung.name])
                effort = replace(effort, seconds=min(effort.seconds, part), limit=max(share * _BEGUN, _LEAST))
                effort = replace(effort, ends=self._seconds_to_end())
            done = self._total - self._left - 1
            self._say(f"{problem.key}: {rung.name}, {len(asked)} candidates; problems: ", done, self._total)
            return self._measure(problem, rung.name, asked, effort)

        wanted = [one for one in (selected, self._options.older.get(problem.text)) if one is not None]
        if self._options.prune is not None:
            candidates = self._options.prune.kept(problem, candidates, wanted)
        rungs = () if self._options.exhaustive else RUNGS
        found = search(candidates, wanted, measure, rungs)
        return Tuned(problem, found, selected)

    def _settled(self) -> dict[Problem, Candidate]:
        """The winners, after as many turns as make them certain or the budget gives."""
        while True:
            found = {one.problem: verdict for one, verdict in self._verdicts()}
            asked = {one: verdict.ask for one, verdict in found.items() if verdict.ask and self._may_ask(one, verdict)}
            if not asked:
                self._out.doubtful = sum(not verdict.is_certain for verdict in found.values())
                return {one: verdict.winner for one, verdict in found.items() if verdict.winner is not None}
            self._turn += 1
            self._pace = Pace()
            self._measurer.renew()
            before = self._out.measured + self._out.known
            for number, (problem, candidates) in enumerate(asked.items()):
                of = f"{len(candidates)} candidates, turn {self._turn}"
                self._say(f"{problem.key}: in doubt, {of}; problems: ", number, len(asked))
                self._ask(problem, candidates)
            if self._out.measured + self._out.known == before and self._ends is not None:
                self._ends = time.monotonic()  # what is left is too little for anything

    def _verdicts(self) -> Iterator[tuple[Tuned, Verdict]]:
        for ladder in self._out.ladders:
            timed = [one for one in ladder if one.searched.confirmed]
            contests = [Contest(one.selected, self._turns_of(one.problem), one.searched.rough) for one in timed]
            yield from zip(timed, verdicts(contests, self._options.min_improvement), strict=True)

    def _turns_of(self, problem: Problem) -> Sequence[Turn]:
        """Those of this run, and of one before it as far as this one came."""
        return self.known.turns(problem.text, self._turn)

    def _may_ask(self, problem: Problem, verdict: Verdict) -> bool:
        """Whether there is time left, or it costs none."""
        if self._options.exhaustive:
            return False  # what few candidates cost in other processes would stand beside what all cost in one
        at = self.known.at(problem.text, CONFIRM.name, self._turn + 1)
        return self._seconds_for_doubt() != 0 or all(one in at for one in verdict.ask)

    def _ask(self, problem: Problem, asked: Sequence[Candidate], *, is_free: bool = False) -> None:
        """is_free: whether it is no part of the budget."""
        effort, left = CONFIRM.effort, None if is_free else self._seconds_left()
        if left is not None:
            effort = replace(effort, seconds=min(effort.seconds, left), limit=max(left, _LEAST))
            effort = replace(effort, ends=self._seconds_to_end())
        for one in self._measure(problem, CONFIRM.name, asked, effort, self._turn).values():
            if one.status is not MeasureStatus.OK:
                self._failed.setdefault(problem.text, []).append(one)

    def _pooled(self, one: Tuned) -> Tuned:
        return with_turns(one, self._turns_of(one.problem), self._failed.get(one.problem.text, ()))

    def _of_few(self, timed: Sequence[Problem], within: float) -> tuple[dict[Problem, Candidate], bool]:
        """What is timed for it is a further turn."""
        self._turn = self.known.last_turn

        def confirm(missing: Mapping[Problem, Sequence[Candidate]]) -> None:
            self._turn += 1
            self._measurer.renew()
            for problem, candidates in missing.items():
                self._ask(problem, candidates, is_free=True)

        winners, is_least = of_few_kernels(timed, self.known, within, confirm)
        return winners, is_least and is_whole(self._out.every, self.known)

    def _compare(self, winners: Mapping[Problem, Candidate]) -> None:
        """Times winners that an older table does not have beside what it has, in some further processes."""
        pairs = {one: (winner, self._options.older.get(one.text, winner)) for one, winner in winners.items()}
        self._turn = max(self._turn, self.known.last_turn) if self._options.older else self._turn
        for _ in range(COMPARED):
            flipped = [one for one, (winner, old) in pairs.items() if winner != old and self._may_compare(one, old)]
            if not flipped:
                return
            self._turn += 1
            self._measurer.renew()
            for problem in flipped:
                self._heard(f"{problem.key}: against the older table")
                self._ask(problem, pairs[problem])

    def _may_compare(self, problem: Problem, old: Candidate) -> bool:
        both = [turn for turn in self.known.turns(problem.text) if old in turn]
        return bool(both) and len(both) < COMPARED and self._seconds_left() != 0

    def _measure(
        self, problem: Problem, rung: str, asked: Sequence[Candidate], effort: Effort, turn: int = 1
    ) -> dict[Candidate, Measured]:
        """What the journals know, and the rest, each kept as soon as it is final."""
        text = problem.text
        found = {one: known for one in asked if (known := self.known.at(text, rung, turn).get(one)) is not None}
        self._out.known += len(found)
        missing = sorted((one for one in asked if one not in found), key=lambda one: one != self._selected.get(text))
        if not missing:
            return found
        if effort.ends and self._seconds_left() == 0:
            self._out.late += len(missing)
            return found | {one: Measured(one, MeasureStatus.LATE, SPENT) for one in missing}
        self._together += 1

        def done(measured: Measured) -> None:
            if measured.status is MeasureStatus.LATE:
                self._out.late += measured.candidate not in found
                found[measured.candidate] = measured
            elif measured.candidate not in found:
                self._journal.measured(text, rung, self._together, measured, turn)
                self.known.add(text, rung, measured, turn)
                found[measured.candidate] = measured
                self._out.measured += 1

        for measured in self._measurer.measure(problem.case, missing, effort, done):
            done(measured)
        return found

    def _say(self, what: str, done: int, total: int) -> None:
        """What goes on, how far it is, and how long it may still last, at most where there is a budget."""
        left, budget = self._seconds_left(), self._options.budget
        part = self._pace.part(what, Standing(total, done, seconds_left=left))
        self._heard(PartDone(part, 1 - left / budget) if left is not None and budget else part)

    def _selection(self, problem: Problem) -> Candidate | None:
        if problem.text not in self._selected:
            selected = self._measurer.selected(problem.case)
            self._journal.asked(problem.text, selected)
            self._selected[problem.text] = selected
        return self._selected[problem.text]

    def _is_meant(self, one: Candidate) -> bool:
        globs = self._options.kernels
        return not globs or any(fnmatchcase(one.instance, glob) for glob in globs)

    def _seconds_left(self) -> float | None:
        return max(self._ends - time.monotonic(), 0.0) if self._ends is not None else None

    def _seconds_to_end(self) -> float:
        """Of what is measured now, if there is a budget."""
        return (self._seconds_left() or 0.0) + _BEYOND * (self._options.budget or 0.0) + _LEAST

    def _seconds_for_doubt(self) -> float | None:
        left, budget = self._seconds_left(), self._options.budget
        if left is None or budget is None or not self._options.older:
            return left
        return max(left - _FOR_OLDER * budget, 0.0)

    def _share(self) -> float | None:
        """Of this problem, if all that are left share alike what is not kept for those in doubt; 0: there is none."""
        left, budget = self._seconds_left(), self._options.budget
        if left is None or budget is None:
            return None
        kept = 0.0 if self._options.exhaustive else _FOR_DOUBT * budget
        there = max(left - (kept if kept >= _LEAST_FOR_DOUBT else 0.0), 0.0)
        return max(there / max(self._left, 1), min(_LEAST_SHARE, there))
