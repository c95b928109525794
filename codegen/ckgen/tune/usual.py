"""What selection takes without the kernels that a tune adds to its library: kernels of a set answer as defaults too."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ckgen.families.registry import family_of
from ckgen.fuzz.case import Case
from ckgen.fuzz.decision import target_of
from ckgen.fuzz.operations import operation_of
from ckgen.measure.library import Contents
from ckgen.measure.model import Candidate, Effort, Environment, Measured, Measurer
from ckgen.plan.select import select
from ckgen.tune.problems import signature_of


class UsualSelection:
    """A Measurer whose `selected` is that of the same library without further kernel sets."""

    def __init__(self, measurer: Measurer, contents: Contents) -> None:
        self._measurer = measurer
        self._plan = replace(contents, kernel_sets=()).space().plan

    def environment(self) -> Environment:
        """See Measurer."""
        return self._measurer.environment()

    def candidates(self, problem: Case) -> tuple[Candidate, ...]:
        """See Measurer."""
        return self._measurer.candidates(problem)

    def selected(self, problem: Case) -> Candidate | None:
        """As Python selects, which C++ equals."""
        signature = signature_of(problem.signature)
        asked = operation_of(signature).problem(problem, signature)
        query = family_of(signature).query(self._plan, target_of(problem), signature, asked, problem.wishes)
        found = select(query)
        return Candidate(found.instance.name, found.k_batch) if found.instance is not None else None

    def measure(
        self,
        problem: Case,
        candidates: Sequence[Candidate],
        effort: Effort,
        done: Callable[[Measured], None] | None = None,
    ) -> tuple[Measured, ...]:
        """See Measurer."""
        return self._measurer.measure(problem, candidates, effort, done)

    def renew(self) -> None:
        """See Measurer."""
        self._measurer.renew()
