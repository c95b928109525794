"""As few kernels for all problems as lose no more than a bound."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ckgen.measure.model import Candidate
from ckgen.tune.cover import cover
from ckgen.tune.known import Known
from ckgen.tune.losses import losses
from ckgen.tune.problems import Problem

Confirm = Callable[[Mapping[Problem, Sequence[Candidate]]], None]
"""Times candidates of each problem together in one more turn, so that `Known` holds them."""


def of_few_kernels(
    timed: Sequence[Problem], known: Known, within: float, confirm: Confirm
) -> tuple[dict[Problem, Candidate], bool]:
    """The winners, and whether no fewer kernels would do; of problems of which a turn is known.

    What a row takes was timed in a turn beside the best; where that shows it is no option, the cover is sought again.
    """
    while True:
        options = {problem.text: _options(problem, known, within) for problem in timed}
        lost = {text: {name: cost for name, (cost, _) in of.items()} for text, of in options.items()}
        found = cover(lost)
        taken = {text: min(of[name] for name in found.kernels if name in of)[1] for text, of in options.items()}
        missing = {
            one: (taken[one.text], _best(one, known))
            for one in timed
            if not any(taken[one.text] in turn for turn in known.turns(one.text))
        }
        if not missing:
            return {one: taken[one.text] for one in timed}, found.is_least
        confirm(missing)


def _options(problem: Problem, known: Known, within: float) -> dict[str, tuple[float, Candidate]]:
    """By kernel what it loses to the best, and in how many splits, of those within the bound by what is known best."""
    times = known.best(problem.text)
    least = times[_best(problem, known)].median_us
    found: dict[str, tuple[float, Candidate]] = {}
    for candidate, measured in times.items():
        option = (measured.median_us / least - 1, candidate)
        if option[0] <= within:
            found[candidate.instance] = min(found.get(candidate.instance, option), option)
    return found


def _best(problem: Problem, known: Known) -> Candidate:
    found = losses(known.turns(problem.text))
    assert found is not None
    return found.best
