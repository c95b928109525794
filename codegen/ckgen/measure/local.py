"""The Measurer of this machine.

    with local_measurer(target, ops=("gemm",), signatures=("gemm_bf16_rcr",), say=print) as measurer:
        problem = Case("gemm_bf16_rcr", str(target), m=64, n=4096, k=4096)
        rows = measurer.measure(problem, measurer.candidates(problem), Effort())

`local_measurer` generates and builds the library first where that is not up to date; LocalMeasurer takes a library that
is built. Kernels run in a worker process, which is replaced where one ends it.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from ckgen.fuzz.case import Case
from ckgen.fuzz.worker_process import WorkerProcess
from ckgen.measure.conditions import Conditions, Limits, Place
from ckgen.measure.environment import environment, threads
from ckgen.measure.library import NAME, Contents, build_library, digest_of
from ckgen.measure.model import Candidate, Effort, Environment, Measured, MeasureStatus
from ckgen.measure.worker import READY
from ckgen.model.arch import CPU_LEVELS
from ckgen.model.errors import CkgenError, UsageError
from ckgen.model.target import Target
from ckgen.specs.native import own_cpu

_PART_OF_FREE = 0.9
_OF_MEMORY = ("bad_alloc", "MemoryError", "Cannot allocate memory", "SIGKILL")
"""What a process says that ended for want of memory; the kernel's own way is a signal that nobody else sends."""


def place_of(target: Target, *, twins: bool = False) -> Place:
    """Where kernels of a target run here; UsageError where they do not, or their time would say nothing."""
    own = own_cpu()
    if target.gfx in CPU_LEVELS:
        if CPU_LEVELS.index(target.gfx) > CPU_LEVELS.index(own.gfx):
            raise UsageError(f"{target}: this CPU is {own}, which does not run kernels of that level")
        return Place.HOST
    if twins:
        return Place.TWINS
    raise UsageError(
        f"{target}: no such GPU is measured here. Host twins run its instances on this CPU, which says nothing of their"
        " time on the GPU; --twins times them nevertheless"
    )


def local_measurer(
    target: Target,
    ops: Iterable[str],
    signatures: Iterable[str] = (),
    *,
    tuning: Iterable[Path] = (),
    kernel_sets: Iterable[Path] = (),
    conditions: Conditions | None = None,
    limits: Limits | None = None,
    twins: bool = False,
    say: Callable[[str], None] = lambda text: None,
) -> LocalMeasurer:
    """Of a library for these ops and signatures, generated and built where it is not up to date.

    `tuning` in place of the shipped tables. UsageError where the target does not run here; errors as build_runtime's.
    """
    place = place_of(target, twins=twins)
    contents = Contents(
        target, tuple(sorted(set(ops))), tuple(sorted(set(signatures))), tuple(tuning), tuple(kernel_sets)
    )
    library = build_library(contents, say)
    return LocalMeasurer(library, NAME, contents, place, conditions or Conditions(), limits or Limits())


@dataclass(slots=True)
class _Round:
    """What is known of the candidates of one `measure`."""

    outcomes: dict[Candidate, Measured] = field(default_factory=dict)
    checked: dict[Candidate, dict[str, Any]] = field(default_factory=dict)


