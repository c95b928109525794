"""Jobs on the workers of a cluster: what one made there is kept here, as if it had run here.

Workers need the folders of a job where they are here, as containers of one image or a shared file system give them; a
worker whose compiler or headers are others is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from ckgen.build.amd.toolchain import load
from ckgen.build.cache import Cache, default_cache
from ckgen.build.entry import Entry
from ckgen.build.headers import still_same
from ckgen.build.job import Job
from ckgen.cluster import Lost, place_of, run_on
from ckgen.model.errors import UsageError
from ckgen.progress import Standing

if TYPE_CHECKING:
    from ckgen.build.pool import Limits, OnStanding, Outcome


@dataclass(frozen=True, slots=True)
class _Task:
    job: Job
    limits: Limits


@dataclass(frozen=True, slots=True)
class _Made:
    """An entry whose folder is the worker's, and the bytes of its outputs."""

    entry: Entry
    outputs: dict[str, bytes]
    passing: bool


def run_remotely(
    jobs: Iterable[Job], cache: Cache, limits: Limits, done: Callable[[Outcome], None], progress: OnStanding
) -> None:
    """As `pool.run_jobs`, on the cluster of `limits.scheduler`."""
    from ckgen.build.pool import Outcome

    distinct = {job.key: job for job in jobs}
    total, ended, failed = len(distinct), 0, 0
    waiting = []
    for job in distinct.values():
        entry = cache.find(job)
        if entry is None or (limits.retry and not entry.ok):
            waiting.append(job)
            continue
        ended, failed = ended + 1, failed + (not entry.ok)
        done(Outcome(job, entry, cached=True))
    before, failed_before = ended, failed
    address, workers = place_of(limits.scheduler)
    each = replace(limits, jobs=1, scheduler="")
    running = 0

    def heard(standing: Standing) -> None:
        nonlocal running
        running = standing.running
        progress(Standing(total, before + standing.done, failed_before + (failed - failed_before), running))

    tasks = [_Task(job, each) for job in waiting]
    for task, made in run_on(tasks, _run_task, address, workers or limits.jobs, progress=heard):
        outcome = _kept(task.job, made, cache)
        failed += not outcome.entry.ok
        done(outcome)
    progress(Standing(total, total, failed, 0))


def _run_task(task: _Task) -> _Made:
    """On a worker."""
    from ckgen.build.pool import run_jobs

    _check_place(task.job)
    found: list[Outcome] = []
    run_jobs([task.job], Cache(default_cache()), task.limits, found.append, lambda standing: None)
    (outcome,) = found
    names = task.job.outputs if outcome.entry.ok else ()
    outputs = {name: outcome.entry.output(name).read_bytes() for name in names}
    return _Made(outcome.entry, outputs, outcome.passing)


def _check_place(job: Job) -> None:
    """UsageError where this machine has not what the job names, or another of it."""
    missing = [root.path for root in job.roots if not root.path.exists()]
    if missing:
        raise UsageError(f"a worker has no {missing[0]}: workers need the toolchain and ckgen where they are here")
    places = {root.name: root.path for root in job.roots}
    if "toolchain" in places:
        toolchain = load(places["prefix"])
        if job.identity != (toolchain.compiler_id, toolchain.ck.id, toolchain.libstdcxx or ""):
            raise UsageError(f"a worker's toolchain in {places['prefix']} is another than the one here")


def _kept(job: Job, made: _Made | Lost, cache: Cache) -> Outcome:
    """What was made, in the cache of this machine."""
    from ckgen.build.pool import Outcome

    if isinstance(made, Lost):
        why = "every worker that compiled it died\n"
        return Outcome(job, Entry(Path(), job.label, 0, 0, 0, why, ("worker",), -9, (), {}), cached=False, passing=True)
    if made.passing:
        return Outcome(job, made.entry, cached=False, passing=True)
    entry = cache.find(job)
    if entry is None or entry.ok != made.entry.ok:  # else the worker's cache is this one
        scratch = cache.scratch()
        for name, data in made.outputs.items():
            (scratch.path / name).write_bytes(data)
        entry = cache.publish(job, made.entry, scratch)
    if not still_same(entry.headers, job):
        raise UsageError(f"{job.label}: a worker read other headers than those here; use one ckgen everywhere")
    return Outcome(job, entry, cached=False)
