"""Which of several candidates wins: what is equal to the fastest within a tolerance is told apart by an order that no
noise decides, and what is near the tolerance is timed again until it is on one side."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ckgen.measure.model import Candidate, Measured, MeasureStatus
from ckgen.tune.losses import Loss, Losses, Turn, loss_to, losses

TIE = math.log(1.02)
"""What loses no more to the fastest is equal to it. All losses are logarithms of ratios."""
_UNSTEADY, _MOST_UNSTEADY = 2, math.log(1.05)
"""What selection takes is equal too within so many standard deviations of its ladder's losses from process to process,
as a row would make some of the programs slower; but not beyond 5 %, as then something else ran on the machine."""
MOST_TURNS = 40
"""Of a problem, after which its winner is taken as it is known then."""
CERTAIN = 2.5
"""So many standard errors from the tolerance a loss is taken to be on one side."""
_LEAST_TURNS, _MOST_WILD = 3, math.log(3)
"""In one process of some hundred a kernel is slower than in others by up to a fifth, however long it is timed there;
and by twice, where something else had a CPU of two all that while. So a loss is certain that so many turns have, or one
that is larger."""
_STEP, _NO_STEP = 0.02, 1e-6
"""What candidates lose in a ladder of several problems is told apart in such steps, so that no noise decides in one. A
single problem has no neighbours to agree with, and takes the fastest."""
_FAR = math.log(1.10)
"""What loses more in a rung that thins out is not timed further; beyond it, all losses are alike to the order."""
_NEAR = 0.01
"""What loses less is timed beside the fastest: it may be the fastest."""
_USUAL_WEIGHT, _LADDER_WEIGHT = 10, 4
"""Degrees of freedom for which a ladder's noise is held to be the usual one, and a candidate's that of its ladder."""


def fastest(times: Iterable[Measured]) -> Measured | None:
    """The least median, of equal ones the first by name; None where none was timed."""
    timed = [one for one in times if one.status is MeasureStatus.OK]
    return min(timed, key=lambda one: (one.median_us, one.candidate), default=None)


def may_tie(best: Measured, other: Measured) -> bool:
    """Whether the other is slower than the best by no more than the tolerance, or the spreads of both."""
    noise = best.median_us * best.spread + other.median_us * other.spread
    return other.median_us - best.median_us <= max(noise, math.expm1(TIE) * best.median_us)


@dataclass(frozen=True)
class Contest:
    """A problem of a ladder. `selected`: what selection takes anyway. `turns`: what was timed in each, without what
    failed; `rough`: what all candidates lost in the rungs before.

    It is asked again after each turn of other problems, and knows then what it answered.
    """

    selected: Candidate | None
    turns: Sequence[Turn]
    rough: Mapping[Candidate, float]

    @cached_property
    def losses(self) -> Losses | None:
        """What its candidates lose; None where nothing was timed."""
        return losses(self.turns)

    def loss_to(self, one: Candidate, other: Candidate) -> Loss | None:
        """What one loses to the other; None where no turn has both."""
        if (one, other) not in self._pairs:
            self._pairs[one, other] = loss_to(self.turns, one, other)
        return self._pairs[one, other]

    @cached_property
    def _pairs(self) -> dict[tuple[Candidate, Candidate], Loss | None]:
        return {}


@dataclass(frozen=True, slots=True)
class Verdict:
    """`ask`: what to time together in one more turn, so that `winner` becomes certain; none: it is, or there are no
    further turns."""

    winner: Candidate | None
    ask: tuple[Candidate, ...] = ()
    is_certain: bool = True


def standard_error(loss: Loss, noise: float = 1.0) -> float:
    """Of a loss that turns have; `noise` is that of its ladder, in variances that are expected."""
    freedom = loss.count - 1 + _LADDER_WEIGHT
    return math.sqrt((loss.misfit + _LADDER_WEIGHT * noise) / freedom / loss.weight)


def verdicts(ladder: Sequence[Contest], least_gain: float = 0.0) -> list[Verdict]:
    """The winners of a ladder's problems.

    What selection takes anyway wins where it is equal to the fastest, or where that saves a part of its time less than
    `least_gain` only, or no more than the ladder's losses vary from process to process; and as long as that is in
    doubt. Else of the candidates that are equal to the fastest, and better than that by as much, the one that loses
    least in the mean of the ladder, in steps, and of these the first by name: so neighbours agree, and so does another
    tune.
    """
    every = [one.losses for one in ladder]
    noise = _noise(every)
    ranked = _ranked(ladder, every)
    anyway = -math.log(1 - least_gain) if least_gain < 1 else math.inf
    return [
        _Examined(contest, found, noise).verdict(ranked, anyway) if found is not None else Verdict(None)
        for contest, found in zip(ladder, every, strict=True)
    ]


def _noise(every: Iterable[Losses | None]) -> float:
    """By how much losses of a ladder vary from turn to turn, in variances that are expected: 1 or more."""
    seen = [one for found in every if found is not None for one in found.of.values() if one.count > 1]
    misfit = sum(one.misfit for one in seen) + _USUAL_WEIGHT
    return max(misfit / (sum(one.count - 1 for one in seen) + _USUAL_WEIGHT), 1.0)


def _ranked(ladder: Sequence[Contest], every: Sequence[Losses | None]) -> list[Candidate]:
    """All candidates, that first which loses least in the mean, to the step; equal ones by name."""
    known: list[dict[Candidate, float]] = []
    for contest, found in zip(ladder, every, strict=True):
        if found is not None:
            known.append({**contest.rough, **{one: loss.value for one, loss in found.of.items()}})
    names = sorted({one for each in known for one in each})
    lost = {one: math.fsum([min(each.get(one, _FAR), _FAR) for each in known]) / len(known) for one in names}
    step = _STEP if len(known) > 1 else _NO_STEP
    return sorted(names, key=lambda one: (round(lost[one] / step), one))


class _Examined:
    """One problem, whose losses are known so far."""

    def __init__(self, contest: Contest, found: Losses, noise: float) -> None:
        self._contest, self._found, self._noise = contest, found, noise

    def verdict(self, ranked: Sequence[Candidate], anyway: float) -> Verdict:
        """The first in the order that is equal to the fastest; asks for all before it that may be, and for all that may
        be faster than it by more."""
        selected, of = self._contest.selected, self._found.of
        unsure: set[Candidate] = set()
        tolerance = TIE
        if selected in of:
            assert selected is not None
            tolerance = max(TIE, anyway, min(_UNSTEADY * self._usual(of[selected]), _MOST_UNSTEADY))
            unsure |= self._unsure(selected, tolerance)
            if of[selected].value <= tolerance or self._may_be_equal(selected, tolerance):
                return self._end(selected, unsure)
            tolerance = min(TIE, of[selected].value - anyway)
        for one in ranked:
            if one not in of:
                if self._contest.rough.get(one, math.inf) <= _FAR:
                    unsure.add(one)
                continue
            unsure |= self._unsure(one, tolerance)
            if of[one].value <= tolerance:
                return self._end(one, unsure)
        return self._end(self._found.best, unsure)

    def _unsure(self, one: Candidate, tolerance: float) -> set[Candidate]:
        """Those of which it is not certain whether it loses more than the tolerance to them, and itself; none where it
        certainly loses more to any."""
        found: set[Candidate] = set()
        for other in self._found.of:
            if other == one:
                continue
            loss = self._contest.loss_to(one, other)
            margin = CERTAIN * self._error(loss) if loss is not None else math.inf
            beyond = loss.value - tolerance if loss is not None else 0.0
            if beyond >= margin and loss is not None and (loss.count >= _LEAST_TURNS or loss.value >= _MOST_WILD):
                return set()
            if -beyond < margin:
                found |= {one, other}
        return found

    def _may_be_equal(self, one: Candidate, tolerance: float) -> bool:
        """Whether it loses to none by standard errors enough beyond the tolerance."""
        found = (self._contest.loss_to(one, other) for other in self._found.of if other != one)
        return all(loss is None or loss.value - tolerance < CERTAIN * self._error(loss) for loss in found)

    def _error(self, loss: Loss) -> float:
        return standard_error(loss, self._noise)

    def _usual(self, loss: Loss) -> float:
        """The standard deviation of a loss from turn to turn, by its ladder's noise: what few turns say of one loss
        alone would be noise itself. 0 where no turn has both."""
        return math.sqrt(self._noise * loss.count / loss.weight) if loss.count else 0.0

    def _end(self, winner: Candidate, unsure: set[Candidate]) -> Verdict:
        if not unsure or len(self._contest.turns) >= MOST_TURNS:
            return Verdict(winner, is_certain=not unsure)
        selected, of = self._contest.selected, self._found.of
        beside = {one for one, loss in of.items() if loss.value <= _NEAR or one in (selected, winner)}
        return Verdict(winner, tuple(sorted(unsure | beside)), is_certain=False)
