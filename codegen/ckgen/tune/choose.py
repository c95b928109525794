"""The winners of all problems: along ladders of M, or as few kernels as lose no more than a bound."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ckgen.measure.model import Candidate, Measured
from ckgen.tune.cover import cover
from ckgen.tune.known import Known
from ckgen.tune.problems import Problem
from ckgen.tune.search import CONFIRM
from ckgen.tune.ties import along, fastest

Confirmed = tuple[Problem, Mapping[Candidate, Measured]]
"""A problem, and its last few candidates that were timed together."""
Confirm = Callable[[Problem, Sequence[Candidate]], None]
"""Times candidates of a problem once more, so that `Known` holds them."""


def choose(
    ladders: Sequence[Sequence[Confirmed]], known: Known, within: float | None, confirm: Confirm
) -> tuple[dict[str, Measured], bool | None]:
    """By problem's text its winner as it was confirmed, and whether no fewer kernels would do (None: not asked).

    Problems of which nothing was timed have none.
    """
    winners: dict[str, Measured] = {}
    for ladder in ladders:
        for (problem, times), winner in zip(ladder, along([times for _, times in ladder]), strict=True):
            if winner is not None:
                winners[problem.text] = times[winner]
    if within is None or not winners:
        return winners, None
    timed = [one for ladder in ladders for one in ladder if one[0].text in winners]
    return _of_few_kernels(timed, known, within, confirm)


def _of_few_kernels(
    timed: Sequence[Confirmed], known: Known, within: float, confirm: Confirm
) -> tuple[dict[str, Measured], bool]:
    """What a row takes was confirmed beside the best; where that shows it is no option, the cover is sought again."""
    while True:
        options = {problem.text: _options(problem, times, known, within) for problem, times in timed}
        lost = {text: {name: cost for name, (cost, _) in of.items()} for text, of in options.items()}
        found = cover(lost)
        taken = {text: min(of[name] for name in found.kernels if name in of)[1] for text, of in options.items()}
        missing = [one for one, _ in timed if taken[one.text] not in known.at(one.text, CONFIRM.name)]
        if not missing:
            confirmed = {text: known.at(text, CONFIRM.name)[candidate] for text, candidate in taken.items()}
            return confirmed, found.is_least
        for problem in missing:
            confirm(problem, [taken[problem.text]])


def _options(
    problem: Problem, times: Mapping[Candidate, Measured], known: Known, within: float
) -> dict[str, tuple[float, Candidate]]:
    """By kernel what it loses to the best, and in how many splits, of those within the bound by what is known best."""
    best = fastest(times.values())
    assert best is not None
    found: dict[str, tuple[float, Candidate]] = {}
    for candidate, measured in known.best(problem.text).items():
        option = (measured.median_us / best.median_us - 1, candidate)
        if option[0] <= within:
            found[candidate.instance] = min(found.get(candidate.instance, option), option)
    return found
