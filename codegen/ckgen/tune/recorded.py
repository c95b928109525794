"""What journals hold of a device that is not there: a tune is read again, and nothing is measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from ckgen.fuzz.case import Case
from ckgen.measure.model import Candidate, Effort, Environment, Measured
from ckgen.model.errors import UsageError
from ckgen.model.target import Target
from ckgen.tune.journal import Asked, Contents, Header, Record
from ckgen.tune.problems import Problem


@dataclass(frozen=True, slots=True)
class Recorded:
    """A Measurer and a Keeper of what one library measured. `missing` says why nothing else can be: UsageError."""

    header: Header
    contents: Contents
    missing: str

    def environment(self) -> Environment:
        """See Measurer."""
        return self.header.environment

    def candidates(self, problem: Case) -> tuple[Candidate, ...]:
        """What was timed of it."""
        text, code = problem.text(), self.header.code
        every = (one for one in self.contents.records if one.code == code and one.problem == text)
        return tuple(sorted({one.measured.candidate for one in every}))

    def selected(self, problem: Case) -> Candidate | None:
        """Asked only of what the journals do not know."""
        self._refuse(problem.text())

    def measure(
        self,
        problem: Case,
        candidates: Sequence[Candidate],
        effort: Effort,
        done: Callable[[Measured], None] | None = None,
    ) -> tuple[Measured, ...]:
        """Asked only of what the journals do not know."""
        self._refuse(f"{problem.text()}: {', '.join(one.instance for one in candidates)}")

    def renew(self) -> None:
        """No process runs."""

    def measured(self, problem: str, rung: str, together: int, measured: Measured, turn: int = 1) -> Record:
        """See Keeper."""
        self._refuse(problem)

    def asked(self, problem: str, selected: Candidate | None) -> Asked:
        """See Keeper."""
        self._refuse(problem)

    def _refuse(self, what: str) -> NoReturn:
        raise UsageError(f"{self.missing}. The journals do not hold {what}")


def recorded(contents: Contents, target: Target, problems: Iterable[Problem], missing: str) -> Recorded:
    """Of the last library of the target that journals tell of; UsageError where one of the problems is not in them."""
    headers = [one for one in contents.headers if one.environment.target == str(target)]
    if not headers:
        raise UsageError(missing)
    found = Recorded(headers[-1], contents, missing)
    known = {one.problem for one in contents.asked if one.code == headers[-1].code}
    absent = [one.text for one in problems if one.text not in known]
    if absent:
        raise UsageError(f"{missing}. The journals do not hold {absent[0]}, and {len(absent) - 1} other problems")
    return found
