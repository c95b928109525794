"""Jobs that make units: device code for one arch, compiled or taken as shipped, host code, and tables of constants."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from ckgen import paths
from ckgen.build.amd.pins import Role, pins
from ckgen.build.flags import Flags, Trait, flags_of
from ckgen.build.job import Job, Root
from ckgen.build.toolchain import Steps, Toolchain
from ckgen.build.unit_files import ASSEMBLY, CODE_OBJECT, DEPENDENCIES, OBJECT, SHIPPED_OBJECT
from ckgen.model.backend import Backend
from ckgen.specs.archs import processor_of

__all__ = ["ASSEMBLY", "CODE_OBJECT", "OBJECT", "Unit", "device_job", "flags_for", "host_job", "roots"]

_OF_LIBRARIES = (Backend.CK.value, Backend.CK_TILE.value)
"""Backends whose host units include headers of CK, which are written in HIP."""

_LIST = "unit.txt"
_TAKE = "build/take_object.py"


@dataclass(frozen=True, slots=True)
class Unit:
    """The text of a unit and what its flags depend on; `arch` is empty for a host unit.

    A device unit of a shipped kernel is the list of its code objects; `stages` are HIP that is compiled beside them,
    empty where the kernel needs none.
    """

    label: str
    backend: str
    module: str
    arch: str
    text: str
    stages: str = ""

    @property
    def compiled(self) -> Unit | None:
        """What is compiled: the unit itself, of a shipped kernel its stages; None where nothing is."""
        if self.backend != Backend.ASM.value or not self.arch:
            return self
        return replace(self, backend=Backend.HIP.value, text=self.stages, stages="") if self.stages else None


def flags_for(unit: Unit, toolchain: Toolchain) -> Flags:
    """The unit's flags: its trait is told by whether it has an arch."""
    trait = Trait.DEVICE if unit.arch else Trait.HOST
    return flags_of(str(toolchain.vendor), toolchain.flag_kind, unit.backend, unit.module, trait)


def device_job(unit: Unit, toolchain: Toolchain) -> Job:
    """Assembly from one compile, and the code object that is made from it; the code object that is shipped; or both."""
    compiled = unit.compiled
    if compiled is None:
        return _taking_job(unit, toolchain)
    steps = toolchain.device_steps(processor_of(unit.arch), _options(compiled, toolchain))
    family = f"device/{compiled.backend}/{unit.module or 'dense'}/{unit.arch}"
    job = _job(compiled, toolchain, family, toolchain.device_source, steps, (ASSEMBLY, CODE_OBJECT))
    return job if compiled is unit else _with_taken(job, _taking_job(unit, toolchain))


def _with_taken(job: Job, taken: Job) -> Job:
    """One job of both, whose identity is the compile's: the list names what is taken by its sha256."""
    return replace(
        job,
        family=f"{taken.family}/stages",
        steps=(*taken.steps, *job.steps),
        outputs=(*taken.outputs, *job.outputs),
        roots=tuple(dict.fromkeys((*job.roots, *taken.roots))),
        beside=((taken.source, taken.text),),
    )


def _taking_job(unit: Unit, toolchain: Toolchain) -> Job:
    pin = pins()[Role.CK]
    wheel, tool = toolchain.prefix / "downloads" / pin.file, paths.package_dir() / _TAKE
    return Job(
        label=unit.label,
        family=f"device/{unit.backend}",
        text=unit.text,
        source=_LIST,
        steps=((sys.executable, "-I", str(tool), str(wheel), _LIST, unit.arch, SHIPPED_OBJECT),),
        outputs=(SHIPPED_OBJECT,),
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
