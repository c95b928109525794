"""One problem in the process that runs it: its operands, whether a candidate is right, and what is timed of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ckgen.families.common.storage import Values
from ckgen.fuzz.case import Case, Data
from ckgen.fuzz.decision import Decision
from ckgen.fuzz.operation import Given, Result, Work
from ckgen.fuzz.operations import operation_of
from ckgen.fuzz.sampling import Budget
from ckgen.measure.against import PeerOutcome, offered, offered_on_device
from ckgen.measure.conditions import Conditions
from ckgen.measure.device_memory import DeviceMemory, DevicePlaced
from ckgen.measure.errors import Errors, errors_of
from ckgen.measure.loaded import Loaded
from ckgen.measure.memory import Placed, Workspace
from ckgen.measure.model import Candidate, MeasureStatus
from ckgen.measure.rotate import Placing, bytes_of, sets_by_bytes
from ckgen.measure.timing import Body
from ckgen.runtime import Plan, RuntimeFailure

_BUDGET = Budget(1 << 34, 1 << 22)
"""What takes about a second."""
_NO_MEMORY = "out of memory"


class Refused(Exception):
    """A candidate that is not timed: what became of it, and why."""

    def __init__(self, status: MeasureStatus, reason: str) -> None:
        super().__init__(reason)
        self.status = status


@dataclass(frozen=True, slots=True)
class _Ready:
    """A candidate's plan, and which operands it runs on."""

    plan: Plan
    work: Work
    data: str


@dataclass(frozen=True, slots=True)
class _Verdict:
    """Of what came out of a candidate, tensor by tensor: its errors, and why it is wrong."""

    found: list[Values]
    errors: Errors
    text: str


