"""A tune on the workers of a cluster: each takes whole ladders, and what it measured goes to this machine's journal."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from ckgen.cluster import Lost
from ckgen.measure.model import Candidate, Measurer
from ckgen.measure.remote import Opens, opened, timed_on
from ckgen.model.target import Target
from ckgen.progress import Standing
from ckgen.tune.choose import of_few_kernels
from ckgen.tune.gathered import Gathered
from ckgen.tune.journal import Contents, Header, Journal, Kept
from ckgen.tune.outcome import Outcome, Tuned, is_whole, judged, with_turns
from ckgen.tune.problems import Problem
from ckgen.tune.run import Heard, Options, Tuner
from ckgen.tune.search import CONFIRM, Searched

LOST = "every worker that had it died"


@dataclass(frozen=True, slots=True)
class Task:
    """A ladder, what times it, and what journals hold of its problems."""

    ladder: Sequence[Problem]
    device: Opens[tuple[Measurer, Header]]
    options: Options
    held: Contents


@dataclass(frozen=True, slots=True)
class Part:
    """A ladder's end, and what was measured for it."""

    header: Header
    outcome: Outcome
    made: Contents


def tune_on(
    scheduler: str,
    target: Target,
    ladders: Sequence[Sequence[Problem]],
    device: Opens[tuple[Measurer, Header]],
    options: Options,
    held: Contents,
    journal: Path,
    progress: Callable[[Standing], None] = lambda standing: None,
) -> Gathered:
    """As Tuner.tune, by all workers; `budget` is of their time together. Errors as run_on's and Device.open's.

    A ladder's records are in the journal as soon as it ends; one whose worker is lost is begun again. `within` compares
    kernels of each problem by what they lose on one machine; what is timed for it is beyond the budget.
    """
    with ExitStack() as stack:
        return gather(
            lambda tasks: timed_on(tasks, _tune, scheduler, target, progress),
            lambda asked: timed_on(asked, _confirm, scheduler, target),
            tasks_of(ladders, device, options, held), options, PartKeeper(journal, held, stack),
        )  # fmt: skip


def gather(
    tuned: Callable[[Iterable[Task]], Iterator[tuple[Task, Part | Lost]]],
    confirmed: Callable[[Sequence[Ask]], Iterator[tuple[Ask, Part | Lost]]],
    tasks: Iterable[Task],
    options: Options,
    keeper: PartKeeper,
) -> Gathered:
    """What tasks find by `tuned`, and what `within` asks further by `confirmed`, all of it kept."""
    wanted = list(tasks)
    ends: dict[Sequence[Problem], list[Tuned]] = {}
    found = Gathered()
    for task, part in tuned(wanted):
        if isinstance(part, Lost):
            ends[task.ladder] = [Tuned(one, Searched({}, 0, (), None), None, why=LOST) for one in task.ladder]
            found.outcome.lost += len(task.ladder)
            continue
        keeper.keep(part.header, part.made)
        _gather(found, part, task.held)
        (ends[task.ladder],) = part.outcome.ladders
    found.outcome.ladders = [ends[task.ladder] for task in wanted]
    if options.within is not None and wanted:
        _Beside(found, keeper, confirmed, wanted[0].device).of_few(options.within, options.min_improvement)
    return found


def tasks_of(
    ladders: Sequence[Sequence[Problem]], device: Opens[tuple[Measurer, Header]], options: Options, held: Contents
) -> Iterator[Task]:
    """Each with its problems' share of the budget; few kernels are chosen when all have ended."""
    every = sum(map(len, ladders))
    alone = replace(options, within=None)
    for ladder in ladders:
        texts = {one.text for one in ladder}
        own = Contents(
            headers=held.headers,
            records=tuple(one for one in held.records if one.problem in texts),
            asked=tuple(one for one in held.asked if one.problem in texts),
        )
        budget = options.budget * len(ladder) / every if options.budget is not None else None
        yield Task(tuple(ladder), device, replace(alone, budget=budget), own)


def _tune(task: Task) -> Part:
    """On a worker."""
    measurer, header = opened(task.device)
    return tuned_by(measurer, task, Kept(header))


def tuned_by(measurer: Measurer, task: Task, kept: Kept, heard: Heard = lambda _: None) -> Part:
    """A task's end, by a measurer of its device."""
    outcome = Tuner(measurer, kept, task.held, task.options, heard).tune([task.ladder])
    return Part(kept.header, outcome, kept.contents)


