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
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any

from ckgen.fuzz.case import Case
from ckgen.fuzz.worker_process import WorkerProcess
from ckgen.measure.comparison import Comparison, Then, error_of
from ckgen.measure.conditions import Conditions, Limits, Place
from ckgen.measure.environment import driver_of, environment, threads
from ckgen.measure.library import NAME, Contents, build_library, carried_library, digest_of
from ckgen.measure.model import Candidate, Effort, Environment, Measured, MeasureStatus
from ckgen.measure.worker import READY
from ckgen.model.arch import CPU_LEVELS, levels_of
from ckgen.model.errors import CkgenError, UsageError
from ckgen.model.target import Target
from ckgen.specs.archs import load_archs
from ckgen.specs.native import cuda_target, hip_target, only_gpu, own_cpu

_PART_OF_FREE = 0.9
_OWN_SPACE, _SPACE_OF_THREAD = 4 << 30, 256 << 20
"""Bytes of address space, most of which is never touched: of Python with its libraries, and of stacks and arenas."""
_PATIENCE_WITH_DEVICE = 2
_KEPT_MEMORY = {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": str(1 << 40)}
"""glibc's: memory of operands and references that is free again is taken for the next, and need not be mapped anew,
which takes as long as filling it. Not where kernels of this CPU run: it would lie alike in each process."""
_OF_MEMORY = ("bad_alloc", "MemoryError", "Cannot allocate memory", "SIGKILL")
"""What a process says that ended for want of memory; the kernel's own way is a signal that nobody else sends."""


def place_of(target: Target, *, twins: bool = False) -> Place:
    """Where kernels of a target run; UsageError where a CPU's do not run here."""
    own = own_cpu()
    if target.gfx in CPU_LEVELS:
        if target.gfx not in levels_of(own.gfx):
            raise UsageError(f"{target}: this CPU is {own}, which does not run kernels of that level")
        return Place.HOST
    return Place.TWINS if twins else Place.DEVICE


def demand_place(target: Target, *, twins: bool = False) -> Place:
    """As place_of; UsageError also where this machine's first GPU is not of that target, whose time is then not
    measured here."""
    place = place_of(target, twins=twins)
    if place is Place.DEVICE:
        _demand_gpu(target)
    return place


def _demand_gpu(target: Target) -> None:
    archs = load_archs()
    found = [one for one in (hip_target(archs), cuda_target(archs)) if one is not None]
    if not any(target in (one, one.any_sku) for one in found):
        seen = ", ".join(map(str, found))
        raise UsageError(
            f"{target}: no such GPU is there{f' ({seen} is)' if seen else ''}. Build here with --build-only --work DIR,"
            " and measure with the same command and DIR where the GPU is. A simulated one is not measured: the emulator"
            " counts instructions, which is no time, and host twins run its instances on this CPU, which says nothing"
            " of their time on the GPU; `ckgen bench --twins` times them nevertheless"
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
    work: Path | None = None,
    gpu: int | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> LocalMeasurer:
    """Of a library for these ops and signatures, generated and built where it is not up to date; of one that was built
    into `work` where there is one.

    `tuning` in place of the shipped tables. `gpu`: which of this process's GPUs it is, None the current one.
    UsageError where the target does not run here; errors as build_runtime's.
    """
    place = demand_place(target, twins=twins)
    if conditions is not None and conditions.graph and place is not Place.DEVICE:
        raise UsageError(f"--graph: {target} is measured on this CPU, and only GPUs replay graphs")
    contents = Contents(
        target,
        tuple(sorted(set(ops))),
        tuple(sorted(set(signatures))),
        tuple(tuning),
        tuple(kernel_sets),
        twins=place is Place.TWINS,
    )
    library = library_of(contents, work, say)
    variables = only_gpu(gpu) if gpu is not None else {}
    return LocalMeasurer(library, NAME, contents, place, conditions or Conditions(), limits or Limits(), variables)


def library_of(contents: Contents, work: Path | None, say: Callable[[str], None]) -> Path:
    """The one that was built into `work`, else one that is up to date; errors as build_runtime's."""
    carried = carried_library(contents, work) if work is not None else None
    return carried or build_library(contents, say, work)


class LocalMeasurer:
    """See Measurer. A context manager, which ends the worker process. Not for several threads.

    environment: further variables of the worker process.
    """

    def __init__(
        self,
        library: Path,
        name: str,
        contents: Contents,
        place: Place,
        conditions: Conditions,
        limits: Limits,
        environment: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.digest = digest_of(library)
        self.library, self.conditions = library, conditions
        self._target, self._limits = contents.target, limits
        self._place = place
        self._starting = 0.0
        free = 0 if place is Place.DEVICE else _free()  # a driver maps the addresses of all memory that there is
        settings = {"memory": limits.memory or free, "place": place.value, "conditions": asdict(conditions)}
        words = (str(library), name, contents.text(), json.dumps(settings))
        one = str(threads())
        names = ("CKGEN_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
        kept = _KEPT_MEMORY if place is Place.DEVICE else {}
        variables = {**dict.fromkeys(names, one), **kept, **environment}
        self._right: dict[str, dict[Candidate, dict[str, Any]]] = defaultdict(dict)
        self._process = WorkerProcess("ckgen.measure.worker", words, READY, variables)

    def __enter__(self) -> LocalMeasurer:
        self._process.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the worker process."""
        self._process.close()

    def renew(self) -> None:
        """See Measurer."""
        self._process.end()

    def environment(self) -> Environment:
        """See Measurer."""
        found = environment(self._target)
        if self._place is not Place.DEVICE:
            return found
        told = self._answer("device", None)
        driver = driver_of(told["driver"])
        return replace(found, device=told["name"], driver=driver, threads=1, bus=told["bus"])

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
        found = self.compare(problem, candidates, (), effort, done)
        return tuple(map(found.outcome, candidates))

    def compare(
        self,
        problem: Case,
        candidates: Sequence[Candidate],
        peers: Sequence[str],
        effort: Effort,
        done: Callable[[Measured], None] | None = None,
        examined: Callable[[int], None] | None = None,
    ) -> Comparison:
        """As `measure`, and in the same turns what `peers` have for the same; CkgenError where the library changed.

        `examined` hears of how many candidates it is known whether they are right. What was right is not checked again,
        in further processes neither.
        """
        right = self._right[problem.text()]
        found = Comparison(problem, candidates, peers, effort, self.digest, done, examined, right)
        until = time.monotonic() + effort.ends if effort.ends else math.inf
        while found.left:
            if not self._process.is_running and time.monotonic() + self._starting >= until:
                found.late()
                break
            self._send(found.request())
            self._listen(found, until)
        return found

    def _listen(self, found: Comparison, until: float) -> None:
        """Until all is told, the process has to be replaced, or there is no time left."""
        then = Then.MORE
        while then is Then.MORE:
            line = self._line(is_running=found.is_running, until=until)
            if line is None and time.monotonic() >= until:
                self._process.end()
                found.late()
                return
            if not line:
                found.ended(*self._ending(line, is_running=found.is_running))
                return
            then = found.hear(json.loads(line))
        if then is Then.REPLACE:
            self._process.end()

    def _ending(self, line: str | None, *, is_running: bool) -> tuple[MeasureStatus, str]:
        """Why there is no further line."""
        if line is None:
            self._process.end()
            return MeasureStatus.HUNG, f"no answer after {self._seconds(is_running=is_running):g} s"
        how = self._process.how_it_ended()
        is_memory = any(word in how for word in _OF_MEMORY)
        return MeasureStatus.OUT_OF_MEMORY if is_memory else MeasureStatus.CRASHED, how

    def _answer(self, what: str, problem: Case | None) -> Any:
        self._send({"do": what, **({"problem": problem.text()} if problem is not None else {})})
        line = self._line(is_running=False)
        if not line:
            raise CkgenError(f"the worker process does not say {what}: {self._ending(line, is_running=False)[1]}")
        message = json.loads(line)
        if "end" not in message:
            raise error_of(message)
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
        began = time.monotonic()
        ran = self._process.start()
        self._starting = time.monotonic() - began
        if ran != self.digest:
            self._process.end()
            raise CkgenError(
                f"{self.library} is another file than when this began ({ran}, not {self.digest}): it was built anew"
                " meanwhile; measure again"
            )

    def _line(self, *, is_running: bool, until: float = math.inf) -> str | None:
        seconds = self._seconds(is_running=is_running)
        if self._place is Place.DEVICE and is_running:  # one thread waits for the device, with or without work
            return self._process.line(seconds, patience=_PATIENCE_WITH_DEVICE, until=until)
        return self._process.line(seconds, threads=threads(), until=until)

    def _seconds(self, *, is_running: bool) -> float:
        return self._limits.seconds if is_running else self._limits.prepare_seconds


def _free() -> int:
    """Bytes that a process may take: most of what is free now, and the address space of one that has done nothing."""
    try:
        told = dict(line.split(":") for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines())
        free = int(told["MemAvailable"].split()[0]) << 10
    except (OSError, KeyError, ValueError):
        free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return math.ceil(free * _PART_OF_FREE) + _OWN_SPACE + threads() * _SPACE_OF_THREAD
