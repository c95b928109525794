"""What is measured already, of one code: by problem, rung of effort and candidate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ckgen.measure.model import Candidate, Measured, MeasureStatus
from ckgen.tune.journal import Record


class Known:
    """Measurements by problem's text. Rungs rank as `rungs` lists them, the last highest."""

    def __init__(self, code: str, rungs: Iterable[str], records: Iterable[Record] = ()) -> None:
        self._rungs = tuple(rungs)
        self._found: dict[str, dict[str, dict[Candidate, Measured]]] = {}
        for record in records:
            if record.code == code:
                self.add(record.problem, record.rung, record.measured)

    def add(self, problem: str, rung: str, measured: Measured) -> None:
        """Keeps one."""
        self._found.setdefault(problem, {}).setdefault(rung, {})[measured.candidate] = measured

    def at(self, problem: str, rung: str) -> Mapping[Candidate, Measured]:
        """What a rung holds of a problem."""
        return self._found.get(problem, {}).get(rung, {})

    def best(self, problem: str) -> dict[Candidate, Measured]:
        """Each candidate of a problem at the highest rung that has it, where it was timed there."""
        found: dict[Candidate, Measured] = {}
        for rung in self._rungs:
            found |= self.at(problem, rung)
        return {one: measured for one, measured in found.items() if measured.status is MeasureStatus.OK}
