"""Kernels to emulate as shared libraries, one each, that the dispatcher loads; the build context compiles them."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shlex
import shutil
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ckgen.build.amd.model import AmdToolchain
from ckgen.build.artefacts import OutFolder
from ckgen.build.build_run import build_planned
from ckgen.build.cache import Cache, default_cache
from ckgen.build.compile import OBJECT, Unit, host_job
from ckgen.build.entry import Entry
from ckgen.build.failure_text import failed_command, failure_text
from ckgen.build.judge import first_error
from ckgen.build.launcher import launcher_for
from ckgen.build.library import DeviceInstance, emit_library
from ckgen.build.planned import Planned
from ckgen.build.pool import Limits, OnStanding, Outcome, default_limits
from ckgen.build.result import Result
from ckgen.build.unit_files import code_objects
from ckgen.model.arch import ArchSpec
from ckgen.model.errors import InputError, UsageError
from ckgen_emulator.gemm.kernel import DEVICE_LIBRARY, KernelUnits


@dataclass(frozen=True, slots=True)
class BuildContext:
    """With what kernels are compiled, and where results are kept; `say` hears at once what fails."""

    toolchain: AmdToolchain
    archs: Mapping[str, ArchSpec]
    cache: Cache
    limits: Limits
    say: Callable[[str], None]
    progress: OnStanding


def default_context(
    toolchain: AmdToolchain,
    archs: Mapping[str, ArchSpec],
    say: Callable[[str], None],
    progress: OnStanding,
    jobs: int | None = None,
) -> BuildContext:
    """ckgen's own cache, the environment's launcher, and `jobs` compiles at once (None: one per core)."""
    cache = Cache(default_cache())
    limits = default_limits(jobs, launcher_for(toolchain.compiler, cache.folder))
    return BuildContext(toolchain, archs, cache, limits, say, progress)


@dataclass(frozen=True, slots=True)
class Built:
    """A kernel's shared library, or in a sentence why there is none."""

    library: Path | None
    failure_text: str = ""


def build_kernels(units: Iterable[KernelUnits], context: BuildContext) -> tuple[Built, ...]:
    """Every kernel in the order given. What the gate says of one does not matter here: it is run all the same."""
    wanted = tuple(units)
    devices: dict[tuple[str, str, str], tuple[Result, Entry | None]] = {}
    entries: dict[str, Entry] = {}

    def heard(planned: Planned, result: Result, outcome: Outcome | None) -> None:
        entry = outcome.entry if outcome is not None and outcome.entry.ok else None
        devices[planned.kernel, planned.arch, planned.text] = (result, entry)
        if entry is None and not planned.unavailable and (text := failure_text(result, outcome)):
            context.say(text)

    def host_done(outcome: Outcome) -> None:
        entries[outcome.job.key] = outcome.entry
        if not outcome.entry.ok:
            context.say(failed_command(outcome))

    pieces = [piece for one in wanted for piece in one.pieces]
    available = [one for one in wanted if not any(piece.device.unavailable for piece in one.pieces)]
    also = [host_job(_registry_unit(one), context.toolchain) for one in available]
    also += [host_job(piece.host.unit, context.toolchain) for one in available for piece in one.pieces]
    build_planned(
        [one.device for one in pieces],
        context.toolchain,
        context.archs,
        context.cache,
        context.limits,
        heard,
        context.progress,
        also=also,
        also_done=host_done,
    )
    return tuple(_linked(one, devices, entries, context) for one in wanted)


def _registry_unit(units: KernelUnits) -> Unit:
    return Unit(f"registry of {units.device.kernel}", "", "", "", units.registry)


def _linked(
    units: KernelUnits,
    devices: Mapping[tuple[str, str, str], tuple[Result, Entry | None]],
    entries: Mapping[str, Entry],
    context: BuildContext,
) -> Built:
    pieces: list[_Piece] = []
    for one in units.pieces:
        planned = one.device
        if planned.unavailable:
            return Built(None, planned.unavailable)
        result, device = devices[planned.kernel, planned.arch, planned.text]
        if device is None:
            errors = [finding.reason for finding in result.errors]
            return Built(None, f"does not compile: {errors[0] if errors else result.status.value}")
        pieces.append(_Piece(one, device, entries[host_job(one.host.unit, context.toolchain).key]))
    registry = entries[host_job(_registry_unit(units), context.toolchain).key]
    for entry in (*(piece.host for piece in pieces), registry):
        if not entry.ok:
            return Built(None, f"does not compile: {first_error(entry.log)}")
    try:
        return Built(_link(pieces, registry, context))
    except InputError as error:
        return Built(None, str(error))


@dataclass(frozen=True, slots=True)
class _Piece:
    """An instance with device code, compiled."""

    units: KernelUnits
    device: Entry
    host: Entry

    @property
    def instance(self) -> DeviceInstance:
        """As a library takes it."""
        planned = self.units.device
        code = {planned.arch: code_objects(self.device.folder)}
        return DeviceInstance(planned.kernel, planned.id, self.host, code, self.units.host.symbols)


def _link(pieces: Sequence[_Piece], registry: Entry, context: BuildContext) -> Path:
    """The library, from the cache where its parts are the same."""
    entry = registry.output(OBJECT)
    parts = [part for one in pieces for part in (*code_objects(one.device.folder), one.host.output(OBJECT))]
    digest = hashlib.sha256(pieces[0].units.device.arch.encode())
    for part in (*parts, entry):
        digest.update(hashlib.sha256(part.read_bytes()).digest())
    name = digest.hexdigest()
    folder = context.cache.folder / "emulated" / name[:2] / name
    library = folder / "kernel.so"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if library.is_file():
            return library
        work = OutFolder(folder / "work")
        archive = emit_library(
            DEVICE_LIBRARY,
            tuple(one.instance for one in pieces),
            work,
            context.toolchain,
            context.cache,
            context.limits,
            lambda outcome: context.say(failed_command(outcome)),
        )
        made = work.path / library.name
        constants = f"-Wl,-u,ckgen_{DEVICE_LIBRARY}_device_library"  # what nothing names the linker would leave out
        compiler = shlex.split(os.environ.get("CXX") or "g++")
        _run([*compiler, "-shared", constants, "-o", str(made), str(entry), str(archive)])
        made.replace(library)
        shutil.rmtree(work.path)
    return library


def _run(command: list[str]) -> None:
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise UsageError(f"a C++ compiler is needed to link ({command[0]}): {error.strerror}") from error
    if done.returncode:
        raise UsageError(f"{shlex.join(command)}\n{done.stderr.strip()}")
