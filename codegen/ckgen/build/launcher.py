"""Compiler launchers: ccache, sccache, or one that compiles elsewhere, put before every compile."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ckgen.model.errors import UsageError

VARIABLES = ("CKGEN_COMPILER_LAUNCHER", "CMAKE_CXX_COMPILER_LAUNCHER")


@dataclass(frozen=True, slots=True)
class Launcher:
    """Words to put before a compile; `program` stands for the words of `compiler`, as launchers expect one."""

    words: tuple[str, ...] = ()
    compiler: tuple[str, ...] = ()
    program: str = ""

    def apply(self, step: tuple[str, ...]) -> tuple[str, ...]:
        """The step under the launcher, if it is a compile and there is a launcher."""
        count = len(self.compiler)
        if not self.words or step[:count] != self.compiler:
            return step
        return (*self.words, self.program, *step[count:])


NO_LAUNCHER = Launcher()


def launcher_for(compiler: Sequence[str], folder: Path, given: str | None = None) -> Launcher:
    """The launcher of the option or the environment for a compiler; a program of one word is made in `folder`."""
    words = launcher_of(given)
    return Launcher(words, tuple(compiler), one_word(compiler, folder)) if words else NO_LAUNCHER


def launcher_of(given: str | None, environment: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """The words of the option, else of the first variable of VARIABLES that is set; `;` parts them as in CMake's lists.

    UsageError for a program that is not there.
    """
    known = os.environ if environment is None else environment
    text = given if given is not None else next((known[name] for name in VARIABLES if known.get(name)), "")
    words = [word for part in text.split(";") for word in shlex.split(part)]
    if words and shutil.which(words[0]) is None:
        raise UsageError(f"compiler launcher: no program '{words[0]}' (--compiler-launcher, {', '.join(VARIABLES)})")
    return tuple(words)


def one_word(compiler: Sequence[str], folder: Path) -> str:
    """A program that runs a compiler of several words, such as `zig clang`: launchers expect the compiler to be one."""
    text = f'#!/bin/sh\nexec {shlex.join(compiler)} "$@"\n'
    place = folder / "bin" / hashlib.sha256(text.encode()).hexdigest()[:12] / "clang++"
    if not place.is_file():
        place.parent.mkdir(parents=True, exist_ok=True)
        fd, name = tempfile.mkstemp(dir=place.parent)
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).chmod(0o755)
        Path(name).replace(place)
    return str(place)
