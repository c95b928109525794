"""Jobs that make units: device code for one arch, compiled or taken as shipped, host code, and tables of constants."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass
from pathlib import Path

from ckgen import paths
from ckgen.build.amd.pins import Role, pins
from ckgen.build.flags import Flags, Trait, flags_of
from ckgen.build.job import Job, Root
from ckgen.build.toolchain import Steps, Toolchain
from ckgen.build.unit_files import ASSEMBLY, CODE_OBJECT, DEPENDENCIES, OBJECT
from ckgen.model.backend import Backend
from ckgen.specs.archs import processor_of

__all__ = ["ASSEMBLY", "CODE_OBJECT", "OBJECT", "Unit", "device_job", "flags_for", "host_job", "is_compiled", "roots"]

_OF_LIBRARIES = (Backend.CK.value, Backend.CK_TILE.value)
"""Backends whose host units include headers of CK, which are written in HIP."""

_LIST = "unit.txt"
_TAKE = "build/take_object.py"


@dataclass(frozen=True, slots=True)
class Unit:
    """The text of a unit and what its flags depend on; `arch` is empty for a host unit."""

    label: str
    backend: str
    module: str
    arch: str
    text: str


def flags_for(unit: Unit, toolchain: Toolchain) -> Flags:
    """The unit's flags: its trait is told by whether it has an arch."""
    trait = Trait.DEVICE if unit.arch else Trait.HOST
    return flags_of(str(toolchain.vendor), toolchain.flag_kind, unit.backend, unit.module, trait)


def is_compiled(backend: str) -> bool:
    """Whether device code of the backend is compiled; else it is taken as it is shipped, and has no assembly."""
    return backend != Backend.ASM.value


def device_job(unit: Unit, toolchain: Toolchain) -> Job:
    """Assembly from one compile, and the code object that is made from it; or the code object that is shipped."""
    if not is_compiled(unit.backend):
        return _taking_job(unit, toolchain)
    steps = toolchain.device_steps(processor_of(unit.arch), _options(unit, toolchain))
    family = f"device/{unit.backend}/{unit.module or 'dense'}/{unit.arch}"
    return _job(unit, toolchain, family, toolchain.device_source, steps, (ASSEMBLY, CODE_OBJECT))


def _taking_job(unit: Unit, toolchain: Toolchain) -> Job:
    pin = pins()[Role.CK]
    wheel, tool = toolchain.prefix / "downloads" / pin.file, paths.package_dir() / _TAKE
    return Job(
        label=unit.label,
        family=f"device/{unit.backend}",
        text=unit.text,
        source=_LIST,
        steps=((sys.executable, "-I", str(tool), str(wheel), _LIST, unit.arch, CODE_OBJECT),),
        outputs=(CODE_OBJECT,),
        depfile="",
        identity=(pin.sha256,),
        roots=(
            Root("python", Path(sys.executable)),
            Root("package", paths.package_dir()),
            Root("prefix", toolchain.prefix),
        ),
    )


def host_job(unit: Unit, toolchain: Toolchain) -> Job:
    """An x86-64 object with the functions that prepare launches, or constants where the unit has no backend."""
    mark = hashlib.sha256(unit.text.encode()).hexdigest()[:16]
    steps = toolchain.host_steps(_options(unit, toolchain), mark, plain=unit.backend not in _OF_LIBRARIES)
    return _job(
        unit, toolchain, f"host/{unit.backend}/{unit.module or 'dense'}", toolchain.host_source, steps, (OBJECT,)
    )


def roots(toolchain: Toolchain) -> tuple[Root, ...]:
    """The folders that commands and headers are told by."""
    return (Root("ckgen", paths.dispatcher_dir()), Root("toolchain", toolchain.root), Root("prefix", toolchain.prefix))


def _options(unit: Unit, toolchain: Toolchain) -> tuple[str, ...]:
    flags = flags_for(unit, toolchain)
    includes = (f"-I{folder}" for folder in _own(flags))
    return (*flags.words, *includes)


def _own(flags: Flags) -> tuple[Path, ...]:
    return tuple(paths.dispatcher_dir() / folder for folder in flags.includes)


def _job(unit: Unit, toolchain: Toolchain, family: str, source: str, steps: Steps, outputs: tuple[str, ...]) -> Job:
    return Job(
        label=unit.label,
        family=family,
        text=unit.text,
        source=source,
        steps=steps,
        outputs=outputs,
        depfile=DEPENDENCIES,
        identity=toolchain.identity_parts,
        roots=roots(toolchain),
        fixed=toolchain.fixed,
        own=(*toolchain.own, *_own(flags_for(unit, toolchain))),
    )
