"""One build: device code of the wanted kernels, their host units, and what `--emit` makes of both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ckgen.build.artefacts import SIGNATURES, Emit, OutFolder
from ckgen.build.build_run import build_planned
from ckgen.build.cache import Cache
from ckgen.build.compile import host_job
from ckgen.build.entry import Entry
from ckgen.build.failure_text import failed_command, failure_text
from ckgen.build.judge import first_error
from ckgen.build.library import DeviceInstance, emit_library
from ckgen.build.planned import Planned, PlannedHost
from ckgen.build.pool import Limits, OnStanding, Outcome
from ckgen.build.result import Result, ResultFinding
from ckgen.build.toolchain import Toolchain
from ckgen.build.unit_files import code_objects
from ckgen.build.wanted import Wanted
from ckgen.model.arch import ArchSpec


@dataclass(frozen=True, slots=True)
class BuildRequest:
    """What to leave in which folder; `name` is the library's and its namespace's."""

    emit: Emit
    out: Path
    name: str


def build(
    request: BuildRequest,
    wanted: Wanted,
    toolchain: Toolchain,
    archs: Mapping[str, ArchSpec],
    cache: Cache,
    limits: Limits,
    say: Callable[[str], None],
    progress: OnStanding,
) -> tuple[Result, ...]:
    """Every kernel's result, by kernel and arch; `say` hears at once of each that fails.

    A library holds what passed; a kernel whose host unit does not compile has not.
    """
    out = OutFolder(request.out, toolchain.code_suffix)
    hosts = wanted.hosts if request.emit is not Emit.ASM else ()
    out.keep_sources(wanted.kernels, hosts, toolchain)
    host_of = {host_job(host.unit, toolchain).key: host for host in hosts}
    results: dict[tuple[str, str], Result] = {}
    entries: dict[tuple[str, str], Entry] = {}
    host_entries: dict[str, Entry] = {}
    failed_hosts: dict[str, Outcome] = {}

    def heard(planned: Planned, result: Result, outcome: Outcome | None) -> None:
        results[planned.kernel, planned.arch] = result
        if outcome is not None and outcome.entry.ok:
            entries[planned.kernel, planned.arch] = outcome.entry
            out.keep_device(planned, outcome.entry, request.emit)
        text = failure_text(result, outcome)
        if text:
            say(text)

    def host_done(outcome: Outcome) -> None:
        host = host_of[outcome.job.key]
        if outcome.entry.ok:
            host_entries[host.kernel] = outcome.entry
            out.keep_host(host, outcome.entry)
        else:
            failed_hosts[host.kernel] = outcome
            say(failed_command(outcome))

    jobs = [host_job(host.unit, toolchain) for host in hosts]
    build_planned(wanted.kernels, toolchain, archs, cache, limits, heard, progress, also=jobs, also_done=host_done)
    for (kernel, arch), result in results.items():
        if kernel in failed_hosts:
            entry = failed_hosts[kernel].entry
            finding = ResultFinding("host_unit", "error", first_error(entry.log), f"exit code {entry.code}", 0)
            results[kernel, arch] = replace(result, findings=(*result.findings, finding))
    ordered = tuple(results[place] for place in sorted(results))
    out.keep_report(ordered)
    if request.emit is Emit.LIBRARY:
        shipped = _shipped(wanted.hosts, ordered, entries, host_entries)
        emit_library(request.name, shipped, out, toolchain, cache, limits, lambda outcome: say(failed_command(outcome)))
        names = {one.name for one in shipped}
        signatures = sorted({result.signature for result in ordered if result.kernel in names})
        out.write(SIGNATURES, "".join(f"{signature}\n" for signature in signatures))
    return ordered


def _shipped(
    hosts: tuple[PlannedHost, ...],
    results: tuple[Result, ...],
    entries: Mapping[tuple[str, str], Entry],
    host_entries: Mapping[str, Entry],
) -> tuple[DeviceInstance, ...]:
    """The instances that passed on an arch, with the code objects of those archs."""
    objects: dict[str, dict[str, tuple[Path, ...]]] = {}
    for result in results:
        if result.passed:
            places = code_objects(entries[result.kernel, result.arch].folder)
            objects.setdefault(result.kernel, {})[result.arch] = places
    return tuple(
        DeviceInstance(host.kernel, host.id, host_entries[host.kernel], objects[host.kernel], host.symbols)
        for host in hosts
        if host.kernel in objects and host.kernel in host_entries
    )
