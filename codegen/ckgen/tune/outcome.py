"""What became of a tune: of every problem its winner, or why it has no row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ckgen.measure.model import Candidate, Measured, MeasureStatus
from ckgen.tune.known import Known
from ckgen.tune.losses import Turn, pooled
from ckgen.tune.problems import Problem
from ckgen.tune.search import Searched

SPENT = "the budget was spent"
_NO_FAILURES = (MeasureStatus.REFUSED, MeasureStatus.LATE)


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

    def head(self) -> dict[str, Any]:
        """The problem and its winner, as documents begin with them."""
        winner = self.winner
        return {
            "problem": str(self.problem.key),
            "instance": winner.candidate.instance if winner is not None else None,
            "splits": winner.candidate.k_batch if winner is not None else None,
            "us": winner.median_us if winner is not None else None,
            "spread": winner.spread if winner is not None else None,
        }


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
