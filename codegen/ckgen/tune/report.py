"""What a tune found: its rows, what failed, how stable winners are, and how it compares with an older table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Any

from ckgen.measure.model import Candidate, Measured
from ckgen.model.target import Target
from ckgen.tune.journal import Header
from ckgen.tune.known import Known
from ckgen.tune.losses import Turn, differences, location
from ckgen.tune.outcome import Outcome, Tuned
from ckgen.tune.problems import Problem
from ckgen.tune.table import Table, TunedLine, place
from ckgen.tune.ties import fastest


@dataclass(frozen=True, slots=True)
class Stability:
    """`flipped`: of the problems that a first rung thinned out, the part whose fastest candidate there was not the
    winner. `regrets`: of problems with a larger M in their ladder, what the next one's winner loses to their own, where
    that was timed: that is what a library without their row loses."""

    flipped: float | None
    regrets: tuple[float, ...]

    def document(self) -> dict[str, Any]:
        """As JSON; the regret's median and worst."""
        found = {"problems": len(self.regrets)} | (
            {"median": median(self.regrets), "worst": max(self.regrets)} if self.regrets else {}
        )
        return {"flipped": self.flipped, "regret_between_rungs": found}


def stability(outcome: Outcome, known: Known) -> Stability:
    """As far as the journals know."""
    timed = [one for one in outcome.every if one.winner is not None]
    thinned = [one for one in timed if len(one.searched.confirmed) < one.searched.tried]
    flips = [one.searched.first != _fastest(one) for one in thinned]
    regrets = [loss for ladder in outcome.ladders for loss in _between(ladder, known)]
    return Stability(sum(flips) / len(flips) if flips else None, tuple(regrets))


def _fastest(one: Tuned) -> Candidate | None:
    best = fastest(one.searched.confirmed.values())
    return best.candidate if best is not None else None


def _between(ladder: Sequence[Tuned], known: Known) -> Iterator[float]:
    timed = [one for one in ladder if one.winner is not None]
    for one, above in pairwise(timed):
        assert one.winner is not None
        assert above.winner is not None
        other = known.best(one.problem.text).get(above.winner.candidate)
        if other is not None:
            yield other.median_us / one.winner.median_us - 1


@dataclass(frozen=True, slots=True)
class Change:
    """A problem that an older table answers: its row there, and the winner now; None: it has no row now.

    `ratio`: the winner's time over that of the older row's kernel, from the turns that timed both; None without one.
    """

    key: str
    before: Candidate
    us_before: float | None
    now: Measured | None
    ratio: float | None

    @property
    def is_flipped(self) -> bool:
        """Whether another candidate won."""
        return self.now is not None and self.now.candidate != self.before

    def document(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "problem": self.key, "before": self.before.instance, "splits_before": self.before.k_batch,
            "us_before": self.us_before, "flipped": self.is_flipped, "ratio": self.ratio,
            "now": self.now.candidate.instance if self.now is not None else None,
        }  # fmt: skip


def compare(outcome: Outcome, known: Known, old: Table, target: Target) -> list[Change]:
    """Every tuned problem that the older table has a row of."""
    rows = {line.place: line.cells for line in old.lines}
    found = []
    for one in outcome.every:
        cells = rows.get(place(one.problem.key, target))
        if cells is None:
            continue
        us = float(cells["us"]) if cells["us"].strip() else None
        before = _chosen(cells)
        ratio = _ratio(one.winner.candidate, before, known.turns(one.problem.text)) if one.winner is not None else None
        found.append(Change(str(one.problem.key), before, us, one.winner, ratio))
    return found


def older_choices(problems: Iterable[Problem], old: Table, target: Target) -> dict[str, Candidate]:
    """By problem's text what an older table takes."""
    rows = {line.place: line.cells for line in old.lines}
    places = {one.text: place(one.key, target) for one in problems}
    return {text: _chosen(rows[at]) for text, at in places.items() if at in rows}


def _chosen(cells: Mapping[str, str]) -> Candidate:
    return Candidate(cells["kernelName"].strip(), int(cells["splitK"].strip() or 1))


def _ratio(winner: Candidate, before: Candidate, turns: Sequence[Turn]) -> float | None:
    apart = differences(turns, winner, before)
    return math.exp(location(apart)) if apart else None


def lines_of(outcome: Outcome, header: Header, date: str) -> list[TunedLine]:
    """The rows that are worth one, measured as the header says; of problems with one key, that which is asked most
    often."""
    where = header.environment
    found: dict[object, tuple[int, TunedLine]] = {}
    for one in outcome.every:
        if not one.is_row or one.winner is None:
            continue
        best = one.winner
        line = TunedLine(
            one.problem.key, best.candidate.instance, best.candidate.k_batch, best.median_us, best.spread, best.runs,
            one.searched.tried, where.device, where.driver, header.conditions, header.tool, date,
        )  # fmt: skip
        known = found.get(one.problem.key.lookup)
        if known is None or known[0] < one.problem.count:
            found[one.problem.key.lookup] = (one.problem.count, line)
    return [line for _, line in found.values()]


def document(outcome: Outcome, known: Known, changes: Iterable[Change] = ()) -> dict[str, Any]:
    """A tune as JSON."""
    every = outcome.every
    return {
        "schema": "ckgen.tune/1",
        "problems": [_problem(one) for one in every],
        "rows": sum(one.is_row for one in every),
        "measured": outcome.measured,
        "known": outcome.known,
        "late": outcome.late,
        "doubtful": outcome.doubtful,
        "failures": [
            {"problem": str(problem.key), "instance": failed.candidate.instance, "splits": failed.candidate.k_batch,
             "status": failed.status.value, "reason": failed.reason}
            for problem, failed in outcome.failures
        ],
        "kernels": len({one.winner.candidate.instance for one in every if one.is_row and one.winner is not None}),
        "fewest": outcome.is_least,
        "stability": stability(outcome, known).document(),
        "compared": [one.document() for one in changes],
    }  # fmt: skip


def _problem(one: Tuned) -> Mapping[str, Any]:
    return {
        **one.head(),
        "selected": one.selected.instance if one.selected is not None else None,
        "gain": one.gain,
        "tried": one.searched.tried,
        "row": one.is_row,
        "why": one.why,
    }
