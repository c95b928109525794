"""A tune: every problem's candidates timed, the winners chosen, and what selection takes anyway left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from ckgen.fuzz.operations import operation_of
from ckgen.measure.model import Candidate, Effort, Measured, Measurer, MeasureStatus
from ckgen.model.errors import UsageError
from ckgen.progress import Pace, PartDone, Standing
from ckgen.tune.budget import Budget
from ckgen.tune.choose import of_few_kernels
from ckgen.tune.journal import Contents, Keeper, demand_conditions
from ckgen.tune.known import Known
from ckgen.tune.losses import Turn
from ckgen.tune.outcome import SPENT, Outcome, Tuned, is_whole, judged, with_turns
from ckgen.tune.problems import Problem, signature_of
from ckgen.tune.prune import Prune
from ckgen.tune.rounds import unsettled
from ckgen.tune.search import CONFIRM, NAMES, RUNGS, Rung, Searched, search
from ckgen.tune.ties import Contest, Verdict, verdicts

Heard = Callable[[str], None]
"""Hears what goes on, of most a `PartDone`."""
COMPARED = 5
"""Turns in which a winner is timed beside an older table's."""


@dataclass(frozen=True, slots=True)
class Options:
    """What decides a tune. `budget` is seconds for all problems together, None: as long as it takes.

    `min_improvement`: the part of its time by which a row must beat what selection takes. `within`: the part of the
    best time that a row may lose so that fewer kernels do; None: none. `kernels` are globs of instances, none: all.
    `prune` leaves candidates of a problem out before any is timed.
    `exhaustive`: no candidate is left out before the last rung, so that journals hold what each of them costs.
    `is_recorded`: nothing can be measured, and no further round of an exhaustive tune is asked than journals have.
    `older`: by problem's text what an older table takes, which is timed beside the winner.
    """

    budget: float | None = None
    min_improvement: float = 0.02
    within: float | None = None
    kernels: tuple[str, ...] = ()
    prune: Prune | None = None
    exhaustive: bool = False
    is_recorded: bool = False
    older: Mapping[str, Candidate] = field(default_factory=dict)


def in_order_of_work(ladders: Iterable[Sequence[Problem]]) -> list[Problem]:
    """Small problems first: what they leave of their share of the budget is there for large ones. Those of a ladder
    stay together, as they share B, which takes longer to make than a kernel takes to time."""

    def work(problem: Problem) -> tuple[int, str]:
        signature = signature_of(problem.key.signature)
        return operation_of(signature).flops(problem.case, signature), problem.text

    each = (sorted(ladder, key=work) for ladder in ladders)
    return [problem for ladder in sorted(each, key=lambda ladder: [work(one) for one in ladder]) for problem in ladder]


