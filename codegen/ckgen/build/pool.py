"""Runs jobs side by side within a number of processes and the machine's memory; each once, whoever else runs it."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ckgen.build.cache import Cache, Lock, Scratch
from ckgen.build.entry import Entry
from ckgen.build.headers import headers_of
from ckgen.build.history import History
from ckgen.build.job import Job, portable
from ckgen.build.launcher import NO_LAUNCHER, Launcher
from ckgen.build.process import Child, memory_available_mb
from ckgen.progress import Standing

_TICK = 0.02
_RESERVE_MB = 512
LOG = "log.txt"

_PASSING = (
    "No space left on device",
    "Cannot allocate memory",
    "out of memory",
    "std::bad_alloc",
    "`ckgen toolchain amd` downloads",
)
"""In a log: a failure of the machine or the prefix, not of the text; it is not kept."""


_SWAYING = frozenset(
    ("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "CCC_OVERRIDE_OPTIONS", "DEPENDENCIES_OUTPUT", "GCC_EXEC_PREFIX")
)
"""Variables by which a compiler would do other than its command says."""


@dataclass(frozen=True, slots=True)
class Limits:
    """At most `jobs` processes and `memory_mb` MiB by estimate; a job is stopped after `seconds`. `launcher` precedes
    the compiles. `retry` runs again what is kept as failed. `scheduler`: a cluster runs them (`cluster.place_of`).
    """

    jobs: int
    memory_mb: int
    seconds: float = 1800
    launcher: Launcher = NO_LAUNCHER
    retry: bool = False
    scheduler: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """A job and what became of it; `cached` says that nothing ran here. `passing` failures are not kept."""

    job: Job
    entry: Entry
    cached: bool
    passing: bool = False


OnStanding = Callable[[Standing], None]
"""Hears how far jobs are: a `Progress` does."""


def default_limits(
    jobs: int | None, launcher: Launcher = NO_LAUNCHER, *, retry: bool = False, scheduler: str = ""
) -> Limits:
    """As many processes as this one may use cores, within nine tenths of the memory that is free now."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    memory = max(memory_available_mb() * 9 // 10 - _RESERVE_MB, 0)
    return Limits(jobs or cores, memory, launcher=launcher, retry=retry, scheduler=scheduler)


def run_jobs(
    jobs: Iterable[Job], cache: Cache, limits: Limits, done: Callable[[Outcome], None], progress: OnStanding
) -> None:
    """Runs what is not kept; `done` hears of every job once, in the order in which they end, equal ones as one.

    KeyboardInterrupt, or what `done` raises, ends all that runs and leaves nothing half made.
    """
    if limits.scheduler:
        from ckgen.build.remote import run_remotely

        run_remotely(jobs, cache, limits, done, progress)
        return
    run = _Run(cache, limits, done, progress)
    try:
        run.all(jobs)
    finally:
        run.stop()


@dataclass(slots=True)
class _Running:
    job: Job
    lock: Lock
    scratch: Scratch
    steps: deque[tuple[str, ...]]
    child: Child
    step: tuple[str, ...]
    began: int
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_mb: float = 0.0


