"""`ckgen amd-check`: every kernel that the tables name, compiled and judged on its arch, into a journal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from ckgen.build.build_run import build_planned
from ckgen.build.cache import Cache
from ckgen.build.compile import OBJECT, host_job
from ckgen.build.job import Job
from ckgen.build.journal import Checked, CheckedHost, Journal
from ckgen.build.named import NamedKernel
from ckgen.build.planned import Planned, plan_host, plan_kernel
from ckgen.build.pool import Limits, OnStanding, Outcome
from ckgen.build.result import Result
from ckgen.build.toolchain import Toolchain
from ckgen.model.arch import ArchSpec


def sample(kernels: Iterable[NamedKernel]) -> tuple[NamedKernel, ...]:
    """The first kernel by name of every module, library and arch."""

    def group(kernel: NamedKernel) -> tuple[str, str, str]:
        return (kernel.module, kernel.library, kernel.arch)

    return tuple(next(found) for _, found in groupby(sorted(kernels, key=lambda k: (*group(k), k.name)), group))


def check(
    kernels: Sequence[NamedKernel],
    toolchain: Toolchain,
    archs: Mapping[str, ArchSpec],
    cache: Cache,
    limits: Limits,
    journal: Journal,
    heard: Callable[[Checked, Outcome | None], None],
    progress: OnStanding,
) -> tuple[Checked, ...]:
    """Checks all kernels, in the order of reports; what the journal already says is not written again.

    One host unit of every module and library is compiled too, for the journal's figures.
    """
    known, known_hosts = journal.read(), journal.hosts()
    by_planned: dict[tuple[str, str, str], NamedKernel] = {}
    planned: list[Planned] = []
    for kernel in kernels:
        one = plan_kernel(kernel.instance, kernel.arch, kernel.uses)
        by_planned[one.kernel, one.table_name, one.arch] = kernel
        planned.append(one)
    found: dict[tuple[str, str, str, str], Checked] = {}

    def note(one: Planned, result: Result, outcome: Outcome | None) -> None:
        kernel = by_planned[one.kernel, one.table_name, one.arch]
        operand = str(kernel.instance.signature.a)
        checked = Checked(
            kernel.module, kernel.library, kernel.name, kernel.arch, operand, kernel.rows, kernel.signatures, result
        )
        if known.get(checked.place) != checked:
            journal.append(checked)
        found[checked.place] = checked
        heard(checked, outcome)

    hosts = dict(_hosts(kernels, planned, toolchain))

    def note_host(outcome: Outcome) -> None:
        host = _checked_host(hosts[outcome.job.key][0], outcome)
        if known_hosts.get(host.place) != host:
            journal.append(host)

    jobs = [job for _, job in hosts.values()]
    build_planned(planned, toolchain, archs, cache, limits, note, progress, also=jobs, also_done=note_host)
    return tuple(found[place] for place in sorted(found))


def _hosts(
    kernels: Sequence[NamedKernel], planned: Sequence[Planned], toolchain: Toolchain
) -> Iterator[tuple[str, tuple[NamedKernel, Job]]]:
    """By job key, the first kernel by name of every module and library that has device code, and its host unit."""
    available = (kernel for kernel, one in zip(kernels, planned, strict=True) if not one.unavailable)
    ordered = sorted(available, key=lambda kernel: (kernel.module, kernel.library, kernel.name, kernel.arch))
    for _, group in groupby(ordered, lambda kernel: (kernel.module, kernel.library)):
        kernel = next(group)
        job = host_job(plan_host(kernel.instance, {kernel.arch: kernel.uses}).unit, toolchain)
        yield job.key, (kernel, job)


def _checked_host(kernel: NamedKernel, outcome: Outcome) -> CheckedHost:
    entry = outcome.entry
    return CheckedHost(
        module=kernel.module,
        library=kernel.library,
        kernel=kernel.instance.name,
        ok=entry.ok,
        seconds=entry.seconds,
        cpu_seconds=entry.cpu_seconds,
        peak_mb=entry.peak_mb,
        object_bytes=entry.output(OBJECT).stat().st_size if entry.ok else 0,
    )