class Tuner:
    """Tunes on one device. What `contents` holds of the same code is not measured again; UsageError where that was
    measured under other conditions."""

    def __init__(
        self, measurer: Measurer, journal: Keeper, contents: Contents, options: Options, heard: Heard = lambda _: None
    ) -> None:
        code = journal.header.code
        demand_conditions(contents.headers, journal.header)
        self.known = Known(code, NAMES, contents.records)
        self._measurer = measurer
        self._journal = journal
        self._options = options
        self._heard = heard
        self._selected = {one.problem: one.selected for one in contents.asked if one.code == code}
        self._together = max((record.together for record in contents.records), default=0)
        self._budget = Budget(options.budget, is_exhaustive=options.exhaustive, has_older=bool(options.older))
        self._total = self._left = 0
        self._pace = Pace()
        self._turn = 1
        self._failed: dict[str, list[Measured]] = {}
        self._contests: dict[Problem, Contest] = {}
        self._out = Outcome()

    def tune(self, ladders: Sequence[Sequence[Problem]]) -> Outcome:
        """Every problem's end. What fails is in it, and ends nothing."""
        self._total = self._left = sum(map(len, ladders))
        found = {problem: self._search(problem) for problem in in_order_of_work(ladders)}
        self._out.ladders = [[found[problem] for problem in ladder] for ladder in ladders]
        if self._options.exhaustive:
            self._rounds()
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
        share = self._budget.share(self._left)
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
            done = self._total - self._left - 1
            self._say(f"{problem.key}: {rung.name}, {len(asked)} candidates; problems: ", done, self._total)
            return self._measure(problem, rung.name, asked, self._budget.of_rung(rung, share))

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
            asked = {one: verdict.ask for one, verdict in found.items() if self._may_ask(one, verdict.ask)}
            if not asked or self._options.exhaustive:
                self._out.doubtful = sum(not verdict.is_certain for verdict in found.values())
                return {one: verdict.winner for one, verdict in found.items() if verdict.winner is not None}
            self._ask_all(asked, "in doubt")

    def _rounds(self) -> None:
        """Times all candidates of all problems again, round by round, until each loss is known or the time is spent."""
        problems = [one.problem for one in self._out.every if one.searched.confirmed]
        while True:
            wanted = ((problem, unsettled(self._turns_of(problem))) for problem in problems)
            asked = {problem: candidates for problem, candidates in wanted if self._may_ask(problem, candidates)}
            if not asked:
                return
            self._ask_all(asked, "all")

    def _ask_all(self, asked: Mapping[Problem, Sequence[Candidate]], why: str) -> None:
        """One more turn of these."""
        self._turn += 1
        self._pace = Pace()
        self._measurer.renew()
        before = self._out.measured + self._out.known
        for number, (problem, candidates) in enumerate(asked.items()):
            of = f"{len(candidates)} candidates, turn {self._turn}"
            self._say(f"{problem.key}: {why}, {of}; problems: ", number, len(asked))
            self._ask(problem, candidates)
        if self._out.measured + self._out.known == before:
            self._budget.end()

    def _verdicts(self) -> Iterator[tuple[Tuned, Verdict]]:
        for ladder in self._out.ladders:
            timed = [one for one in ladder if one.searched.confirmed]
            yield from zip(timed, verdicts(list(map(self._contest, timed)), self._options.min_improvement), strict=True)

    def _contest(self, one: Tuned) -> Contest:
        """The same one as before where no turn was added."""
        found = Contest(one.selected, self._turns_of(one.problem), one.searched.rough)
        if self._contests.get(one.problem) != found:
            self._contests[one.problem] = found
        return self._contests[one.problem]

    def _turns_of(self, problem: Problem) -> Sequence[Turn]:
        """Those of this run, and of one before it as far as this one came."""
        return self.known.turns(problem.text, self._turn)

    def _may_ask(self, problem: Problem, asked: Sequence[Candidate]) -> bool:
        """Whether any is asked, and there is time left, or it costs none."""
        at = self.known.at(problem.text, CONFIRM.name, self._turn + 1)
        can_measure = self._budget.left_for_doubt != 0 and not (self._options.exhaustive and self._options.is_recorded)
        return bool(asked) and (can_measure or all(one in at for one in asked))

    def _ask(self, problem: Problem, asked: Sequence[Candidate], *, is_free: bool = False) -> None:
        """is_free: whether it is no part of the budget."""
        effort = CONFIRM.effort if is_free else self._budget.of_turn()
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
        return bool(both) and len(both) < COMPARED and self._budget.left != 0

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
        if effort.ends and self._budget.left == 0:
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
        part, spent = (
            self._pace.part(what, Standing(total, done, seconds_left=self._budget.left)),
            self._budget.part_done,
        )
        self._heard(part if spent is None else PartDone(part, spent))

    def _selection(self, problem: Problem) -> Candidate | None:
        if problem.text not in self._selected:
            selected = self._measurer.selected(problem.case)
            self._journal.asked(problem.text, selected)
            self._selected[problem.text] = selected
        return self._selected[problem.text]

    def _is_meant(self, one: Candidate) -> bool:
        globs = self._options.kernels
        return not globs or any(fnmatchcase(one.instance, glob) for glob in globs)
