"""The library that is measured: generated and built for the problems asked, once per checkout, then reused."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ckgen import paths
from ckgen.build.packages.place import cache_room
from ckgen.build.runtime_library import RuntimeProject, build_runtime
from ckgen.fuzz.decision import target_named
from ckgen.fuzz.space import Space
from ckgen.model.arch import CPU_LEVELS
from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.errors import InputError
from ckgen.model.target import Target
from ckgen.plan.options import PlanOptions
from ckgen.plan.planner import make_plan
from ckgen.specs.archs import load_archs
from ckgen.tables.load import find_tables
from ckgen.version import __version__

NAME = "ckgen_benched"
_MANIFEST = "library.json"


def device_name(name: str) -> str:
    """The library of GPU code of a generated library, as CMake builds it."""
    return f"{name}_device"


@dataclass(frozen=True, slots=True)
class Contents:
    """What a library is made of: for one target, kernels of these ops and signatures (all where none is named), with
    those tables and further kernel sets. Equal contents make equal plans. twins: of a GPU's kernels only what runs on a
    CPU."""

    target: Target
    ops: tuple[str, ...]
    signatures: tuple[str, ...] = ()
    tuning: tuple[Path, ...] = ()
    kernel_sets: tuple[Path, ...] = ()
    twins: bool = False

    def options(self) -> PlanOptions:
        """What a plan of it is asked for."""
        return PlanOptions(
            targets=(self.target,),
            ops=frozenset(self.ops),
            tuning=self.tuning or paths.shipped_tables(),
            kernel_sets=self.kernel_sets,
            signatures=self.signatures,
        )

    def space(self) -> Space:
        """The plan, made now."""
        archs = load_archs()
        return Space(make_plan(self.options(), archs), archs)

    def text(self) -> str:
        """One line; `contents_of` reads it."""
        lists = {name: list(map(str, getattr(self, name))) for name in _LISTS}
        return json.dumps({"target": str(self.target), **lists, "twins": self.twins})


_LISTS = ("ops", "signatures", "tuning", "kernel_sets")


def contents_of(text: str) -> Contents:
    """The inverse of `Contents.text`."""
    found: dict[str, Any] = json.loads(text)
    return Contents(
        target_named(found["target"]),
        tuple(found["ops"]),
        tuple(found["signatures"]),
        tuple(map(Path, found["tuning"])),
        tuple(map(Path, found["kernel_sets"])),
        found["twins"],
    )


def build_library(contents: Contents, say: Callable[[str], None], work: Path | None = None) -> Path:
    """Generates and builds what is not up to date; errors as build_runtime's, UsageError for tables that are not there.

    With a folder `work` a copy lies there, which `carried_library` finds on another machine.
    """
    find_tables(contents.tuning)
    words = (__version__, paths.root().as_posix(), contents.text())
    folder = cache_room("bench") / hashlib.sha256("\0".join(words).encode()).hexdigest()[:16]
    library = build_runtime(_project(contents, folder), say)
    return library if work is None else _carry(contents, library, work)


def carried_library(contents: Contents, work: Path) -> Path | None:
    """The library of these contents that was built into a folder, here or elsewhere; None where there is none.

    InputError B005 where it is not the one that was built.
    """
    place = work / _key(contents)
    try:
        manifest = json.loads((place / _MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    library: Path = place / manifest["library"]
    if not library.is_file() or digest_of(library) != manifest["digest"]:
        message = f"not the library that was built there, whose digest is {manifest['digest']}"
        hint = "build it again with --build-only, or remove the folder"
        raise InputError([Diagnostic("B005", message, Location(str(library)), hint=hint)])
    return library


def _carry(contents: Contents, library: Path, work: Path) -> Path:
    place = work / _key(contents)
    place.mkdir(parents=True, exist_ok=True)
    copy = Path(shutil.copy2(library, place / library.name))
    text = json.dumps({"library": copy.name, "digest": digest_of(copy), "contents": contents.text()}, indent=1)
    (place / _MANIFEST).write_text(text + "\n", encoding="utf-8")
    return copy


def _key(contents: Contents) -> str:
    """The same on every machine: of what was asked, and of the bytes of the files that were named."""
    found = hashlib.sha256(f"{__version__} {contents.target} {contents.ops} {contents.signatures}".encode())
    for word, named in (("tuning", contents.tuning), ("kernel sets", contents.kernel_sets)):
        for path in named:
            files = sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]
            for one in files:
                found.update(f"{word} {hashlib.sha256(one.read_bytes()).hexdigest()}".encode())
    return found.hexdigest()[:16]


def _project(contents: Contents, folder: Path) -> RuntimeProject:
    options = contents.options()
    return RuntimeProject(
        NAME,
        folder,
        (contents.target,),
        contents.signatures,
        ops=contents.ops,
        tuning=tuple(path.absolute() for path in options.tuning),
        kernel_sets=tuple(path.absolute() for path in contents.kernel_sets),
        device_code=contents.target.gfx not in CPU_LEVELS and not contents.twins,
    )


def digest_of(library: Path) -> str:
    """SHA-256 of the file, of which 16 digits tell libraries apart."""
    with library.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]
