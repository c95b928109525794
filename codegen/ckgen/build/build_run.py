"""Compiles planned kernels and judges them: what `ckgen build` and `ckgen amd-check` have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ckgen.build.cache import Cache
from ckgen.build.compile import device_job
from ckgen.build.job import Job
from ckgen.build.judge import Judge, rules_version
from ckgen.build.planned import Planned
from ckgen.build.pool import Limits, OnStanding, Outcome, run_jobs
from ckgen.build.result import Result
from ckgen.build.toolchain import Toolchain
from ckgen.model.arch import ArchSpec

OnResult = Callable[[Planned, Result, Outcome | None], None]


def build_planned(
    kernels: Iterable[Planned],
    toolchain: Toolchain,
    archs: Mapping[str, ArchSpec],
    cache: Cache,
    limits: Limits,
    on_result: OnResult,
    progress: OnStanding,
    *,
    also: Iterable[Job] = (),
    also_done: Callable[[Outcome], None] = lambda outcome: None,
) -> None:
    """`on_result` is called for every kernel once: those that are unavailable first, the others as they end.

    Jobs of `also` run among them; `also_done` hears of those.
    """
    judge = Judge(toolchain, archs, rules_version())
    wanted: dict[str, list[Planned]] = {}
    jobs: dict[str, Job] = {}
    for planned in kernels:
        if planned.unavailable:
            on_result(planned, judge.result(planned, None), None)
        else:
            job = device_job(planned.unit, toolchain)
            key = job.key
            jobs[key] = job
            wanted.setdefault(key, []).append(planned)
    further = {job.key: job for job in also}

    def done(outcome: Outcome) -> None:
        key = outcome.job.key
        if key in further:
            also_done(outcome)
        for planned in wanted.get(key, ()):
            on_result(planned, judge.result(planned, outcome), outcome)

    run_jobs([*jobs.values(), *further.values()], cache, limits, done, progress)
