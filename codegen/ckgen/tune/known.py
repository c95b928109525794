"""What is measured already, of one code: by problem, rung of effort, turn and candidate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ckgen.measure.model import Candidate, Measured, MeasureStatus
from ckgen.tune.journal import Record
from ckgen.tune.losses import pooled


class Known:
    """Measurements by problem's text. Rungs rank as `rungs` lists them, the last highest; only that has several turns,
    counted from 1."""

    def __init__(self, code: str, rungs: Iterable[str], records: Iterable[Record] = ()) -> None:
        self._rungs = tuple(rungs)
        self._found: dict[str, dict[tuple[str, int], dict[Candidate, Measured]]] = {}
        for record in records:
            if record.code == code:
                self.add(record.problem, record.rung, record.measured, record.turn)

    def add(self, problem: str, rung: str, measured: Measured, turn: int = 1) -> None:
        """Keeps one."""
        self._found.setdefault(problem, {}).setdefault((rung, turn), {})[measured.candidate] = measured

    def at(self, problem: str, rung: str, turn: int = 1) -> Mapping[Candidate, Measured]:
        """What a turn of a rung holds of a problem."""
        return self._found.get(problem, {}).get((rung, turn), {})

    def turns(self, problem: str, last: int | None = None) -> Sequence[Mapping[Candidate, Measured]]:
        """The turns of the last rung, up to that one, of candidates that were timed in each turn that had them."""
        found = self._found.get(problem, {})
        kept = (key for key in found if key[0] == self._rungs[-1] and (last is None or key[1] <= last))
        turns = [found[key] for key in sorted(kept)]
        ended = {one for turn in turns for one, measured in turn.items() if not _is_timed(measured)}
        return [{one: measured for one, measured in turn.items() if one not in ended} for turn in turns]

    @property
    def last_turn(self) -> int:
        """The highest number of one; 0 where there is none."""
        return max(
            (turn for found in self._found.values() for rung, turn in found if rung == self._rungs[-1]), default=0
        )

    def best(self, problem: str) -> dict[Candidate, Measured]:
        """Each candidate of a problem at the highest rung that has it, where it was timed there; of turns as pooled.
        One that ended otherwise in a later turn is none."""
        found: dict[Candidate, Measured] = {}
        for rung in self._rungs[:-1]:
            found |= self.at(problem, rung)
        ended = {one for of in self._found.get(problem, {}).values() for one, had in of.items() if not _is_timed(had)}
        timed = {one: measured for one, measured in found.items() if one not in ended}
        return timed | pooled(self.turns(problem))


def known_by_code(records: Sequence[Record], rungs: Iterable[str]) -> dict[str, Known]:
    """Measurements of journals, by the code that they are of."""
    every = tuple(rungs)
    return {code: Known(code, every, records) for code in dict.fromkeys(one.code for one in records)}


def _is_timed(one: Measured) -> bool:
    return one.status is MeasureStatus.OK
