"""Generated libraries compiled into one shared library that Python loads; once per name and test session."""

from __future__ import annotations

import subprocess
from pathlib import Path

from ckgen.emit.render import render
from ckgen.plan.model import GenerationPlan
from ckgen.runtime import RuntimeLibrary
from cpp_build import ROOT, SYSTEM_LIBRARIES, dispatcher_archive


def load_generated(plan: GenerationPlan, name: str, folder: Path) -> RuntimeLibrary:
    """Renders the plan, compiles all sources as one with warnings as errors, links that with ckgen's own library."""
    sources = []
    for path, text in render(plan, name).items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
        if place.suffix == ".cpp":
            sources.append(place)
    whole = folder / "whole.cpp"
    whole.write_text("".join(f'#include "{source}"\n' for source in sources), encoding="utf-8")
    flags = ["-std=c++17", "-O1", "-fPIC", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]
    includes = [f"-I{ROOT / 'dispatcher_cpp/include'}", f"-I{folder / 'include'}"]
    archive = dispatcher_archive()
    library = folder / f"lib{name}_runtime.so"
    linking = ["-Wl,--whole-archive", str(archive), "-Wl,--no-whole-archive", *SYSTEM_LIBRARIES]
    subprocess.run(["g++", "-shared", *flags, *includes, str(whole), "-o", str(library), *linking], check=True)
    return RuntimeLibrary(library)
