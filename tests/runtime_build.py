"""Generated libraries compiled into one shared library that Python loads; once per name and test session."""

from __future__ import annotations

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ckgen.emit.render import render
from ckgen.plan.model import GenerationPlan
from ckgen.runtime import RuntimeLibrary
from cpp_build import ROOT, SYSTEM_LIBRARIES, built

_JOBS = 2


def load_generated(plan: GenerationPlan, name: str, folder: Path) -> RuntimeLibrary:
    """Renders the plan, compiles every source with warnings as errors, links it with ckgen's own library."""
    sources = []
    for path, text in render(plan, name).items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
        if place.suffix == ".cpp":
            sources.append(place)
    flags = ["-std=c++17", "-O1", "-fPIC", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]
    includes = [f"-I{ROOT / 'dispatcher_cpp/include'}", f"-I{folder / 'include'}"]

    def compile_one(source: Path) -> str:
        target = str(source.with_suffix(".o"))
        subprocess.run(["g++", *flags, *includes, "-c", str(source), "-o", target], check=True)
        return target

    with ThreadPoolExecutor(_JOBS) as pool:
        objects = list(pool.map(compile_one, sources))
    archive = built("ckgen_dispatcher") / "dispatcher_cpp" / "libckgen_dispatcher.a"
    library = folder / f"lib{name}_runtime.so"
    whole = ["-Wl,--whole-archive", str(archive), "-Wl,--no-whole-archive", *SYSTEM_LIBRARIES]
    subprocess.run(["g++", "-shared", *objects, "-o", str(library), *whole], check=True)
    return RuntimeLibrary(library)
