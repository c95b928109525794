"""Jobs that compile units: device code for one arch, host code, and tables of constants."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from ckgen import paths
from ckgen.build.amd.model import AmdToolchain
from ckgen.build.flags import Flags, Trait, flags_of
from ckgen.build.job import Job, Root

ASSEMBLY = "unit.s"
CODE_OBJECT = "unit.hsaco"
OBJECT = "unit.o"
_SOURCE = "unit.hip"
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


def device_job(unit: Unit, toolchain: AmdToolchain) -> Job:
    """Assembly from one compile, and the code object that is assembled and linked from it."""
    steps = (
        (*toolchain.device(unit.arch), *_options(unit, toolchain), "-S", "-o", ASSEMBLY, _SOURCE),
        (*toolchain.assemble(unit.arch), "-o", OBJECT, ASSEMBLY),
        (*toolchain.link(), "-o", CODE_OBJECT, OBJECT),
    )
    return _job(unit, toolchain, f"device/{unit.backend}/{unit.module or 'dense'}/{unit.arch}", steps,
                (ASSEMBLY, CODE_OBJECT))  # fmt: skip


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
