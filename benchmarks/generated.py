"""A benchmark's C++ program over a generated library."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support import CXX, ROOT

from ckgen import paths
from cpp_build import built

_JOBS = 2


def build_program(here: Path, tree: dict[str, str], main: str) -> Path:
    """The generated sources and `benchmarks/<main>`, linked with ckgen's own library, all in `here`."""
    sources = [ROOT / "benchmarks" / main]
    for path, text in tree.items():
        (here / path).parent.mkdir(parents=True, exist_ok=True)
        (here / path).write_text(text, encoding="utf-8")
        if path.endswith(".cpp"):
            sources.append(here / path)
    flags = ["-std=c++17", "-O2", f"-I{paths.dispatcher_dir() / 'include'}", f"-I{here / 'include'}"]

    def compile_one(numbered: tuple[int, Path]) -> str:
        target = str(here / f"{numbered[0]}.o")
        subprocess.run([CXX, *flags, "-c", str(numbered[1]), "-o", target], check=True)
        return target

    with ThreadPoolExecutor(_JOBS) as pool:
        objects = list(pool.map(compile_one, enumerate(sources)))
    archive = built("ckgen_dispatcher") / "dispatcher_cpp" / "libckgen_dispatcher.a"
    program = here / Path(main).stem
    subprocess.run([CXX, *objects, str(archive), "-ldl", "-lpthread", "-lz", "-o", str(program)], check=True)
    return program
