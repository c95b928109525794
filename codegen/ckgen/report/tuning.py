"""What journals of tunes hold, as one JSON document: the tune's own figures, and what losers tell besides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, cast

from ckgen.fuzz.case import parse_case
from ckgen.measure.model import Candidate, Measured, Measurer, MeasureStatus
from ckgen.tune.journal import Contents, Header, Journal, Record
from ckgen.tune.known import Known
from ckgen.tune.outcome import Outcome, Tuned
from ckgen.tune.problems import Problem, in_ladders, key_of
from ckgen.tune.report import document as tune_document
from ckgen.tune.run import Options, Tuner
from ckgen.tune.search import CONFIRM, NAMES, RUNGS, Searched, lost
from ckgen.tune.ties import fastest

if TYPE_CHECKING:
    from pandas import DataFrame

SCHEMA = "ckgen.tuning/1"
_SAMPLE = {rung.name: rung.effort.sample for rung in (*RUNGS, CONFIRM)}


def tuning(contents: Contents, names: Sequence[str], min_improvement: float) -> dict[str, Any]:
    """The document of journals, a run for each device and library that was timed.

    Winners, rows, flips and regret between rungs are those of `ckgen tune --resume` with that least improvement.
    """
    runs: dict[str, Header] = {}
    for header in contents.headers:
        runs.setdefault(header.code, header)
    return {
        "schema": SCHEMA,
        "journals": list(names),
        "torn": list(contents.torn),
        "min_improvement": min_improvement,
        "runs": [_run(header, contents, min_improvement) for header in runs.values()],
    }


def _run(header: Header, contents: Contents, min_improvement: float) -> dict[str, Any]:
    records = [one for one in contents.records if one.code == header.code]
    outcome, known = _replayed(header, contents, min_improvement)
    frame = _frame(records)
    problems = [_problem(one, known) for one in outcome.every]
    tune = tune_document(outcome, known)
    regrets = {
        name: _summary([one[name]["regret"] for one in problems if one[name]]) for name in ("selected", "second")
    }
    return {
        "code": header.code,
        "environment": asdict(header.environment) | {"versions": dict(header.environment.versions)},
        "conditions": "; ".join(
            dict.fromkeys(one.conditions for one in contents.headers if one.code == header.code)
        ),
        "tool": header.tool,
        "measurements": len(records),
        "rows": tune["rows"],
        "kernels": tune["kernels"],
        "stability": tune["stability"],
        "failed": len(tune["failures"]),
        "refused": int((frame.status == MeasureStatus.REFUSED.value).sum()),
        "failures": _failures(frame),
        "rungs": _rungs(frame),
        "regret": regrets,
        "problems": problems,
    }  # fmt: skip


class _Unwritten(Journal):
    """A journal that nothing is written to."""

    def __init__(self, header: Header) -> None:
        self.header = header

    def _write(self, document: dict[str, Any]) -> None:
        pass


class _Nothing:
    """A measurer that is never asked to measure."""

    def renew(self) -> None:
        pass


class _Replayed(Tuner):
    """A tuner whose searches are those that journals hold: it times nothing, as one whose budget is spent."""

    def __init__(self, header: Header, contents: Contents, options: Options) -> None:
        super().__init__(cast(Measurer, _Nothing()), _Unwritten(header), contents, options)
        self._asked = {one.problem: one.selected for one in contents.asked if one.code == header.code}

    def _search(self, problem: Problem) -> Tuned:
        rungs = [times for name in NAMES if (times := self.known.at(problem.text, name))]
        confirmed = self.known.at(problem.text, CONFIRM.name)
        first = next((best for times in rungs if (best := fastest(times.values())) is not None), None)
        failed = [one for times in rungs for one in times.values() if one.status is not MeasureStatus.OK]
        rough: dict[Candidate, float] = {}
        for rung in RUNGS:
            rough |= lost(self.known.at(problem.text, rung.name))
        searched = Searched(
            {one: measured for one, measured in confirmed.items() if measured.status is MeasureStatus.OK},
            len({one for times in rungs for one in times}), tuple(failed), first.candidate if first else None,
            rough,
        )  # fmt: skip
        return Tuned(problem, searched, self._asked.get(problem.text))


def _replayed(header: Header, contents: Contents, min_improvement: float) -> tuple[Outcome, Known]:
    """The tune's end, found again from its records alone."""
    texts = [one.problem for one in contents.asked if one.code == header.code]
    texts += [one.problem for one in contents.records if one.code == header.code]
    cases = [parse_case(text) for text in dict.fromkeys(texts)]
    tuner = _Replayed(header, contents, Options(budget=0.0, min_improvement=min_improvement))
    return tuner.tune(in_ladders(Problem(case, key_of(case)) for case in cases)), tuner.known


