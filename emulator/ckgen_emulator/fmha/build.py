"""An attention instance, compiled and gated for one arch, with its host unit."""

from __future__ import annotations

from dataclasses import dataclass

from ckgen.build.amd.toolchain import load
from ckgen.build.build_run import build_planned
from ckgen.build.cache import Cache, default_cache
from ckgen.build.compile import OBJECT, host_job
from ckgen.build.entry import Entry
from ckgen.build.planned import Planned, plan_host, plan_kernel
from ckgen.build.pool import OnStanding, Outcome, default_limits
from ckgen.build.result import Result
from ckgen.build.unit_files import code_objects
from ckgen.families.common.device.unit import fmha_symbol, prepare_symbol
from ckgen.families.fmha.instance import FmhaInstance
from ckgen.model.errors import UsageError
from ckgen.specs.archs import load_archs
from ckgen_emulator.fmha.call import link
from ckgen_emulator.fmha.run import FmhaKernel


@dataclass(frozen=True, slots=True)
class Compiled:
    """What the gate says of the device code, and the entries of device and host unit."""

    result: Result
    device: Entry
    host: Entry


def compile_units(instance: FmhaInstance, arch: str, progress: OnStanding = lambda standing: None) -> Compiled:
    """Both units of the instance; `progress` hears how far they are.

    UsageError with the compiler's words, or why there is no kernel.
    """
    planned = plan_kernel(instance, arch, [])
    if planned.unavailable:
        raise UsageError(planned.unavailable)
    toolchain, cache = load(), Cache(default_cache())
    results: list[tuple[Result, Outcome | None]] = []
    hosts: list[Outcome] = []

    def heard(_: Planned, result: Result, outcome: Outcome | None) -> None:
        results.append((result, outcome))

    host_unit = host_job(plan_host(instance, {arch: []}).unit, toolchain)
    build_planned(
        [planned], toolchain, load_archs(), cache, default_limits(1, retry=True), heard, progress,
        also=[host_unit], also_done=hosts.append,
    )  # fmt: skip
    ((result, device),), (host,) = results, hosts
    for one in (device, host):
        if one is None or not one.entry.ok:
            raise UsageError(f"{instance.name} does not compile:\n{one.entry.log[:2000] if one else ''}")
    assert device is not None
    return Compiled(result, device.entry, host.entry)


def build_kernel(
    instance: FmhaInstance, arch: str, progress: OnStanding = lambda standing: None
) -> tuple[Result, FmhaKernel]:
    """The gate's word and the kernel; UsageError as compile_units."""
    made = compile_units(instance, arch, progress)
    folder = default_cache() / "emulated" / "fmha"
    stages = fmha_symbol(instance.id)
    symbols = plan_host(instance, {arch: []}).symbols
    unit = made.host.output(OBJECT)
    library = link(unit, prepare_symbol(instance.id), arch, folder, stages if stages in symbols else "")
    code, *stages_around = code_objects(made.device.folder)
    assert not stages_around, f"{instance.name} is a plan of several launches"
    return made.result, FmhaKernel(instance, arch, code.read_bytes(), library)
