"""The summary of a check: one JSON document, from the journal's results and the names that the tables have."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from ckgen.build.journal import Checked, CheckedHost, CheckedRun
from ckgen.build.named import NamedKernel
from ckgen.build.result import Result, Status

SCHEMA = "ckgen.amd_check/1"
CORES = 16
_FIGURES = (
    "vgpr",
    "agpr",
    "sgpr",
    "spills",
    "scratch",
    "lds",
    "code_bytes",
    "object_bytes",
    "packed_bytes",
    "variants",
)


def summarize(
    checked: Sequence[Checked],
    hosts: Sequence[CheckedHost] = (),
    named: Sequence[NamedKernel] = (),
    runs: Sequence[CheckedRun] = (),
) -> dict[str, Any]:
    """The document; kernels in the order of reports, whatever the order of `checked`. `hosts` are samples.

    `named` is what the tables ask for, checked or not; what was checked counts as named in any case. `runs` are what
    the emulator executed; none: nothing was.
    """
    ordered = sorted(checked, key=lambda one: one.place)
    places = {one.place for one in ordered}
    runs = [one for one in runs if one.place in places]
    kinds = {(one.module, one.library) for one in ordered}
    hosts = [one for one in hosts if (one.module, one.library) in kinds]
    asked = {(one.module, one.library, one.operand, one.arch, one.name) for one in ordered}
    asked |= {(one.module, one.library, str(one.instance.signature.a), one.arch, one.name) for one in named}
    built = [one for one in ordered if one.result.status is Status.BUILT]
    return {
        "schema": SCHEMA,
        "compilers": sorted({one.result.compiler for one in ordered}),
        "totals": {
            "names": len({name for *_, name in asked}),
            "named": len(asked),
            "not_checked": len(asked) - len(ordered),
            **_totals(ordered),
        },
        "matrix": _matrix(ordered, asked, runs),
        "cost": _cost(built),
        "library": _library(built, hosts),
        "host_units": [
            {name: value for name, value in host.to_json().items() if name != "schema"}
            for host in sorted(hosts, key=lambda one: one.place)
        ],
        "not_built": [_not_built(one) for one in ordered if one.result.status is not Status.BUILT],
        "not_passed": [
            {"name": one.name, "module": one.module, "arch": one.arch, "findings": _findings(one.result, "error")}
            for one in built
            if one.result.errors
        ],
        "kernels": [_kernel(one) for one in ordered],
        "runs": [_run(one) for one in sorted(runs, key=lambda one: one.place)],
    }


def makespan(seconds: Iterable[float], workers: int) -> float:
    """How long the jobs take side by side, the longest first, each by one worker."""
    ends = [0.0] * workers
    for each in sorted(seconds, reverse=True):
        heapq.heappush(ends, heapq.heappop(ends) + each)
    return max(ends)


def _totals(checked: Sequence[Checked]) -> dict[str, Any]:
    status = Counter(one.result.status for one in checked)
    return {
        "emitted": len(checked) - status[Status.UNAVAILABLE],
        "compiled": status[Status.BUILT],
        "gated": sum(one.result.passed for one in checked),
        "failed": status[Status.FAILED],
        "unavailable": status[Status.UNAVAILABLE],
        "variants": sum(one.result.figures.variants for one in checked if one.result.figures is not None),
        "rows": sum(one.rows for one in checked),
    }


def _matrix(
    checked: Sequence[Checked], asked: Iterable[tuple[str, ...]], runs: Sequence[CheckedRun]
) -> list[dict[str, Any]]:
    """`executed`: right on the emulator; `clean`: without a finding besides. None where nothing was executed at all."""
    ran = {run.place: run for run in runs}
    rows = []
    for cell, names in sorted(Counter(kernel[:4] for kernel in asked).items()):
        module, library, operand, arch = cell
        members = [one for one in checked if (one.module, one.library, one.operand, one.arch) == cell]
        totals = _totals(members)
        executed = [ran[one.place] for one in members if one.place in ran and ran[one.place].right]
        rows.append(
            {
                "family": "gemm",
                "module": module,
                "library": library,
                "dtype": operand,
                "arch": arch,
                "named": names,
                **{name: totals[name] for name in ("emitted", "compiled", "gated")},
                "executed": len(executed) if ran else None,
                "clean": sum(not run.findings for run in executed) if ran else None,
                "not_verified_on_hardware": totals["compiled"],
            }
        )
    return rows


def _cost(built: Sequence[Checked]) -> dict[str, Any]:
    """What the compiles took; wall seconds on a machine that may have done other things besides."""
    wall = [one.result.seconds or 0.0 for one in built]
    cpu = [one.result.cpu_seconds or 0.0 for one in built]
    peaks = [one.result.peak_mb or 0.0 for one in built]
    return {
        "compiles": len(built),
        "wall_seconds": round(sum(wall), 1),
        "cpu_seconds": round(sum(cpu), 1),
        "median_cpu_seconds": _median(cpu),
        "largest_cpu_seconds": max(cpu, default=0.0),
        "over_35_cpu_seconds": sum(each > 35 for each in cpu),
        "largest_peak_mb": max(peaks, default=0.0),
        "over_1024_mb": sum(peak > 1024 for peak in peaks),
    }


def _library(built: Sequence[Checked], hosts: Sequence[CheckedHost]) -> dict[str, Any]:
    """A library of all that passed on its arch: one instance per signature, by the figures of the one compiled.

    The host unit of an instance is taken to be like the sample of its module and library; it serves all archs, and is
    counted where an instance's name stands first.
    """
    shipped = [one for one in built if one.result.passed]
    by_arch = []
    for arch, group in groupby(sorted(shipped, key=lambda one: one.arch), lambda one: one.arch):
        by_arch.append({"arch": arch, **_sizes(list(group))})
    samples = {(host.module, host.library): host for host in hosts if host.ok}
    units: dict[tuple[str, str, str, str], tuple[int, CheckedHost]] = {}
    for one in shipped:
        sample = samples.get((one.module, one.library))
        if sample is not None:
            units[one.module, one.library, one.name, one.operand] = (one.signatures, sample)
    device = [one.result.cpu_seconds or 0.0 for one in shipped for _ in range(one.signatures)]
    host = [sample.cpu_seconds for count, sample in units.values() for _ in range(count)]
    peaks = [one.result.peak_mb or 0.0 for one in shipped]
    return {
        "by_arch": by_arch,
        **_sizes(shipped),
        "host_units": len(host),
        "host_object_bytes": sum(count * sample.object_bytes for count, sample in units.values()),
        "cores": CORES,
        "device_cpu_seconds": round(sum(device), 1),
        "host_cpu_seconds": round(sum(host), 1),
        "seconds_on_cores": round(makespan([*device, *host], CORES), 1),
        "memory_mb_on_cores": round(CORES * max(peaks, default=0.0)),
    }


def _sizes(ones: Sequence[Checked]) -> dict[str, Any]:
    objects = [(one.signatures, one.result.figures) for one in ones if one.result.figures is not None]
    count = sum(number for number, _ in objects)
    packed = sum(number * figures.packed_bytes for number, figures in objects)
    return {
        "code_objects": count,
        "kernels": sum(number * figures.variants for number, figures in objects),
        "object_bytes": sum(number * figures.object_bytes for number, figures in objects),
        "packed_bytes": packed,
        "packed_bytes_each": round(packed / count) if count else 0,
    }


def _not_built(one: Checked) -> dict[str, Any]:
    reason = one.result.findings[0].reason if one.result.findings else ""
    return {
        "name": one.name,
        "module": one.module,
        "library": one.library,
        "arch": one.arch,
        "status": one.result.status.value,
        "reason": reason,
    }


def _kernel(one: Checked) -> dict[str, Any]:
    result, figures = one.result, one.result.figures
    return {
        "name": one.name,
        "module": one.module,
        "library": one.library,
        "dtype": one.operand,
        "arch": one.arch,
        "rows": one.rows,
        "signatures": one.signatures,
        "instance": result.kernel,
        "status": result.status.value,
        "gated": result.passed,
        "flags": result.flags,
        "seconds": result.seconds,
        "cpu_seconds": result.cpu_seconds,
        "peak_mb": result.peak_mb,
        "matrix_ops": dict(figures.matrix_ops) if figures is not None else None,
        **{name: getattr(figures, name) if figures is not None else None for name in _FIGURES},
        "errors": _findings(result, "error"),
        "warnings": _findings(result, "warning"),
    }


def _run(one: CheckedRun) -> dict[str, Any]:
    return {name: value for name, value in one.to_json().items() if name != "schema"}


def _findings(result: Result, severity: str) -> list[str]:
    """Each once, however many variants it is found in."""
    found = (f"{one.rule}: {one.reason}" for one in result.findings if one.severity == severity)
    return list(dict.fromkeys(found))


def _median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    return ordered[len(ordered) // 2] if ordered else 0.0