@dataclass(slots=True)
class _Run:
    cache: Cache
    limits: Limits
    done: Callable[[Outcome], None]
    progress: OnStanding
    history: History = field(init=False)
    waiting: deque[Job] = field(default_factory=deque)
    running: list[_Running] = field(default_factory=list)
    total: int = 0
    ended: int = 0
    failed: int = 0

    def __post_init__(self) -> None:
        self.history = History(self.cache.folder)

    def all(self, jobs: Iterable[Job]) -> None:
        distinct = {job.key: job for job in jobs}
        self.total = len(distinct)
        self.cache.sweep()
        for job in distinct.values():
            if not self._kept(job):
                self.waiting.append(job)
        while self.waiting or self.running:
            started = self._start_some()
            self.progress(self._standing())
            if not (self._collect() or started):
                time.sleep(_TICK)
        self.progress(self._standing())

    def stop(self) -> None:
        for running in self.running:
            running.child.kill()
            self.cache.discard(running.scratch)
            running.lock.release()
        self.running.clear()

    def _kept(self, job: Job) -> bool:
        """Answers from the cache, if it can."""
        entry = self.cache.find(job)
        if entry is None or (self.limits.retry and not entry.ok):
            return False
        self._end(Outcome(job, entry, cached=True))
        return True

    def _start_some(self) -> bool:
        """Starts what fits; a job that another process runs is looked at again later."""
        started = False
        for _ in range(len(self.waiting)):
            if len(self.running) >= self.limits.jobs or not self._fits(self.waiting[0]):
                break
            job = self.waiting.popleft()
            lock = self.cache.try_lock(job)
            if lock is None:
                self.waiting.append(job)
            elif self._kept(job):
                lock.release()
                started = True
            else:
                self._start(job, lock)
                started = True
        return started

    def _fits(self, job: Job) -> bool:
        """One job always runs; others while the estimates of all that run fit."""
        if not self.running:
            return True
        need = self.history.estimate(job.family).peak_mb
        taken = sum(self.history.estimate(running.job.family).peak_mb for running in self.running)
        return taken + need <= self.limits.memory_mb and memory_available_mb() > need

    def _start(self, job: Job, lock: Lock) -> None:
        scratch, began = self.cache.scratch(), time.time_ns()
        try:
            for name, text in ((job.source, job.text), *job.beside):
                (scratch.path / name).write_text(text, encoding="utf-8")
            steps = deque(job.steps)
            step = steps.popleft()
            child = _child(self.limits.launcher.apply(step), scratch.path)
        except BaseException:
            self.cache.discard(scratch)
            lock.release()
            raise
        self.running.append(_Running(job, lock, scratch, steps, child, step, began))

    def _collect(self) -> bool:
        """Takes note of what has ended; whether anything had."""
        ended = False
        for running in list(self.running):
            finished = running.child.poll()
            if finished is None:
                if running.child.seconds > self.limits.seconds:
                    running.child.kill()
                    self._close(running, -9, f"stopped after {self.limits.seconds:.0f} s", passing=True)
                    ended = True
                continue
            ended = True
            running.seconds += finished.seconds
            running.cpu_seconds += finished.cpu_seconds
            running.peak_mb = max(running.peak_mb, finished.peak_mb)
            if finished.code == 0 and running.steps:
                running.step = running.steps.popleft()
                running.child = _child(running.step, running.scratch.path)
            else:
                self._close(running, finished.code, "", passing=finished.code < 0)
        return ended

    def _close(self, running: _Running, code: int, note: str, *, passing: bool) -> None:
        job, folder = running.job, running.scratch.path
        log = _text_of(folder / LOG)
        missing = [name for name in job.outputs if not (folder / name).is_file()] if code == 0 else []
        if missing:
            code, note = 1, f"the commands wrote no {', '.join(missing)}"
        entry = Entry(
            folder=folder,
            label=job.label,
            seconds=round(running.seconds, 3),
            cpu_seconds=round(running.cpu_seconds, 3),
            peak_mb=round(running.peak_mb, 1),
            log=log + (f"{note}\n" if note else ""),
            failed=portable(running.step, job.roots) if code else (),
            code=code,
            headers=headers_of(job, folder / job.depfile, running.began),
            outputs={},
        )
        passing = bool(code) and (passing or any(word in entry.log for word in _PASSING))
        if passing:
            self.cache.discard(running.scratch)
        else:
            entry = self.cache.publish(job, entry, running.scratch)
            if entry.ok:
                self.history.add(job.family, entry)
        running.lock.release()
        self.running.remove(running)
        self._end(Outcome(job, entry, cached=False, passing=passing))

    def _end(self, outcome: Outcome) -> None:
        self.ended += 1
        self.failed += not outcome.entry.ok
        self.done(outcome)

    def _standing(self) -> Standing:
        left = sum(self.history.estimate(job.family).seconds for job in self.waiting)
        for running in self.running:
            left += max(self.history.estimate(running.job.family).seconds - running.child.seconds, 1)
        return Standing(self.total, self.ended, self.failed, len(self.running), left / self.limits.jobs)


def _child(step: tuple[str, ...], folder: Path) -> Child:
    return Child(step, folder, folder / LOG, _environment())


def _environment() -> Mapping[str, str]:
    """The caller's, in plain English: what a compiler says is kept and shown to others."""
    kept = {name: value for name, value in os.environ.items() if name not in _SWAYING}
    return {**kept, "LC_ALL": "C.UTF-8"}


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ""
