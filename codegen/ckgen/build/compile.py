"""Jobs that make units: device code for one arch, compiled or taken as shipped, host code, and tables of constants."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass
from pathlib import Path

from ckgen import paths
from ckgen.build.amd.model import AmdToolchain
from ckgen.build.amd.pins import Role, pins
from ckgen.build.flags import Flags, Trait, flags_of
from ckgen.build.job import Job, Root
from ckgen.model.backend import Backend
from ckgen.specs.archs import processor_of

ASSEMBLY = "unit.s"
CODE_OBJECT = "unit.hsaco"
OBJECT = "unit.o"
_SOURCE = "unit.hip"
_LIST = "unit.txt"
_TAKE = "build/take_object.py"
_DEPENDENCIES = "unit.d"
_LIST_HEADERS = tuple(
    word
    for argument in ("-dependency-file", _DEPENDENCIES, "-sys-header-deps", "-MT", OBJECT)
    for word in ("-Xclang", argument)
)
"""As -MD, which the driver passes to host compiles only."""


@dataclass(frozen=True, slots=True)
class Unit:
    """The text of a unit and what its flags depend on; `arch` is empty for a host unit."""

    label: str
    backend: str
    module: str
    arch: str
    text: str


def flags_for(unit: Unit, toolchain: AmdToolchain) -> Flags:
    """The unit's flags: its trait is told by whether it has an arch."""
    trait = Trait.DEVICE if unit.arch else Trait.HOST
    return flags_of(toolchain.kind.value, unit.backend, unit.module, trait)


def is_compiled(backend: str) -> bool:
    """Whether device code of the backend is compiled; else it is taken as it is shipped, and has no assembly."""
    return backend != Backend.ASM.value


def device_job(unit: Unit, toolchain: AmdToolchain) -> Job:
    """Assembly from one compile, and the code object that is made from it; or the code object that is shipped."""
    if not is_compiled(unit.backend):
        return _taking_job(unit, toolchain)
    processor = processor_of(unit.arch)
    steps = (
        (*toolchain.device(processor), *_options(unit, toolchain), "-S", "-o", ASSEMBLY, _SOURCE),
        (*toolchain.assemble(processor), "-o", OBJECT, ASSEMBLY),
        (*toolchain.link(), "-o", CODE_OBJECT, OBJECT),
    )
    return _job(unit, toolchain, f"device/{unit.backend}/{unit.module or 'dense'}/{unit.arch}", steps,
                (ASSEMBLY, CODE_OBJECT))  # fmt: skip


def _taking_job(unit: Unit, toolchain: AmdToolchain) -> Job:
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


def host_job(unit: Unit, toolchain: AmdToolchain) -> Job:
    """An x86-64 object with the functions that prepare launches."""
    # clang names a symbol by this: by default the same one in every unit of the same file name
    cuid = f"-cuid={hashlib.sha256(unit.text.encode()).hexdigest()[:16]}"
    steps = ((*toolchain.host(), *_options(unit, toolchain), cuid, "-c", "-o", OBJECT, _SOURCE),)
    return _job(unit, toolchain, f"host/{unit.backend}/{unit.module or 'dense'}", steps, (OBJECT,))


def roots(toolchain: AmdToolchain) -> tuple[Root, ...]:
    """The folders that commands and headers are told by."""
    return (Root("ckgen", paths.dispatcher_dir()), Root("toolchain", toolchain.root), Root("prefix", toolchain.prefix))


def _options(unit: Unit, toolchain: AmdToolchain) -> tuple[str, ...]:
    flags = flags_for(unit, toolchain)
    includes = (f"-I{folder}" for folder in _own(flags))
    return (*flags.words, *includes, *_LIST_HEADERS)


def _own(flags: Flags) -> tuple[Path, ...]:
    return tuple(paths.dispatcher_dir() / folder for folder in flags.includes)


def _job(
    unit: Unit, toolchain: AmdToolchain, family: str, steps: tuple[tuple[str, ...], ...], outputs: tuple[str, ...]
) -> Job:
    tree = (Root(f"ck{number}", path) for number, path in enumerate(toolchain.ck.includes))
    return Job(
        label=unit.label,
        family=family,
        text=unit.text,
        source=_SOURCE,
        steps=steps,
        outputs=outputs,
        depfile=_DEPENDENCIES,
        identity=(toolchain.compiler_id, toolchain.ck.id, toolchain.libstdcxx or ""),
        roots=roots(toolchain),
        fixed=(*tree, Root("prefix", toolchain.prefix)),
        own=(*toolchain.own, *_own(flags_for(unit, toolchain))),
    )