class LocalMeasurer:
    """See Measurer. A context manager, which ends the worker process. Not for several threads."""

    def __init__(
        self, library: Path, name: str, contents: Contents, place: Place, conditions: Conditions, limits: Limits
    ) -> None:
        self.digest = digest_of(library)
        self.conditions = conditions
        self._library, self._target, self._limits = library, contents.target, limits
        settings = {"memory": limits.memory or _free(), "place": place.value, "conditions": asdict(conditions)}
        words = (str(library), name, contents.text(), json.dumps(settings))
        one = str(threads())
        variables = ("CKGEN_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        self._process = WorkerProcess("ckgen.measure.worker", words, READY, dict.fromkeys(variables, one))

    def __enter__(self) -> LocalMeasurer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the worker process."""
        self._process.close()

    def environment(self) -> Environment:
        """See Measurer."""
        return environment(self._target)

    def candidates(self, problem: Case) -> tuple[Candidate, ...]:
        """See Measurer; UsageError for a problem that means nothing."""
        return tuple(Candidate(**one) for one in self._answer("candidates", problem))

    def selected(self, problem: Case) -> Candidate | None:
        """See Measurer."""
        found = self._answer("selected", problem)
        return Candidate(**found) if found is not None else None

    def measure(
        self,
        problem: Case,
        candidates: Sequence[Candidate],
        effort: Effort,
        done: Callable[[Measured], None] | None = None,
    ) -> tuple[Measured, ...]:
        """See Measurer."""
        found = _Round()
        while left := [one for one in dict.fromkeys(candidates) if one not in found.outcomes]:
            for outcome in self._tried(problem, left, effort, found.checked):
                found.outcomes[outcome.candidate] = outcome
                if done is not None:
                    done(outcome)
        return tuple(found.outcomes[one] for one in candidates)

    def _tried(
        self, problem: Case, candidates: list[Candidate], effort: Effort, checked: dict[Candidate, dict[str, Any]]
    ) -> Iterator[Measured]:
        """What comes of it until all is told, or the process has to be replaced."""
        at: Candidate | None = None
        is_running = False
        request = {
            "do": "measure",
            "problem": problem.text(),
            "candidates": [asdict(one) for one in candidates],
            "checked": [number for number, one in enumerate(candidates) if one in checked],
            "effort": asdict(effort),
        }
        self._send(request)
        while True:
            line = self._line(is_running=is_running)
            if not line:
                break
            message = json.loads(line)
            if "end" in message:
                return
            if "candidate" in message:
                at = candidates[message["candidate"]]
            elif "at" in message:
                is_running = message["at"] == "run"
            elif "timed" in message:
                yield self._timed(candidates[message["timed"]], message, checked)
            elif at is None:
                raise _error(message)
            elif "checked" in message:
                checked[at] = message["checked"]
            elif "refused" in message:
                status = MeasureStatus(message["refused"])
                yield self._failed(at, status, message["reason"])
                if status is MeasureStatus.OUT_OF_BOUNDS:  # who knows what else it wrote
                    self._process.end()
                    return
            else:
                raise _error(message)
        status, reason = self._ending(line)
        at_fault = [at] if at is not None and is_running else candidates
        yield from (self._failed(one, status, reason) for one in at_fault)

    def _ending(self, line: str | None) -> tuple[MeasureStatus, str]:
        """Why there is no further line."""
        if line is None:
            self._process.end()
            return MeasureStatus.HUNG, f"no answer after {self._limits.seconds:g} s"
        how = self._process.how_it_ended()
        is_memory = any(word in how for word in _OF_MEMORY)
        return MeasureStatus.OUT_OF_MEMORY if is_memory else MeasureStatus.CRASHED, how

    def _timed(self, candidate: Candidate, told: dict[str, Any], checked: dict[Candidate, dict[str, Any]]) -> Measured:
        times = {"median_us": told["us"], "spread": told["spread"], "runs": told["runs"]}
        return Measured(candidate, MeasureStatus.OK, **times, **checked[candidate], digest=self.digest)

    def _failed(self, candidate: Candidate, status: MeasureStatus, reason: str) -> Measured:
        return Measured(candidate, status, reason, digest=self.digest)

    def _answer(self, what: str, problem: Case) -> Any:
        self._send({"do": what, "problem": problem.text()})
        line = self._line(is_running=False)
        if not line:
            raise CkgenError(f"the worker process does not say {what}: {self._ending(line)[1]}")
        message = json.loads(line)
        if "end" not in message:
            raise _error(message)
        return message["end"]

    def _send(self, request: dict[str, Any]) -> None:
        """Asks the process, a new one where there is none."""
        text = json.dumps(request)
        if not self._process.is_running:
            self._start()
        elif self._process.send(text):
            return
        else:
            self._process.end()
            self._start()
        self._process.send(text)

    def _start(self) -> None:
        """CkgenError where the library is no longer the one that was to be measured."""
        ran = self._process.start()
        if ran != self.digest:
            self._process.end()
            raise CkgenError(
                f"{self._library} is another file than when this began ({ran}, not {self.digest}): it was built anew"
                " meanwhile; measure again"
            )

    def _line(self, *, is_running: bool) -> str | None:
        seconds = self._limits.seconds if is_running else self._limits.prepare_seconds
        return self._process.line(seconds, threads=threads())


def _error(message: dict[str, Any]) -> CkgenError:
    if "usage" in message:
        return UsageError(message["usage"])
    return CkgenError(f"the worker process failed: {message.get('internal', message)}")


def _free() -> int:
    """Bytes that a process may take: most of what is free now, and the address space of one that has done nothing."""
    try:
        told = dict(line.split(":") for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines())
        free = int(told["MemAvailable"].split()[0]) << 10
    except (OSError, KeyError, ValueError):
        free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return math.ceil(free * _PART_OF_FREE) + (4 << 30)
