"""What is known of candidates and peers while a worker process is at them, and who is to blame for its end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from enum import Enum
from typing import Any

from ckgen.fuzz.case import Case
from ckgen.measure.against import PeerOutcome
from ckgen.measure.model import Candidate, Effort, Measured, MeasureStatus
from ckgen.model.errors import CkgenError, UsageError


class Then(Enum):
    """What follows a message: further ones, none, or none of this process, which is to be replaced."""

    MORE = "more"
    END = "end"
    REPLACE = "replace"


class Comparison:
    """`done` hears each candidate's outcome as soon as it is final, `examined` of how many it is known whether they are
    right. `right`: errors of candidates that were right before, to which are added those that are found."""

    def __init__(
        self,
        problem: Case,
        candidates: Sequence[Candidate],
        peers: Sequence[str],
        effort: Effort,
        digest: str,
        done: Callable[[Measured], None] | None,
        examined: Callable[[int], None] | None = None,
        right: dict[Candidate, dict[str, Any]] | None = None,
    ) -> None:
        self._examined = examined
        self._candidates = tuple(dict.fromkeys(candidates))
        self._problem, self._effort, self._digest, self._done = problem, effort, digest, done
        self._outcomes: dict[Candidate, Measured] = {}
        self._checked = right if right is not None else {}
        self._peers = {name: [PeerOutcome(name, name, "no candidate was right")] for name in dict.fromkeys(peers)}
        self._ended: set[str] = set()
        self._asked: list[Candidate] = []
        self._at: Candidate | str | None = None
        self.is_running = False
        """Whether a kernel is, so far as the process has said."""
        self.bytes = self.sets = 0
        """Of the operands, and how many sets of them took turns; 0 where nothing was timed."""

    @property
    def left(self) -> list[Candidate]:
        """Those without an outcome."""
        return [one for one in self._candidates if one not in self._outcomes]

    def outcome(self, candidate: Candidate) -> Measured:
        """That of a candidate that is not left."""
        return self._outcomes[candidate]

    def peers(self) -> tuple[PeerOutcome, ...]:
        """Of all that were asked."""
        return tuple(outcome for each in self._peers.values() for outcome in each)

    def request(self) -> dict[str, Any]:
        """What a process is asked now, of those that are left; a right result is not checked again."""
        self._asked, self._at, self.is_running = self.left, None, False
        return {
            "do": "measure",
            "problem": self._problem.text(),
            "candidates": [asdict(one) for one in self._asked],
            "checked": [number for number, one in enumerate(self._asked) if one in self._checked],
            "peers": [name for name in self._peers if name not in self._ended],
            "effort": asdict(self._effort),
        }

    def hear(self, message: dict[str, Any]) -> Then:
        """One line of the process; CkgenError for what is no candidate's fault."""
        match message:
            case {"end": {"bytes": size, "sets": sets}}:
                self.bytes, self.sets = size, sets
                if self.left == self._asked:
                    raise CkgenError("the worker process told nothing of what it was asked")
                return Then.END
            case {"candidate": number}:
                self._at = self._asked[number]
            case {"peer": name}:
                self._at = name
            case {"at": what}:
                self.is_running = what == "run"
            case {"timed": name, **times}:
                self._time(name, times)
            case {"offered": outcomes}:
                self._peers[str(self._at)] = [PeerOutcome(**one) for one in outcomes]
            case {"checked": errors} if isinstance(self._at, Candidate):
                self._checked[self._at] = errors
                self._tell_examined()
            case {"refused": status, "reason": reason} if isinstance(self._at, Candidate):
                self._fail(self._at, MeasureStatus(status), reason)
                if MeasureStatus(status) is MeasureStatus.OUT_OF_BOUNDS:  # who knows what else it wrote
                    return Then.REPLACE
            case _:
                raise error_of(message)
        return Then.MORE

    def ended(self, status: MeasureStatus, reason: str) -> None:
        """The process did not live to the end: whoever was running is to blame, or all if nobody was."""
        if isinstance(self._at, str):
            self._ended.add(self._at)
            self._peers[self._at] = [PeerOutcome(self._at, self._at, reason)]
            return
        for one in [self._at] if self._at is not None and self.is_running else self._asked:
            self._fail(one, status, reason)

    def late(self) -> None:
        """The effort's end came first: nobody is to blame."""
        for one in self.left:
            self._fail(one, MeasureStatus.LATE, f"{self._effort.ends:.3g} s were over before it was timed")

    def _time(self, name: str, times: dict[str, Any]) -> None:
        peer, colon, way = name.partition(":")
        if colon:
            self._peers[peer] = [replace(one, **times) if one.name == way else one for one in self._peers[peer]]
            return
        candidate = self._asked[int(name)]
        self._tell(Measured(candidate, MeasureStatus.OK, **times, **self._checked[candidate], digest=self._digest))

    def _fail(self, candidate: Candidate, status: MeasureStatus, reason: str) -> None:
        self._tell(Measured(candidate, status, reason, digest=self._digest))
        self._tell_examined()

    def _tell_examined(self) -> None:
        if self._examined is not None:
            known = {*self._checked, *self._outcomes}
            self._examined(sum(one in known for one in self._candidates))

    def _tell(self, outcome: Measured) -> None:
        self._outcomes[outcome.candidate] = outcome
        if self._done is not None:
            self._done(outcome)


def error_of(message: dict[str, Any]) -> CkgenError:
    """Of a message that is no answer."""
    if "usage" in message:
        return UsageError(message["usage"])
    return CkgenError(f"the worker process failed: {message.get('internal', message)}")
