"""A static library of GPU code: packed code objects, host units, and the table that ties them, for Registry::attach."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ckgen.build.artefacts import OutFolder
from ckgen.build.cache import Cache
from ckgen.build.compile import OBJECT, Unit, host_job, roots
from ckgen.build.entry import Entry
from ckgen.build.job import Job
from ckgen.build.packed_code import pack_code
from ckgen.build.pool import Limits, Outcome, run_jobs
from ckgen.build.toolchain import Toolchain
from ckgen.emit.environment import environment
from ckgen.families.common.cpp import identifier
from ckgen.families.common.device.unit import COMPANIONS, prepare_symbol, workspace_symbol
from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.errors import InputError, UsageError
from ckgen.version import __version__

_PACKED = "packed"
_LEVEL = 9


@dataclass(frozen=True, slots=True)
class DeviceInstance:
    """One instance of the library: its name and id, its host unit and what that defines, its code objects by arch."""

    name: str
    id: int
    host: Entry
    objects: Mapping[str, tuple[Path, ...]]
    symbols: tuple[str, ...]


def emit_library(
    name: str,
    instances: tuple[DeviceInstance, ...],
    out: OutFolder,
    toolchain: Toolchain,
    cache: Cache,
    limits: Limits,
    failed: Callable[[Outcome], None],
) -> Path:
    """Writes lib<name>.a and device_library.hpp; the library's path.

    UsageError for a name that is no C++ identifier; InputError B002 where a step fails, after `failed` heard of it.
    """
    try:
        identifier(name)
    except ValueError as error:
        raise UsageError(f"--name: {error}") from None
    values = {"library": name, "version": __version__, "count": len(instances)}
    values["codes"] = [_code(instance, out) for instance in sorted(instances, key=lambda one: one.name)]
    header = out.write("device_library.hpp", _render("device/library.hpp.j2", values))
    table = _render("device/library.cpp.j2", values).replace('"device_library.hpp"', f'"{header.absolute()}"')
    jobs = (_objects_job(_render("device/objects.S.j2", values), toolchain), _table_job(table, toolchain))
    made = _run(jobs, cache, limits, failed)
    members = [made[job.key].output(OBJECT) for job in jobs]
    names = ("objects.o", "table.o")
    return _archive(
        name, [*zip(names, members, strict=True), *_hosts(instances)], out, toolchain, cache, limits, failed
    )


def _code(instance: DeviceInstance, out: OutFolder) -> dict[str, Any]:
    objects = []
    workspace = workspace_symbol(instance.id)
    places = ((arch, *one) for arch, of in sorted(instance.objects.items()) for one in enumerate(of))
    for arch, number, place in places:
        data = place.read_bytes()
        packed = pack_code(data, _LEVEL)
        mark = f"_{number}" if number else ""
        file = out.path / _PACKED / arch / f"{instance.name}{mark}.gz"
        if not file.is_file() or file.read_bytes() != packed:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(packed)
        objects.append(
            {
                "arch": identifier(arch),
                "symbol": f"ckgen_object_{instance.id:016x}_{arch}{mark}",
                "size": len(packed),
                "unpacked_size": len(data),
                "file": str(file.absolute()),
                "sha256": hashlib.sha256(packed).hexdigest(),
            }
        )
    return {
        "name": instance.name,
        "id": f"{instance.id:016x}",
        "prepare": prepare_symbol(instance.id),
        "objects": objects,
        "workspace": workspace if workspace in instance.symbols else "",
        "companions": _companions(instance),
    }


def _companions(instance: DeviceInstance) -> list[dict[str, str]]:
    """What its host unit defines beside the prepare function, up to the last that there is; no symbol: null."""
    symbols = [(kind, symbol(instance.id)) for kind, symbol in COMPANIONS]
    found = [{"type": kind, "symbol": symbol if symbol in instance.symbols else ""} for kind, symbol in symbols]
    while found and not found[-1]["symbol"]:
        found.pop()
    return found


def _hosts(instances: tuple[DeviceInstance, ...]) -> list[tuple[str, Path]]:
    return [(f"{one.id:016x}.o", one.host.output(OBJECT)) for one in instances]


def _objects_job(text: str, toolchain: Toolchain) -> Job:
    step = (*toolchain.assemble_host(), "-o", OBJECT, "unit.S")
    return Job(
        label="the library's code objects",
        family="table/objects",
        text=text,
        source="unit.S",
        steps=(step,),
        outputs=(OBJECT,),
        depfile="",
        identity=(toolchain.compiler_id,),
        roots=roots(toolchain),
    )


def _table_job(text: str, toolchain: Toolchain) -> Job:
    return host_job(Unit("the library's table", "", "", "", text), toolchain)


def _archive(
    name: str,
    members: list[tuple[str, Path]],
    out: OutFolder,
    toolchain: Toolchain,
    cache: Cache,
    limits: Limits,
    failed: Callable[[Outcome], None],
) -> Path:
    """`ar` over members under their own names, with no dates and owners in it."""
    file = f"lib{name}.a"
    folder = out.path / "members"
    for member, place in members:
        out.copy(place, folder / member)
    listed = "".join(f"{hashlib.sha256(place.read_bytes()).hexdigest()} {member}\n" for member, place in members)
    words = [str((folder / member).absolute()) for member, _ in members]
    job = Job(
        label=file,
        family="table/archive",
        text=listed,
        source="members.txt",
        steps=((*toolchain.archiver(), "rcsD", file, *words),),
        outputs=(file,),
        depfile="",
        identity=(toolchain.compiler_id,),
        roots=(*roots(toolchain),),
    )
    made = _run((job,), cache, limits, failed)
    place = out.path / file
    out.copy(made[job.key].output(file), place)
    shutil.rmtree(folder)
    return place


def _run(jobs: tuple[Job, ...], cache: Cache, limits: Limits, failed: Callable[[Outcome], None]) -> Mapping[str, Entry]:
    found: dict[str, Outcome] = {}
    run_jobs(jobs, cache, limits, lambda outcome: found.update({outcome.job.key: outcome}), lambda standing: None)
    for outcome in found.values():
        if not outcome.entry.ok:
            failed(outcome)
            message = f"could not make {outcome.job.label}: exit code {outcome.entry.code}"
            raise InputError([Diagnostic("B002", message, Location(outcome.job.label))])
    return {key: outcome.entry for key, outcome in found.items()}


def _render(template: str, values: Mapping[str, Any]) -> str:
    return environment().get_template(template).render(**values)
