"""Work in a process of its own: a crash of emulated code or of the core ends that process and no other."""

from __future__ import annotations

import atexit
import json
import math
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import ParamSpec, TypeVar

from ckgen import paths
from ckgen.fuzz.forks import serve
from ckgen.fuzz.worker_process import ONE_THREAD, WorkerProcess
from ckgen.model.errors import UsageError

P = ParamSpec("P")
T = TypeVar("T")

_READY, _DONE = "ready", "done\n"
_ROOMS = (Path(__file__).resolve().parents[1], paths.package_dir().parent)
_idle: dict[tuple[int, str], list[WorkerProcess]] = {}
"""By process and module, those that run nothing: what they have imported serves the next work too."""


def run_apart(module: str, place: Path, environment: Mapping[str, str], seconds: float | None = None) -> str:
    """Has a fork of `python -m MODULE` do the work at `place`; empty, or how it ended without having done all of it.

    `environment`: what its variables are beside this process's own; `seconds` after which it is ended. What it prints
    is lost but for the end of its standard error. For several threads.
    """
    request = {"place": str(place), "folder": str(Path.cwd()), "environment": {**os.environ, **environment}}
    with _process(module) as process:
        process.start()
        until = time.monotonic() + (math.inf if seconds is None else seconds)
        line = process.line(math.inf, until=until) if process.send(json.dumps(request)) else ""
        if line == "":
            return process.how_it_ended()
        process.end()
        return "" if line == _DONE else f"no answer after {seconds:g} s"


def call_apart(function: Callable[P, T], *arguments: P.args, **words: P.kwargs) -> T:
    """What a function of a module returns in a new process, with its exceptions; UsageError where that crashes."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        try:
            return pool.submit(function, *arguments, **words).result()
        except BrokenProcessPool:
            raise UsageError("the process that ran it crashed") from None


@contextmanager
def _process(module: str) -> Iterator[WorkerProcess]:
    idle = _idle.setdefault((os.getpid(), module), [])
    try:
        process = idle.pop()
    except IndexError:
        process = WorkerProcess(module, (), _READY, {**ONE_THREAD, "PYTHONPATH": python_path()})
        atexit.register(process.close)
    yield process
    idle.append(process)


def python_path() -> str:
    """Where a process finds ckgen and its emulator, and what this one was told to look through."""
    known = os.environ.get("PYTHONPATH")
    return os.pathsep.join([*map(str, _ROOMS), *([known] if known else [])])


def work_apart(work: Callable[[Path], None]) -> int:
    """What `python -m MODULE` does for `run_apart`: forks, each of which does the work at one place."""
    return serve(work, _answer)


def _answer(work: Callable[[Path], None]) -> int:
    answers = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what libraries print is no answer
    os.write(answers, f"{_READY}\n".encode())
    request = json.loads(sys.stdin.readline())
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    work(Path(request["place"]))
    os.write(answers, _DONE.encode())
    return 0
