"""ckgen's dispatcher and the HIP runtime of the emulator as shared libraries: built once per checkout, then reused."""

from __future__ import annotations

import fcntl
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ckgen import paths
from ckgen.build.packages.place import cache_room
from ckgen.build.runtime_library import configure, need_compiler, run_step, tool
from ckgen.version import __version__

PACKAGE = Path(__file__).resolve().parents[1]
"""ckgen_emulator, in a checkout or where its wheel is installed."""
_NAME = "ckgen_emulation"
_SHIM, _SHIM_FILE = "ckgen_hip_shim", "hip_shim/libckgen_hip_shim.so"
_PROJECT = """\
# Written by ckgen emulate. Edits are kept out: it is written again.
cmake_minimum_required(VERSION 3.24)
project({name} LANGUAGES CXX)
set(CKGEN_BUILD_HIP_SHIM OFF)
set(CKGEN_BUILD_TESTS OFF)
add_subdirectory("{root}" ckgen)
add_subdirectory("{shim}" hip_shim)
file(WRITE "${{CMAKE_CURRENT_BINARY_DIR}}/empty.cpp" "")
add_library({name} SHARED "${{CMAKE_CURRENT_BINARY_DIR}}/empty.cpp")
target_link_libraries({name} PRIVATE "$<LINK_LIBRARY:WHOLE_ARCHIVE,ckgen::dispatcher_static>")
"""


@dataclass(frozen=True, slots=True)
class Runtime:
    """`dispatcher` has the C ABI and all that generated libraries link against; `hip` stands in for libamdhip64."""

    dispatcher: Path
    hip: Path


def build_runtime(say: Callable[[str], None], step: Callable[[str], None] | None = None) -> Runtime:
    """Builds what is not up to date; one process at a time, the others wait. `say` hears of a build that takes long.

    `step` hears how far it is.
    UsageError without a C++ compiler; InputError (B001) with the end of the log where a step fails.
    """
    build = _built(say, step, _NAME, _SHIM)
    return Runtime(build / f"lib{_NAME}.so", build / _SHIM_FILE)


def build_hip(say: Callable[[str], None]) -> Path:
    """The HIP runtime alone, as build_runtime."""
    return _built(say, None, _SHIM) / _SHIM_FILE


def _built(say: Callable[[str], None], step: Callable[[str], None] | None, *targets: str) -> Path:
    """The build's folder."""
    root, shim = paths.root().as_posix(), (PACKAGE / "hip_shim").as_posix()
    name = hashlib.sha256(f"{__version__}\0{root}\0{shim}".encode()).hexdigest()[:16]
    folder = cache_room("emulator") / f"runtime-{name}"
    folder.mkdir(exist_ok=True)
    build = folder / "build"
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lists, text = folder / "CMakeLists.txt", _PROJECT.format(name=_NAME, root=root, shim=shim)
        if not lists.exists() or lists.read_text(encoding="utf-8") != text or not (build / "build.ninja").exists():
            need_compiler()
            say("building what the emulator needs of C++: once, a minute or two")
            lists.write_text(text, encoding="utf-8")
            configure(folder, build)
        run_step([tool("cmake"), "--build", str(build), "--target", *targets], build, step)
    return build
