"""The core as a shared library: compiled on demand with the host's C++ compiler, kept in the cache."""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import re
import shlex
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from ckgen.build.packages.place import cache_room
from ckgen.model.errors import UsageError

SOURCES = Path(__file__).parent / "core"

FLAGS = (
    "-std=c++20", "-O3", "-march=native", "-fPIC", "-fvisibility-inlines-hidden", "-ffp-contract=off",
    "-frounding-math", "-fno-math-errno", "-fno-trapping-math", "-pthread", "-Wall", "-Wextra", "-Wconversion",
    "-Werror", "-Wno-restrict", "-Wno-array-bounds", "-Wno-stringop-overflow", "-Wno-psabi",
)  # fmt: skip
"""Results depend on the float flags: rounding is the emulated mode's, and nothing is contracted. -Wrestrict,
-Warray-bounds and -Wstringop-overflow are wrong about std::string in GCC 12 (GCC bug 105651). -Wpsabi is about vectors
of 64 bytes where the CPU has none: they stay within one library."""

_PRECOMPILED = "algorithm array bit cmath cstdint cstring memory mutex span string string_view vector"
"""Headers of the C++ library that many sources include: to read them takes half of compiling one."""

_NO_CCACHE = {"CCACHE_DISABLE": "1"}
"""Objects are kept here: a g++ that is ccache would preprocess each source for nothing."""

_INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)


@cache
def core_library() -> Path:
    """The library's path; compiles what its sources, compiler and CPU do not have in the cache yet.

    `$CXX` or g++ compiles; `$CKGEN_EMULATOR_FLAGS` are added (sanitizers), to the sources whose names without suffix
    match one of the patterns in `$CKGEN_EMULATOR_FLAGS_FOR`, to all without it. UsageError with the compiler's words.
    """
    compiler = shlex.split(os.environ.get("CXX") or "g++")
    more = shlex.split(os.environ.get("CKGEN_EMULATOR_FLAGS", ""))
    patterns = shlex.split(os.environ.get("CKGEN_EMULATOR_FLAGS_FOR", "*"))
    folder = cache_room("emulator")
    plain, changed = (_compiler(compiler, flags, folder) for flags in ([*FLAGS], [*FLAGS, *more]))
    sources = sorted(SOURCES.glob("*.cpp"))
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        objects = list(
            pool.map(lambda one: (changed if _matches(one, patterns) else plain).object_of(one, folder), sources)
        )
    names = "\n".join(sorted(made.name for made in objects))
    library = folder / f"libckgen_emulator-{hashlib.sha256((changed.identity + names).encode()).hexdigest()[:16]}.so"
    if not library.exists():
        _make([*compiler, *changed.flags, "-shared", *map(str, objects)], library)
    return library


@dataclass(frozen=True, slots=True)
class _Compiler:
    """`header` is precompiled with `flags`, once for all sources."""

    command: list[str]
    flags: list[str]
    identity: str
    header: Path

    def precompile(self) -> None:
        made = self.header.with_name(f"{self.header.name}.gch")
        if not made.exists():
            _make([*self.command, *self.flags, "-x", "c++-header", str(self.header)], made)

    def object_of(self, source: Path, folder: Path) -> Path:
        digest = hashlib.sha256(self.identity.encode())
        for name, text in sorted(_texts(source.name).items()):
            digest.update(f"{name}\0{text}\0".encode())
        made = folder / f"{source.stem}-{digest.hexdigest()[:16]}.o"
        if not made.exists():
            self.precompile()
            _make([*self.command, *self.flags, "-include", str(self.header), "-c", str(source)], made)
        return made


def _compiler(command: list[str], flags: list[str], folder: Path) -> _Compiler:
    text = "".join(f"#include <{name}>\n" for name in _PRECOMPILED.split())
    identity = f"{_identity(command, flags)}\n{text}"
    header = folder / f"precompiled-{hashlib.sha256(identity.encode()).hexdigest()[:16]}.hpp"
    if not header.exists():
        header.write_text(text, encoding="utf-8")
    return _Compiler(command, flags, identity, header)


def _matches(source: Path, patterns: list[str]) -> bool:
    return any(fnmatchcase(source.stem, pattern) for pattern in patterns)


def _texts(name: str) -> dict[str, str]:
    """A source and the headers beside it that it includes, by name."""
    found: dict[str, str] = {}
    wanted = [name]
    while wanted:
        one = wanted.pop()
        if one not in found and (SOURCES / one).is_file():
            found[one] = (SOURCES / one).read_text(encoding="utf-8")
            wanted += _INCLUDE.findall(found[one])
    return found


def _make(command: list[str], target: Path) -> None:
    """Runs a compiler that writes `target`, which appears whole or not at all; of several processes one does."""
    with target.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not target.exists():
            _compile(command, target)


def _compile(command: list[str], target: Path) -> None:
    descriptor, name = tempfile.mkstemp(dir=target.parent, suffix=target.suffix)
    os.close(descriptor)
    try:
        done = subprocess.run(
            [*command, "-o", name], capture_output=True, text=True, check=False, env={**os.environ, **_NO_CCACHE}
        )
        if done.returncode != 0:
            raise UsageError(f"the emulator does not compile: {shlex.join(command)}\n{done.stderr.strip()}")
        Path(name).chmod(0o755)
        Path(name).replace(target)
    except OSError as error:
        raise UsageError(f"the emulator needs a C++ compiler ({shlex.join(command[:1])}): {error}") from error
    finally:
        Path(name).unlink(missing_ok=True)


def _identity(compiler: list[str], flags: list[str]) -> str:
    try:
        version = subprocess.run([*compiler, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise UsageError(f"the emulator needs a C++ compiler ({compiler[0]}): {error}") from error
    return "\n".join([version.splitlines()[0], *flags, _cpu()])


def _cpu() -> str:
    """What -march=native depends on."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return platform.processor()
    return next((line for line in text.splitlines() if line.startswith("flags")), platform.processor())
