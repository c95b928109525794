"""The library that is measured: generated and built for the problems asked, once per checkout, then reused."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ckgen import paths
from ckgen.build.packages.place import cache_room
from ckgen.build.runtime_library import RuntimeProject, build_runtime
from ckgen.fuzz.decision import target_named
from ckgen.fuzz.space import Space
from ckgen.model.target import Target
from ckgen.plan.options import PlanOptions
from ckgen.plan.planner import make_plan
from ckgen.specs.archs import load_archs
from ckgen.version import __version__

NAME = "ckgen_benched"


@dataclass(frozen=True, slots=True)
class Contents:
    """What a library is made of: for one target, kernels of these ops and signatures (all where none is named), with
    those tables and further kernel sets. Equal contents make equal plans."""

    target: Target
    ops: tuple[str, ...]
    signatures: tuple[str, ...] = ()
    tuning: tuple[Path, ...] = ()
    kernel_sets: tuple[Path, ...] = ()

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
        return json.dumps({"target": str(self.target), **lists})


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
    )


def build_library(contents: Contents, say: Callable[[str], None]) -> Path:
    """Generates and builds what is not up to date; errors as build_runtime's."""
    words = (__version__, paths.root().as_posix(), contents.text())
    folder = cache_room("bench") / hashlib.sha256("\0".join(words).encode()).hexdigest()[:16]
    options = contents.options()
    project = RuntimeProject(
        NAME,
        folder,
        (contents.target,),
        contents.signatures,
        ops=contents.ops,
        tuning=tuple(path.absolute() for path in options.tuning),
        kernel_sets=tuple(path.absolute() for path in contents.kernel_sets),
    )
    return build_runtime(project, say)


def digest_of(library: Path) -> str:
    """SHA-256 of the file, of which 16 digits tell libraries apart."""
    with library.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]
