"""Which of several candidates wins: ties within the noise go to what the neighbours in M take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ckgen.measure.model import Candidate, Measured, MeasureStatus

MOST_NOISE = 0.05
"""The part of the best time by which a tie is slower at most: what varies more is not known well enough to win."""
Times = Mapping[Candidate, Measured]
"""What was measured together, of one problem."""


def fastest(times: Iterable[Measured]) -> Measured | None:
    """The least median, of equal ones the first by name; None where none was timed."""
    timed = [one for one in times if one.status is MeasureStatus.OK]
    return min(timed, key=lambda one: (one.median_us, one.candidate), default=None)


def ties(times: Iterable[Measured]) -> frozenset[Candidate]:
    """The fastest, and those whose medians differ from its no more than both spreads together."""
    measured = list(times)
    best = fastest(measured)
    if best is None:
        return frozenset()
    timed = (one for one in measured if one.status is MeasureStatus.OK)
    return frozenset(one.candidate for one in timed if is_tie(best, one))


def is_tie(best: Measured, other: Measured, most: float = MOST_NOISE) -> bool:
    """Whether the other is slower than the best by no more than the noise of both, and that part of the best time."""
    noise = best.median_us * best.spread + other.median_us * other.spread
    return other.median_us - best.median_us <= min(noise, most * best.median_us)


def along(ladder: Sequence[Times]) -> tuple[Candidate | None, ...]:
    """The winner of each problem of a ladder that ascends in M: always one of its ties, with as few changes as can be.

    Runs are made as long as they go, from the first problem on, which no other choice undercuts. Of the candidates that
    a run's problems all have among their ties, that wins whose times lose least to the fastest; in whole per cent, so
    that another tune finds the same; then the first by name. None where nothing was timed; that ends no run.
    """
    sets = [ties(times.values()) for times in ladder]
    found: list[Candidate | None] = [None] * len(ladder)
    begin = 0
    while begin < len(ladder):
        common: frozenset[Candidate] = frozenset()
        end = begin
        while end < len(ladder):
            left = (common & sets[end] if common else sets[end]) if sets[end] else common
            if not left and common:
                break
            common, end = left, end + 1
        run = [index for index in range(begin, end) if sets[index]]
        winner = min(common, key=lambda one: (int(100 * _lost(ladder, run, one)), one), default=None)
        for index in run:
            found[index] = winner
        begin = end
    return tuple(found)


def _lost(ladder: Sequence[Times], run: Sequence[int], one: Candidate) -> float:
    """How much slower than the fastest, the mean of all problems."""
    total = 0.0
    for index in run:
        best = fastest(ladder[index].values())
        assert best is not None
        total += ladder[index][one].median_us / best.median_us - 1
    return total / len(run)