def _problem(one: Tuned, known: Known) -> dict[str, Any]:
    """A problem's end with all of its candidates, fastest first; each at the highest rung that timed it."""
    winner, times = one.winner, known.best(one.problem.text)
    others = [each for each in one.searched.confirmed.values() if winner is None or each.candidate != winner.candidate]
    second = min(others, key=lambda each: each.median_us, default=None)
    selected = one.searched.confirmed.get(one.selected) if one.selected is not None else None
    return {
        **one.head(),
        "second": _beside(second, winner),
        "selected": _beside(selected, winner),
        "flipped": _is_flipped(one),
        "tried": one.searched.tried,
        "row": one.is_row,
        "why": one.why,
        "candidates": [
            [each.candidate.instance, each.candidate.k_batch, each.median_us]
            for each in sorted(times.values(), key=lambda each: (each.median_us, each.candidate))
        ],
    }


def _is_flipped(one: Tuned) -> bool | None:
    """Whether the fastest of the first rung is not that of the last; None where the first thinned out nothing."""
    best = fastest(one.searched.confirmed.values())
    if best is None or len(one.searched.confirmed) >= one.searched.tried:
        return None
    return one.searched.first != best.candidate


def _beside(one: Measured | None, winner: Measured | None) -> dict[str, Any] | None:
    """A candidate and the part of the winner's time by which it is slower."""
    if one is None or winner is None:
        return None
    return {
        "instance": one.candidate.instance, "splits": one.candidate.k_batch, "us": one.median_us,
        "regret": one.median_us / winner.median_us - 1,
    }  # fmt: skip


def _summary(regrets: Sequence[float]) -> dict[str, Any]:
    """Of parts by which times are longer: how many, the geometric mean, median, 95th percentile and worst."""
    import numpy as np

    if not regrets:
        return {"problems": 0}
    values = np.asarray(regrets)
    return {
        "problems": len(values),
        "geomean": float(np.expm1(np.log1p(values).mean())),
        "median": float(np.median(values)),
        "p95": float(np.quantile(values, 0.95)),
        "worst": float(values.max()),
    }


def _frame(records: Sequence[Record]) -> DataFrame:
    import pandas as pd

    rows = [
        (one.problem, one.rung, one.measured.candidate.instance, one.measured.status.value, one.measured.reason,
         one.measured.median_us, one.measured.spread, one.measured.runs)
        for one in records
    ]  # fmt: skip
    columns = ["problem", "rung", "instance", "status", "reason", "us", "spread", "runs"]
    return pd.DataFrame(rows, columns=columns)


def _rungs(frame: DataFrame) -> list[dict[str, Any]]:
    """By rung: what was timed, for how long, and how it spread. A sample lasts as its rung asks, or one call."""
    found = []
    order = [*NAMES, *sorted({*frame.rung} - {*NAMES})]
    for name in order:
        of_rung = frame[frame.rung == name]
        if of_rung.empty:
            continue
        timed = of_rung[of_rung.status == MeasureStatus.OK.value]
        lasted = (timed.us * 1e-6).clip(lower=_SAMPLE.get(name, 0.0)) * timed.runs
        found.append(
            {
                "rung": name, "problems": int(of_rung.problem.nunique()), "measurements": len(of_rung),
                "timed": len(timed), "seconds": round(float(lasted.sum()), 1),
                "spread_median": round(float(timed.spread.median()), 4) if len(timed) else None,
                "spread_p95": round(float(timed.spread.quantile(0.95)), 4) if len(timed) else None,
            }
        )  # fmt: skip
    return found


def _failures(frame: DataFrame) -> list[dict[str, Any]]:
    """By status and reason, the most frequent first; refusals too."""
    failed = frame[frame.status != MeasureStatus.OK.value]
    found = failed.groupby(["status", "reason"]).agg(
        measurements=("instance", "size"), instances=("instance", "nunique"), problems=("problem", "nunique"),
        first=("instance", "first"),
    )  # fmt: skip
    ordered = found.reset_index().sort_values(["measurements", "status", "reason"], ascending=[False, True, True])
    return [{str(name): value for name, value in one.items()} for one in ordered.to_dict("records")]
