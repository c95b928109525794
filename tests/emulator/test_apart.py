"""Work in a process of its own: what it is told, and what is said where it ends without having done it."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ckgen.model.errors import UsageError
from ckgen_emulator.apart import call_apart, run_apart

MODULE = """
import os, sys, time
from pathlib import Path
from ckgen_emulator.apart import work_apart

def work(place):
    match place.name:
        case "abort": os.abort()
        case "exit": sys.exit("enough")
        case "sleep": time.sleep(60)
        case _:
            print("what libraries print is no answer")
            place.write_text(f"{os.getppid()} {os.environ.get('CKGEN_TOLD')} {Path.cwd()}")

sys.exit(work_apart(work))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / f"{tmp_path.name}.py").write_text(MODULE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_what_is_imported_once_does_what_each_is_told(folder: Path) -> None:
    told = []
    for name in ("one", "two"):
        assert run_apart(folder.name, folder / name, {"CKGEN_TOLD": name}) == ""
        told.append((folder / name).read_text().split())
    (first, one, where), (second, two, _) = told
    assert (first == second, one, two, where) == (True, "one", "two", str(folder))
    assert "CKGEN_TOLD" not in os.environ


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("abort", "the process ended with signal SIGABRT"),
        ("exit", "the process ended with exit code 1: "),
        ("sleep", "no answer after 0.2 s"),
    ],
)
def test_how_it_ended_is_said_and_the_next_work_is_done(folder: Path, name: str, said: str) -> None:
    assert run_apart(folder.name, folder / name, {}, 0.2 if name == "sleep" else None).startswith(said)
    assert run_apart(folder.name, folder / "next", {}) == ""
    assert (folder / "next").exists()


def test_threads_have_processes_of_their_own(folder: Path) -> None:
    names = [f"work{number}" for number in range(6)]
    with ThreadPoolExecutor(3) as pool:
        assert set(pool.map(lambda name: run_apart(folder.name, folder / name, {"CKGEN_TOLD": name}), names)) == {""}
    assert [(folder / name).read_text().split()[1] for name in names] == names


def test_a_call_in_a_process_that_crashes_says_so() -> None:
    assert call_apart(os.path.join, "of", "another") == "of/another"
    with pytest.raises(UsageError, match="the process that ran it crashed"):
        call_apart(os._exit, 1)
