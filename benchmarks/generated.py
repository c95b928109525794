"""A benchmark's C++ program over a generated library."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from support import CXX, ROOT

from ckgen import paths
from ckgen.emit.render import render
from ckgen.model.target import Target
from ckgen.plan.options import PlanOptions
from ckgen.plan.planner import make_plan
from ckgen.specs.archs import load_archs
from ckgen.specs.native import own_cpu
from cpp_build import dispatcher_archive

_JOBS = 2


def lines_of(
    main: str,
    signatures: Sequence[str],
    ops: Sequence[str],
    threads: int,
    sizes: Sequence[int],
    priority: Sequence[str] = (),
) -> list[str]:
    """What `benchmarks/<main>` prints when it is given the sizes, over the signatures' kernels for this CPU.

    The library is generated as `bench`; `priority` is the command that starts the program, empty for none.
    """
    options = PlanOptions(targets=(Target(own_cpu().gfx, threads),), ops=frozenset(ops), signatures=tuple(signatures))
    plan = make_plan(options, load_archs())
    with tempfile.TemporaryDirectory() as folder:
        program = build_program(Path(folder), render(plan, "bench"), main)
        command = [*priority, str(program), *map(str, sizes)]
        environment = {**os.environ, "CKGEN_NUM_THREADS": str(threads)}
        return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout.splitlines()


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
    archive = dispatcher_archive()
    program = here / Path(main).stem
    subprocess.run([CXX, *objects, str(archive), "-ldl", "-lpthread", "-lz", "-o", str(program)], check=True)
    return program