@dataclass(frozen=True, slots=True)
class Ask:
    """Candidates of a problem that are timed together in one more turn."""

    problem: Problem
    candidates: Sequence[Candidate]
    turn: int
    device: Opens[tuple[Measurer, Header]]


def _confirm(ask: Ask) -> Part:
    """On a worker."""
    measurer, header = opened(ask.device)
    return confirmed_by(measurer, ask, Kept(header))


def confirmed_by(measurer: Measurer, ask: Ask, kept: Kept) -> Part:
    """What a measurer of its device answers."""
    measurer.renew()
    for measured in measurer.measure(ask.problem.case, ask.candidates, CONFIRM.effort):
        kept.measured(ask.problem.text, CONFIRM.name, 1, measured, ask.turn)
    return Part(kept.header, Outcome(), kept.contents)


class _Gone(Exception):
    """Problems whose workers died."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__()
        self.problems = problems


class _Beside:
    """Takes few kernels for what workers tuned."""

    def __init__(
        self,
        found: Gathered,
        keeper: PartKeeper,
        timed: Callable[[Sequence[Ask]], Iterator[tuple[Ask, Part | Lost]]],
        device: Opens[tuple[Measurer, Header]],
    ) -> None:
        self._found, self._keeper, self._timed, self._device = found, keeper, timed, device

    def of_few(self, within: float, min_improvement: float) -> None:
        """Problems whose workers die meanwhile keep their own winner."""
        found, known = self._found.outcome, self._found.known
        asked = [one.problem for one in found.every if one.winner is not None]
        winners: Mapping[Problem, Candidate] = {}
        while asked:
            try:
                winners, is_least = of_few_kernels(asked, known, within, self._ask)
                found.is_least = is_least and is_whole(found.every, known)
                break
            except _Gone as gone:
                asked = [one for one in asked if one not in gone.problems]
        for ladder in found.ladders:
            ladder[:] = [
                judged(with_turns(one, known.turns(one.problem.text)), winners[one.problem], min_improvement)
                if one.problem in winners
                else one
                for one in ladder
            ]

    def _ask(self, missing: Mapping[Problem, Sequence[Candidate]]) -> None:
        turn = self._found.known.last_turn + 1
        gone = []
        for ask, part in self._timed([Ask(one, of, turn, self._device) for one, of in missing.items()]):
            if isinstance(part, Lost):
                gone.append(ask.problem)
                continue
            self._keeper.keep(part.header, part.made)
            for record in part.made.records:
                self._found.outcome.measured += 1
                self._found.known.add(record.problem, record.rung, record.measured, record.turn)
        if gone:
            raise _Gone(gone)


def _gather(found: Gathered, part: Part, held: Contents) -> None:
    found.outcome.measured += part.outcome.measured
    found.outcome.known += part.outcome.known
    found.outcome.late += part.outcome.late
    found.outcome.doubtful += part.outcome.doubtful
    found.by_header.setdefault(part.header, Outcome()).ladders += part.outcome.ladders
    for record in (*held.records, *part.made.records):
        if record.code == part.header.code:
            found.known.add(record.problem, record.rung, record.measured, record.turn)


class PartKeeper:
    """Writes what several measured; of what comes twice the first. For several threads."""

    def __init__(self, path: Path, held: Contents, stack: ExitStack) -> None:
        self._path, self._stack = path, stack
        self._journal: Journal | None = None
        self._seen = {one.key for one in held.records}
        self._asked = {(one.code, one.problem) for one in held.asked}
        self._together = max((one.together for one in held.records), default=0)
        self._lock = threading.Lock()

    def keep(self, header: Header, made: Contents, numbers: dict[int, int] | None = None) -> None:
        """Numbers of what was timed together are another ladder's nowhere; `numbers` has those of a ladder so far."""
        with self._lock:
            self._keep(self._opened(header), made, numbers if numbers is not None else {})

    def _keep(self, journal: Journal, made: Contents, numbers: dict[int, int]) -> None:
        for one in made.asked:
            if (one.code, one.problem) not in self._asked:
                self._asked.add((one.code, one.problem))
                journal.asked(one.problem, one.selected)
        for record in made.records:
            if record.key in self._seen:
                continue
            self._seen.add(record.key)
            if record.together not in numbers:
                self._together += 1
                numbers[record.together] = self._together
            journal.measured(record.problem, record.rung, numbers[record.together], record.measured, record.turn)

    def _opened(self, header: Header) -> Journal:
        if self._journal is None:
            self._journal = self._stack.enter_context(Journal(self._path, header))
        self._journal.go_on(header)
        return self._journal
