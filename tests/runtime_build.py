"""ckgen's own library, and generated ones, in a shared library that Python loads; once per name and test session."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from ckgen.emit.render import render
from ckgen.plan.model import GenerationPlan
from ckgen.runtime import RuntimeLibrary
from cpp_build import ROOT, SYSTEM_LIBRARIES, dispatcher_archive


def load_generated(plan: GenerationPlan, name: str, folder: Path, *more: Path) -> RuntimeLibrary:
    """Renders the plan, compiles all sources and `more` as one with warnings as errors, links that with ckgen's own
    library.

    Names no folder of this run: what another process or run compiled of the same plan is ccache's, where g++ is that.
    """
    sources = []
    for path, text in render(plan, name).items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
        if place.suffix == ".cpp":
            sources.append(path)
    named = (*sources, *map(str, more))
    (folder / "whole.cpp").write_text("".join(f'#include "{source}"\n' for source in named), encoding="utf-8")
    flags = ["-std=c++17", "-fPIC", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]
    includes = [f"-I{ROOT / 'dispatcher_cpp/include'}", "-Iinclude"]
    command = ["g++", *flags, *includes, "-c", "whole.cpp", "-o", "whole.o"]
    subprocess.run(command, cwd=folder, env=os.environ | {"CCACHE_BASEDIR": ""}, check=True)
    return _linked(folder / f"lib{name}_runtime.so", str(folder / "whole.o"))


def load_own(folder: Path) -> RuntimeLibrary:
    """ckgen's own library without any generated one."""
    return _linked(folder / "libckgen.so")


def _linked(library: Path, *objects: str) -> RuntimeLibrary:
    linking = ["-Wl,--whole-archive", str(dispatcher_archive()), "-Wl,--no-whole-archive", *SYSTEM_LIBRARIES]
    subprocess.run(["g++", "-shared", *objects, "-o", str(library), *linking], check=True)
    return RuntimeLibrary(library)
