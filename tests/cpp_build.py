"""ckgen's C++ library, built once for every test: `build/test`, where tools/test.sh has built it already."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

from ckgen.build.runtime_library import tool

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("CKGEN_TEST_BUILD", ROOT / "build" / "test"))
"""Shared with ctest: the preset `ci` builds there."""
SYSTEM_LIBRARIES = ("-ldl", "-lpthread", "-lz")
"""What ckgen's archive needs when it is linked without CMake."""


def run(*command: object, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    """Runs a program to its end and returns what it printed; AssertionError with all of that where it fails."""
    done = attempt(*command, cwd=cwd, env=env)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}"
    return done.stdout


def attempt(
    *command: object, cwd: Path | None = None, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs a program, stderr among stdout."""
    return subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=os.environ | (env or {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def linked_checkout(folder: Path, left_out: set[str]) -> Path:
    """A checkout of links, where builds write nothing into the real one."""
    folder.mkdir()
    for entry in ROOT.iterdir():
        if entry.name not in {"build", ".git", ".venv", *left_out}:
            (folder / entry.name).symlink_to(entry)
    return folder


def copy_tree(part: str, folder: Path) -> None:
    """A folder of the checkout beneath another, with what Python compiled of it: each of the many commands that a test
    runs there would compile it again. What another process is just writing is left out."""
    shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("*.pyc.*"))


def objects_of_a_checkout(folder: Path) -> dict[str, str]:
    """What a build two levels below that checkout needs in its environment to share ccache's objects with `BUILD`.

    Makefiles compile in folders of another depth, where relative paths differ.
    """
    return {"CCACHE_BASEDIR": str(folder), "CXXFLAGS": "-Werror", "CMAKE_GENERATOR": "Ninja"}


def built(*targets: str) -> Path:
    """The build folder with those targets up to date; safe beside other test processes."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with (BUILD / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (BUILD / "CMakeCache.txt").exists():
            make = f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}"
            run(tool("cmake"), "--preset", "ci", "-B", BUILD, make, "-DCKGEN_BUILD_TESTS=OFF", cwd=ROOT)
        run(tool("cmake"), "--build", BUILD, "--target", *targets)
    return BUILD


def dispatcher_archive() -> Path:
    """The library itself, up to date."""
    return built("ckgen_dispatcher_static") / "ckgen" / "dispatcher_cpp" / "libckgen_dispatcher.a"


def installed(prefix: Path) -> Path:
    """ckgen's CMake package under `prefix`."""
    run(tool("cmake"), "--install", built("ckgen_dispatcher_static", "ckgen_dispatcher_shared"), "--prefix", prefix)
    return prefix


def configure(source: Path, build: Path, *options: str, generator: str = "Ninja") -> subprocess.CompletedProcess[str]:
    """Configures a consumer project with this Python interpreter."""
    make = [f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}"] if generator == "Ninja" else []
    python = f"-DPython3_EXECUTABLE={sys.executable}"
    base = (tool("cmake"), "--no-warn-unused-cli", "-S", source, "-B", build, "-G", generator)
    return attempt(*base, *make, python, *options)


def build(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Builds a consumer project."""
    return attempt(tool("cmake"), "--build", folder, *options)
