"""The fewest kernels with which every problem is within a bound of its best: a set cover, solved exactly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

MOST_STEPS = 200_000
"""Steps of the search, beyond which the best cover so far is taken: it may not be the smallest."""


@dataclass(frozen=True, slots=True)
class Cover:
    """The kernels by name, and whether no smaller set of them would do."""

    kernels: tuple[str, ...]
    is_least: bool


def cover(options: Mapping[str, Mapping[str, float]]) -> Cover:
    """The smallest set of kernels of which each problem has one: by problem, its kernels with what each loses.

    Of sets equally small one that loses least is preferred as far as the search meets it. ValueError for a problem
    without a kernel.
    """
    if any(not kernels for kernels in options.values()):
        raise ValueError("a problem without a kernel")
    search = _Search({problem: dict(kernels) for problem, kernels in options.items()})
    chosen: set[str] = set()
    search.descend(set(options), chosen)
    return Cover(tuple(sorted(search.best or ())), search.steps <= MOST_STEPS)


class _Search:
    """Branch and bound: the problem with the fewest kernels first; problems that share none bound from below."""

    def __init__(self, options: dict[str, dict[str, float]]) -> None:
        self.options = options
        self.covers: dict[str, set[str]] = {}
        for problem, kernels in options.items():
            for kernel in kernels:
                self.covers.setdefault(kernel, set()).add(problem)
        self.best: frozenset[str] | None = None
        self.lost = 0.0
        self.steps = 0

    def descend(self, open_: set[str], chosen: set[str]) -> None:
        self.steps += 1
        if not open_:
            self._keep(frozenset(chosen))
            return
        if self.steps > MOST_STEPS and self.best is not None:
            return
        if self.best is not None and len(chosen) + self._least(open_) > len(self.best):
            return
        hardest = min(open_, key=lambda problem: (len(self.options[problem]), problem))
        kernels = sorted(self.options[hardest], key=lambda one: (-len(self.covers[one] & open_), self._cost(one), one))
        for kernel in kernels:
            if self.best is not None and len(chosen) + 1 > len(self.best):
                return
            self.descend(open_ - self.covers[kernel], chosen | {kernel})

    def _least(self, open_: set[str]) -> int:
        """Problems of which no two share a kernel need one each."""
        used: set[str] = set()
        count = 0
        for problem in sorted(open_, key=lambda one: (len(self.options[one]), one)):
            if used.isdisjoint(self.options[problem]):
                used |= self.options[problem].keys()
                count += 1
        return count

    def _keep(self, chosen: frozenset[str]) -> None:
        lost = sum(min(cost for one, cost in kernels.items() if one in chosen) for kernels in self.options.values())
        if self.best is None or (len(chosen), lost, sorted(chosen)) < (len(self.best), self.lost, sorted(self.best)):
            self.best, self.lost = chosen, lost

    def _cost(self, kernel: str) -> float:
        return sum(self.options[problem][kernel] for problem in self.covers[kernel])
