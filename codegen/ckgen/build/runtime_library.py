"""Builds a generated library and ckgen's own into one shared library that Python can load."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ckgen import paths
from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.errors import InputError, UsageError
from ckgen.model.target import Target
from ckgen.progress import Pace, Standing

_LOG_LINES = 40
_EDGES = re.compile(r"\[([0-9]+)/([0-9]+)\] ")
"""How ninja begins what it says of an edge."""
_PROJECT = """\
# Written by ckgen. Edits are kept out: it is written again.
cmake_minimum_required(VERSION 3.24)
project({name} LANGUAGES CXX)
set(CKGEN_EXECUTABLE "{python};-m;ckgen" CACHE STRING "" FORCE)
add_subdirectory("{root}" ckgen)
ckgen_generate({name}
  TARGETS {targets}
{lists}{device_code}  OUT_DIR "{out}")
file(WRITE "${{CMAKE_CURRENT_BINARY_DIR}}/empty.cpp" "")
add_library({name}_runtime SHARED "${{CMAKE_CURRENT_BINARY_DIR}}/empty.cpp")
target_link_libraries({name}_runtime PRIVATE "$<LINK_LIBRARY:WHOLE_ARCHIVE,{name},ckgen::dispatcher_static>")
# CMake 3.25 refuses a library that others of the link name without this.
set_target_properties({name}_runtime PROPERTIES LINK_LIBRARY_OVERRIDE "WHOLE_ARCHIVE,ckgen_dispatcher_static")
target_link_options({name}_runtime PRIVATE {linking})
"""


@dataclass(frozen=True, slots=True)
class RuntimeProject:
    """What to build, as ckgen_generate() takes it; everything lies beneath `folder`.

    device_code: GPU code too, as a device library `<name>_device`; C++'s own library is then linked in, for machines
    with an older one.
    """

    name: str
    folder: Path
    targets: Sequence[Target]
    signatures: Sequence[str] = ()
    ops: Sequence[str] = ()
    tuning: Sequence[Path] = ()
    kernel_sets: Sequence[Path] = ()
    device_code: bool = False
    kernels: Sequence[str] = ()

    @property
    def tree(self) -> Path:
        """The generated sources."""
        return self.folder / "generated"

    @property
    def library(self) -> Path:
        """The shared library once it is built."""
        return self.folder / "build" / f"lib{self.name}_runtime.so"


def build_runtime(project: RuntimeProject, say: Callable[[str], None], log: Path | None = None) -> Path:
    """Configures and builds what is not up to date; `say` hears each step, `log` gets all that the tools print.

    UsageError without a C++ compiler; InputError (B001) with the end of the log where a step fails.
    """
    build = project.folder / "build"
    text = _PROJECT.format(
        name=project.name,
        python=sys.executable,
        root=paths.root().as_posix(),
        targets=" ".join(map(str, project.targets)),
        lists="".join(_lists(project)),
        out=project.tree.as_posix(),
        device_code="  DEVICE_CODE\n" if project.device_code else "",
        linking="-static-libstdc++ -static-libgcc" if project.device_code else "",
    )
    lists = project.folder / "CMakeLists.txt"
    if not lists.exists() or lists.read_text(encoding="utf-8") != text or not (build / "build.ninja").exists():
        need_compiler()
        project.folder.mkdir(parents=True, exist_ok=True)
        lists.write_text(text, encoding="utf-8")
        say("configuring with CMake")
        configure(project.folder, build, log)
    say("compiling what changed")
    run_step([tool("cmake"), "--build", str(build), "--target", f"{project.name}_runtime"], build, say, log)
    return project.library


def _lists(project: RuntimeProject) -> Iterator[str]:
    """The arguments of ckgen_generate() that say what is generated; none where its own defaults do."""
    lists = {
        "SIGNATURES": project.signatures,
        "KERNELS": project.kernels,
        "OPS": project.ops,
        "TUNING": project.tuning,
        "KERNEL_SETS": project.kernel_sets,
    }
    for keyword, values in lists.items():
        if values:
            quoted = " ".join(f'"{value}"' for value in values)
            yield f"  {keyword} {quoted}\n"


def configure(folder: Path, build: Path, log: Path | None = None) -> None:
    """Configures a Release build of the project in `folder`; InputError (B001) where that fails."""
    options = (f"-DCMAKE_MAKE_PROGRAM={tool('ninja')}", "-DCMAKE_BUILD_TYPE=Release")
    run_step([tool("cmake"), "-G", "Ninja", *options, "-S", str(folder), "-B", str(build)], build, log=log)


def tool(name: str) -> str:
    """`cmake` or `ninja`: the wheel's own binary, else the one on PATH; UsageError where there is neither."""
    beside = Path(sys.executable).with_name(name)
    # Beside Python lies a script of cmake's wheel that starts Python before the program.
    program = Path(sysconfig.get_path("platlib"), name, "data", "bin", name)
    found = next((str(path) for path in (program, beside) if path.exists()), None) or shutil.which(name)
    if found is None:
        raise UsageError(f"no {name} found beside {sys.executable} or on PATH: pip install {name}")
    return found


def need_compiler() -> None:
    """UsageError where there is no C++ compiler that CMake would find."""
    names = [os.environ["CXX"]] if os.environ.get("CXX") else ["c++", "g++", "clang++"]
    if not any(shutil.which(name.split()[0]) for name in names):
        raise UsageError(f"no C++ compiler found ({', '.join(names)}): install g++ 12 or newer, or set CXX")


def run_step(
    command: Sequence[str], build: Path, say: Callable[[str], None] | None = None, log: Path | None = None
) -> None:
    """Runs a step of a CMake build; InputError (B001) with the end of its output where it fails.

    `say` hears how many of the build's edges are done, as a `PartDone`; the whole output is added to the file `log`.
    """
    environment = {**os.environ, "PYTHONPATH": _python_path()}
    last: deque[str] = deque(maxlen=_LOG_LINES)
    pace = Pace()
    with (
        (log or Path(os.devnull)).open("a", encoding="utf-8") as whole,
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=environment
        ) as running,
    ):
        assert running.stdout is not None
        for line in running.stdout:
            whole.write(line)
            last.append(line.rstrip("\n"))
            if say is not None and (done := _EDGES.match(line)) is not None:
                say(pace.part("compiling, ", Standing(int(done[2]), int(done[1]))))
    if running.returncode:
        raise InputError(
            [
                Diagnostic(
                    "B001",
                    f"{Path(command[0]).name} failed with exit code {running.returncode}",
                    Location(str(build)),
                    detail=tuple(last),
                    hint=f"the command was: {' '.join(command)}",
                )
            ]
        )


def _python_path() -> str:
    """The generator that runs now, for the one that CMake starts."""
    known = os.environ.get("PYTHONPATH")
    return os.pathsep.join([str(paths.package_dir().parent), *([known] if known else [])])