class Trial:
    """Operands are made when a candidate first needs them, and shared by all that take the same. What was right or
    refused is not run to be checked again, and what was timed is warm after one call.

    `heard` hears what is done: `prepare` ahead of operands and references, `run` ahead of a kernel.
    """

    def __init__(self, loaded: Loaded, problem: Case, conditions: Conditions, heard: Callable[[str], None]) -> None:
        self._loaded = loaded
        self.problem = problem
        self._conditions = conditions
        self._heard = heard
        self._ready: dict[Candidate, _Ready] = {}
        self._given: dict[str, Given] = {}
        self._placed: dict[str, Placed] = {}
        self._sets: dict[str, int] = {}
        self._right: dict[Candidate, Errors] = {}
        self._verdicts: dict[str, _Verdict] = {}
        self._refused: dict[Candidate, Refused] = {}
        self._seconds: dict[Candidate, float] = {}
        self._rooms: list[Workspace] = [loaded.memory.workspace(0)]  # bodies made before go on using theirs
        self._flush = loaded.memory.flusher() if conditions.flush else None

    def check(self, candidate: Candidate) -> Errors:
        """Runs it twice over the same result and compares; Refused where it is not right. One that was right or refused
        is not run."""
        if candidate in self._refused:
            raise self._refused[candidate]
        if candidate not in self._right:
            try:
                self._right[candidate] = self._checked(candidate)
            except Refused as refused:
                if refused.status is MeasureStatus.REFUSED:
                    self._refused[candidate] = refused
                raise
        return self._right[candidate]

    def _checked(self, candidate: Candidate) -> Errors:
        ready = self._of(candidate)
        given, placed = self._given[ready.data], self._placed[ready.data]
        placed.restore()  # a kernel that was timed has left its result there
        placed.send()
        (first,) = placed.sets(1)
        workspace = self._loaded.memory.workspace(ready.plan.workspace_size)
        for _ in range(1 if self.problem.in_place else 2):
            self._heard("run")
            self._run(ready.plan, first, workspace.address)
        placed.fetch()
        self._heard("prepare")
        with np.errstate(invalid="ignore", over="ignore"):
            errors, text = self._verdict(ready.data, given)
        written = placed.out_of_bounds_writes()
        placed.restore()
        if not workspace.has_clean_bands():
            written = f"a byte beside the workspace of {ready.plan.workspace_size} was written"
        if written:
            raise Refused(MeasureStatus.OUT_OF_BOUNDS, written)
        if text:
            raise Refused(MeasureStatus.WRONG, text)
        return errors

    def body(self, candidate: Candidate, rest: float) -> Body:
        """What is timed: the whole plan, its resets too, on operands in turn."""
        ready = self._of(candidate)
        memory, data = self._loaded.memory, ready.data
        if data not in self._sets:
            size = bytes_of(self._given[data])
            self._sets[data] = self._conditions.rotating or sets_by_bytes(size, memory.cache)
        if self._rooms[-1].size < ready.plan.workspace_size:
            self._rooms.append(memory.workspace(ready.plan.workspace_size))
        room, launcher = self._rooms[-1], self._loaded.dispatcher.launcher
        calls = tuple(launcher(ready.plan, one.args, room.address, memory.stream) for one in self._timed_on(data))
        return Body(calls, rest, self._flush, self._seconds.get(candidate), memory.clock)

    def _timed_on(self, data: str) -> list[Placing]:
        """Sets of operands: those of other data lie beside the first's."""
        first = next(iter(self._sets))
        beside = self._timed_on(first) if data != first else ()
        return self._placed[data].sets(self._sets[data], beside)

    def timed(self, candidate: Candidate, seconds: float) -> None:
        """Tells what a call of its body takes."""
        self._seconds[candidate] = seconds

    def offered(self, peer: str, candidate: Candidate) -> tuple[dict[str, Body], list[PeerOutcome]]:
        """A peer's ways to what the candidate, which has a body, computes of the same operands."""
        self._heard("prepare")
        ready = self._of(candidate)
        given, placed, memory = self._given[ready.data], self._placed[ready.data], self._loaded.memory
        if isinstance(memory, DeviceMemory) and isinstance(placed, DevicePlaced):
            bodies, outcomes = offered_on_device(peer, given, placed, self._sets[ready.data], memory.gpu)
        else:
            bodies, outcomes = offered(peer, given, self._sets[ready.data])
        ready_bodies = {name: replace(one, before=self._flush, clock=memory.clock) for name, one in bodies.items()}
        return ready_bodies, outcomes

    def size(self) -> dict[str, int]:
        """Bytes of operands, and how many sets of them took turns; of the first data where there are several."""
        data = next(iter(self._sets), None)
        if data is None:
            return {"bytes": 0, "sets": 0}
        return {"bytes": bytes_of(self._given[data]), "sets": self._sets[data]}

    def _run(self, plan: Plan, placing: Placing, workspace: int) -> None:
        try:
            self._loaded.dispatcher.run(plan, placing.args, workspace)
        except RuntimeFailure as failure:
            raise _refused(failure) from failure

    def _of(self, candidate: Candidate) -> _Ready:
        if candidate not in self._ready:
            self._heard("prepare")
            self._ready[candidate] = self._made(candidate)
        return self._ready[candidate]

    def _made(self, candidate: Candidate) -> _Ready:
        case = replace(self.problem, instance=candidate.instance, k_batch=candidate.k_batch)
        if candidate.instance not in self._loaded.space.all_instances:
            raise Refused(MeasureStatus.REFUSED, f"the library has no instance {candidate.instance}")
        decision = self._loaded.decision(case)
        finding = decision.chosen.finding
        if finding is not None:
            raise Refused(MeasureStatus.REFUSED, finding.text)
        operation = operation_of(decision.signature)
        work = operation.work(case, decision)
        if reason := work.refusal():
            raise Refused(MeasureStatus.REFUSED, reason)
        plan = self._plan(work, candidate)
        parts = operation.parts(self._loaded.space, decision)
        data = self._data_of(decision, plan, parts)
        if data not in self._given:
            self._given[data] = work.given(self._loaded.library, plan.block_m, parts)
            self._given[data].sample(_BUDGET)
            self._placed[data] = self._loaded.memory.place(self._given[data])
        return _Ready(plan, work, data)

    def _plan(self, work: Work, candidate: Candidate) -> Plan:
        asked = work.problem(self._loaded.library)
        try:
            plan = self._loaded.dispatcher.plan(asked, self._loaded.device, candidate.instance, candidate.k_batch)
        except RuntimeFailure as failure:
            raise _refused(failure) from failure
        if plan.refusal:
            raise Refused(MeasureStatus.REFUSED, plan.refusal)
        return plan

    def _data_of(self, decision: Decision, plan: Plan, parts: int) -> str:
        """What of a candidate decides its operands: sums of parts are made of integers, sorted tokens lie in blocks,
        and not every kernel of attention takes lengths, or rounds as others do."""
        found = ["integers" if parts > 1 and self.problem.data is not Data.INTEGERS else ""]
        found.append(operation_of(decision.signature).bounds(decision))
        if self.problem.experts:
            found.append(str(plan.block_m))
        if self.problem.own_lengths:
            found.append(decision.chosen.instance)
        return " ".join(found)

    def _verdict(self, data: str, given: Given) -> tuple[Errors, str]:
        """Errors of what came out, and why it is wrong. The same numbers as before have the same verdict."""
        results = list(given.results())
        found, before = [one.found for one in results], self._verdicts.get(data)
        if before is None or not all(map(np.array_equal, before.found, found)):
            before = self._verdicts[data] = _Verdict(found, errors_of(results), self._wrong(given, results))
        return before.errors, before.text

    def _wrong(self, given: Given, results: list[Result]) -> str:
        most = self._conditions.tolerance
        if most is None:
            return given.wrong()
        found = errors_of(results).max_rel
        return "" if found <= most else f"the largest error is {found:.3g} of the largest value, more than {most:g}"


def _refused(failure: RuntimeFailure) -> Refused:
    is_memory = _NO_MEMORY in str(failure)
    return Refused(MeasureStatus.OUT_OF_MEMORY if is_memory else MeasureStatus.REFUSED, str(failure))
