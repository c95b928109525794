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
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from ckgen.build.packages.place import cache_room
from ckgen.model.errors import UsageError

SOURCES = Path(__file__).parent / "core"

FLAGS = (
    "-std=c++20", "-O2", "-march=native", "-fPIC", "-fvisibility-inlines-hidden", "-ffp-contract=off",
    "-frounding-math", "-fno-math-errno", "-fno-trapping-math", "-pthread", "-Wall", "-Wextra", "-Wconversion",
    "-Werror", "-Wno-restrict", "-Wno-array-bounds", "-Wno-stringop-overflow", "-Wno-psabi",
    "-Wno-subobject-linkage",
)  # fmt: skip
"""Results depend on the float flags: rounding is the emulated mode's, and nothing is contracted. -Wrestrict,
-Warray-bounds and -Wstringop-overflow are wrong about std::string in GCC 12 (GCC bug 105651). -Wpsabi is about vectors
of 64 bytes where the CPU has none: they stay within one library. -Wsubobject-linkage takes the first sources of a unit
for headers."""

_PRECOMPILED = "algorithm array bit cmath cstdint cstring memory mutex span string string_view vector"
"""Headers of the C++ library that many sources include: to read them takes half of compiling one."""

_TOGETHER = (
    "elf kernarg kernel metadata",
    "memory lane_access lane_address lane_runs global_order_lanes",
    "lds lds_checks lds_checks_lanes lds_dma lds_ops",
    "lds_banks lds_ops_atomic lds_ops_lanes lds_ops_transpose lds_reports",
    "matrix matrix_f64 matrix_f8f6f4 matrix_multiply matrix_operands matrix_unpack",
    "hazard hazard_class hazard_matrix register_check",
    "global_order geometry origins origin_trace touched trace",
    "program run processor stats workgroup private_segment",
    "scalar single step semantics",
    "text text_memory text_operand float_mode finding op_table",
    "c_api c_api_object",
    "lanes float_lanes cross_lane compare",
    "vector vector_int64",
)
"""Sources that are compiled as one unit, as reading the core's headers takes a third of the time. They share a purpose
and have no names of their own in common. What is not here is a unit by itself."""

_NO_CCACHE = {"CCACHE_DISABLE": "1"}
"""Objects are kept here: a g++ that is ccache would preprocess each source for nothing."""

_INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)


@cache
def core_library() -> Path:
    """The library's path; compiles what its sources, compiler and CPU do not have in the cache yet.

    `$CXX` or g++ compiles; `$CKGEN_EMULATOR_FLAGS` are added (sanitizers), to units with a source whose name without
    suffix matches one of the patterns in `$CKGEN_EMULATOR_FLAGS_FOR`, to all without it. UsageError with the compiler's
    words.
    """
    compiler = shlex.split(os.environ.get("CXX") or "g++")
    more = shlex.split(os.environ.get("CKGEN_EMULATOR_FLAGS", ""))
    patterns = shlex.split(os.environ.get("CKGEN_EMULATOR_FLAGS_FOR", "*"))
    folder = cache_room("emulator")
    plain, changed = (_compiler(compiler, flags, folder) for flags in ([*FLAGS], [*FLAGS, *more]))
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        objects = list(
            pool.map(lambda unit: (changed if _matches(unit, patterns) else plain).object_of(unit, folder), units())
        )
    names = "\n".join(sorted(made.name for made in objects))
    library = folder / f"libckgen_emulator-{hashlib.sha256((changed.identity + names).encode()).hexdigest()[:16]}.so"
    if not library.exists():
        _make([*compiler, *changed.flags, "-shared", *map(str, objects)], library)
    return library


def units() -> tuple[tuple[str, ...], ...]:
    """The names without suffix of all sources, those together that are compiled together."""
    together = tuple(tuple(line.split()) for line in _TOGETHER)
    placed = {name for unit in together for name in unit}
    return (*together, *((path.stem,) for path in sorted(SOURCES.glob("*.cpp")) if path.stem not in placed))


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

    def object_of(self, unit: tuple[str, ...], folder: Path) -> Path:
        digest = hashlib.sha256(f"{self.identity}\n{unit}".encode())
        *before, last = sources = [SOURCES / f"{name}.cpp" for name in unit]
        for name, text in sorted(_texts(source.name for source in sources).items()):
            digest.update(f"{name}\0{text}\0".encode())
        made = folder / f"{unit[0]}-{digest.hexdigest()[:16]}.o"
        if not made.exists():
            self.precompile()
            included = [word for path in (self.header, *before) for word in ("-include", str(path))]
            _make([*self.command, *self.flags, *included, "-c", str(last)], made)
        return made


def _compiler(command: list[str], flags: list[str], folder: Path) -> _Compiler:
    text = "".join(f"#include <{name}>\n" for name in _PRECOMPILED.split())
    identity = f"{_identity(command, flags)}\n{text}"
    header = folder / f"precompiled-{hashlib.sha256(identity.encode()).hexdigest()[:16]}.hpp"
    if not header.exists():
        header.write_text(text, encoding="utf-8")
    return _Compiler(command, flags, identity, header)


def _matches(unit: tuple[str, ...], patterns: list[str]) -> bool:
    return any(fnmatchcase(name, pattern) for name in unit for pattern in patterns)


def _texts(names: Iterable[str]) -> dict[str, str]:
    """Sources and the headers beside them that they include, by name."""
    found: dict[str, str] = {}
    wanted = [*names]
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
