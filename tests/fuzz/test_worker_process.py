"""Processes that are forked from one that has prepared: asked, killed, replaced, and what is said where one ends."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from ckgen import paths
from ckgen.fuzz.worker_process import WorkerProcess
from ckgen.model.errors import CkgenError

MODULE = """
import ctypes, mmap, os, sys
from pathlib import Path
from ckgen.fuzz.forks import serve

def answer(number):
    print("ready", number, flush=True)
    for line in sys.stdin:
        match line.split():
            case ["abort"]: os.abort()
            case ["exit"]: sys.exit("enough")
            case ["where"]:
                room = mmap.mmap(-1, 1 << 28)
                print(ctypes.addressof(ctypes.c_char.from_buffer(room)), flush=True)
            case ["who"]: print(os.getpid(), os.getppid(), flush=True)
            case _: print("heard", line.strip(), flush=True)
    return 0

prepared = Path(sys.argv[1])
if prepared.name == "none":
    sys.exit("there is nothing to prepare")
with prepared.open("a") as file:
    file.write("x")
sys.exit(serve(7, answer))
"""


@pytest.fixture
def variables(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "forked.py").write_text(MODULE)
    return {"PYTHONPATH": os.pathsep.join([str(paths.package_dir().parent), str(tmp_path)])}


@pytest.fixture
def process(tmp_path: Path, variables: dict[str, str]) -> Iterator[WorkerProcess]:
    with WorkerProcess("forked", (str(tmp_path / "prepared"),), "ready", variables) as made:
        yield made


def asked(process: WorkerProcess, word: str) -> str:
    assert process.send(word)
    return (process.line(20.0) or "").strip()


def test_what_ends_is_replaced_and_nothing_is_prepared_again(process: WorkerProcess, tmp_path: Path) -> None:
    assert (process.start(), asked(process, "hello")) == ("7", "heard hello")
    assert asked(process, "abort") == "" and process.how_it_ended() == "the process ended with signal SIGABRT"
    assert (process.is_running, process.start(), asked(process, "exit")) == (False, "7", "")
    assert process.how_it_ended().endswith("SystemExit: enough")
    process.start()
    first = process.pid
    process.end()
    assert not process.is_running
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)
    process.start()
    assert process.pid != first and (tmp_path / "prepared").read_text() == "x"


def test_memory_lies_elsewhere_in_each(process: WorkerProcess) -> None:
    found = set()
    for _ in range(4):
        process.start()
        found.add(asked(process, "where"))
        process.end()
    assert len(found) > 1


def test_where_the_one_that_forks_is_gone_another_prepares(process: WorkerProcess, tmp_path: Path) -> None:
    for when in ("while one runs", "while none runs"):
        process.start()
        forking = int(asked(process, "who").split()[1])
        if when == "while none runs":
            process.end()
        os.kill(forking, signal.SIGKILL)
        process.end()
    assert (process.start(), (tmp_path / "prepared").read_text()) == ("7", "xxx")


def test_what_cannot_prepare_says_why(tmp_path: Path, variables: dict[str, str]) -> None:
    with WorkerProcess("forked", (str(tmp_path / "none"),), "ready", variables) as process:
        with pytest.raises(CkgenError, match=r"forked does not start: .* exit code 1: there is nothing to prepare"):
            process.start()
        assert not process.is_running
