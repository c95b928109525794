"""Builds a benchmark's C++ program over ckgen's own library and its host backend."""

from __future__ import annotations

import subprocess
from pathlib import Path

from support import CXX

from ckgen import paths
from cpp_build import SYSTEM_LIBRARIES, dispatcher_archive

ROOT = Path(__file__).resolve().parents[1]


def host_program(name: str, folder: Path, *, shared: bool = False) -> Path:
    """`benchmarks/NAME.cpp`, built into the folder for this CPU, or as a library to load; CalledProcessError where it
    does not compile."""
    archive = dispatcher_archive()
    program = folder / (f"lib{name}.so" if shared else name)
    flags = ["-std=c++20", "-O2", "-march=native", "-Wno-psabi", *(["-shared", "-fPIC"] if shared else [])]
    include = [f"-I{paths.dispatcher_dir()}", f"-I{paths.dispatcher_dir() / 'include'}"]
    sources = [str(ROOT / "benchmarks" / f"{name}.cpp"), str(archive), *SYSTEM_LIBRARIES]
    subprocess.run([CXX, *flags, *include, *sources, "-o", str(program)], check=True)
    return program
