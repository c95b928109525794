"""ckgen as a caller has it: a generated library, and what its dispatcher selects. No kernel is named here."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from support import CXX, ROOT, Run

from ckgen import paths
from ckgen.emit.render import render
from ckgen.families.common.storage import encode
from ckgen.model.dtype import DType
from ckgen.model.target import Target
from ckgen.plan.options import PlanOptions
from ckgen.plan.planner import make_plan
from ckgen.runtime import Dispatcher, Options, ProblemStruct
from ckgen.runtime.functions import Args
from ckgen.specs.archs import load_archs
from ckgen.specs.native import own_cpu
from cpp_build import SYSTEM_LIBRARIES, dispatcher_archive
from runtime_build import load_generated

LINE = 64
TARGETS = (Target("gfx942", 80), Target("gfx942", 304), Target("gfx950", 256))
SHIPPED = PlanOptions(
    targets=TARGETS,
    tuning=(paths.tuning_dir() / "aiter",),
)
"""All shipped tables, for the targets that they have many rows of."""
_JOBS = 2
_PART = 1 << 20


@dataclass(frozen=True)
class Selected:
    """What the dispatcher took for a problem, and a call that runs it."""

    kernel: str
    call: Callable[[], None]


class Ours:
    """A library of these signatures for this CPU, or for a target whose twins run on it; no table but the shipped."""

    def __init__(self, run: Run, signatures: Iterable[str], ops: Iterable[str], target: Target | None = None) -> None:
        name = "ckgen_bench"
        targets = (target or own_cpu()._replace(cu_num=run.threads),)
        options = PlanOptions(targets=targets, ops=frozenset(ops), signatures=tuple(dict.fromkeys(signatures)))
        folder = run.folder / (str(target or "host").replace(":", "_"))
        self.library = load_generated(make_plan(options, load_archs()), name, folder)
        self.dispatcher: Dispatcher = self.library.dispatcher([name], Options())
        self.device = self.library.simulated(str(target)) if target else self.library.host()

    def ready(self, problem: ProblemStruct, args: Args) -> Selected:
        """The plan and its workspace are made once; RuntimeFailure says why there is no kernel."""
        plan = self.dispatcher.plan(problem, self.device)
        room = np.empty(plan.workspace_size + LINE, np.uint8)
        launch = self.dispatcher.launcher(plan, args, room.ctypes.data + -room.ctypes.data % LINE)

        def call(kept: object = room) -> None:
            launch()

        return Selected(self.dispatcher.select(problem, self.device).instance or "", call)


def numbers(dtype: DType, *sizes: int) -> npt.NDArray[Any]:
    """Normal values as they are stored, fp4 two to a byte; what is large repeats a part."""
    source, whole = np.random.default_rng(0), int(np.prod(sizes))
    part = min(whole, _PART)
    if dtype is DType.FP4:
        return np.resize(source.integers(0, 256, part, np.uint8), (*sizes[:-1], sizes[-1] // 2))
    values = source.integers(-9, 10, part).astype(np.float64) if dtype is DType.INT8 else source.standard_normal(part)
    return np.resize(encode(values, dtype), sizes)


def address(array: npt.NDArray[Any]) -> int:
    """Of its first element."""
    return int(array.ctypes.data)


def own_library(folder: Path, name: str) -> ctypes.CDLL:
    """`benchmarks/NAME.cpp` as a library, on ckgen's own threads."""
    library = folder / f"lib{name}.so"
    flags = ["-std=c++20", "-O2", "-march=native", "-Wno-psabi", "-shared", "-fPIC"]
    include = [f"-I{paths.dispatcher_dir()}", f"-I{paths.dispatcher_dir() / 'include'}"]
    sources = [str(ROOT / "benchmarks" / f"{name}.cpp"), str(dispatcher_archive()), *SYSTEM_LIBRARIES]
    subprocess.run([CXX, *flags, *include, *sources, "-o", str(library)], check=True)
    return ctypes.CDLL(str(library))


def program_over(run: Run, options: PlanOptions, main: str, is_shared: bool = False) -> Path:
    """`benchmarks/<main>` linked with the library of these options, which is called `bench`, and with ckgen's own.

    is_shared: ckgen's own is a shared library, which lies beside the program.
    """
    here = run.folder
    sources = [ROOT / "benchmarks" / main]
    for path, text in render(make_plan(options, load_archs()), "bench").items():
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
    program = here / Path(main).stem
    own = [str(dispatcher_archive()), *SYSTEM_LIBRARIES]
    if is_shared:
        library = str(here / "libckgen_dispatcher.so")
        whole = ["-Wl,--whole-archive", own[0], "-Wl,--no-whole-archive", *SYSTEM_LIBRARIES]
        subprocess.run([CXX, "-shared", *whole, "-o", library], check=True)
        own = [library, f"-Wl,-rpath,{here}"]
    subprocess.run([CXX, *objects, *own, "-o", str(program)], check=True)
    return program


def lines_of(program: Path, *words: object, given: str = "") -> Sequence[list[str]]:
    """The words of each line that a program prints."""
    done = subprocess.run([program, *map(str, words)], input=given, capture_output=True, text=True, check=True)
    return [line.split() for line in done.stdout.splitlines()]
