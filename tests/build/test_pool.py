"""Jobs run once, side by side within limits, and whatever happens nothing half made is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from ckgen.build.cache import Cache
from ckgen.build.job import Job
from ckgen.build.launcher import Launcher
from ckgen.build.pool import Limits, Outcome, default_limits, run_jobs
from ckgen.progress import Standing
from fake_compiler import FakeCompiler

PLENTY = 1 << 20
LIMITS = Limits(jobs=2, memory_mb=PLENTY)
TESTS = Path(__file__).parents[1]


@pytest.fixture
def compiler(tmp_path: Path) -> FakeCompiler:
    return FakeCompiler(tmp_path / "tools")


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


def run(jobs: list[Job], cache: Cache, limits: Limits = LIMITS) -> list[Outcome]:
    found: list[Outcome] = []
    run_jobs(jobs, cache, limits, found.append, lambda standing: None)
    return found


def leavings(cache: Cache) -> list[str]:
    """Work folders and locks that are left."""
    return [str(path) for name in ("work", "locks") for path in (cache.folder / name).glob("*")]


def wait_for(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def alive(pid: int) -> bool:
    """Running: a process that ended and that nobody has waited for is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_job_runs_once_and_is_answered_from_the_cache_then(compiler: FakeCompiler, cache: Cache) -> None:
    job = compiler.job("text")
    first, second = run([job], cache)[0], run([job], cache)[0]
    assert (first.cached, second.cached) == (False, True)
    assert compiler.runs == ["unit.hip"] and leavings(cache) == []
    assert second.entry.output("unit.o").read_text() == "made of text"
    assert second.entry == first.entry and first.entry.seconds > 0 and first.entry.peak_mb > 1


def test_equal_jobs_of_one_run_are_one(compiler: FakeCompiler, cache: Cache) -> None:
    assert len(run([compiler.job("text", label="a"), compiler.job("text", label="b")], cache)) == 1


def test_a_failure_is_kept_with_its_log_and_command(compiler: FakeCompiler, cache: Cache) -> None:
    job = compiler.job("// do print no such type\n// do exit 3\n")
    for cached in (False, True):
        (outcome,) = run([job], cache)
        assert (outcome.cached, outcome.entry.ok, outcome.entry.code) == (cached, False, 3)
        assert outcome.entry.log == "no such type\n"
        assert outcome.entry.failed == ("$tools/cc", "-c", "-o", "unit.o", "unit.hip")
        assert list(outcome.entry.folder.iterdir()) == [outcome.entry.folder / "entry.json"]
    assert len(compiler.runs) == 1
    run([job], cache, Limits(jobs=1, memory_mb=PLENTY, retry=True))
    assert len(compiler.runs) == 2


@pytest.mark.parametrize(
    ("text", "seconds", "said"),
    [
        ("// do die\n", 60, ""),
        ("// do print fatal: No space left on device\n// do exit 1\n", 60, "No space"),
        ("// do sleep 60\n", 5, "stopped after 5 s"),
    ],
)
def test_a_failure_of_the_machine_is_not_kept(
    compiler: FakeCompiler, cache: Cache, text: str, seconds: float, said: str
) -> None:
    limits = Limits(jobs=1, memory_mb=PLENTY, seconds=seconds)
    for _ in range(2):
        (outcome,) = run([compiler.job(text)], cache, limits)
        assert outcome.passing and not outcome.cached and not outcome.entry.ok and said in outcome.entry.log
    assert len(compiler.runs) == 2 and leavings(cache) == []


def test_a_command_that_writes_nothing_has_failed(compiler: FakeCompiler, cache: Cache) -> None:
    (outcome,) = run([compiler.job("// do nothing\n")], cache)
    assert not outcome.entry.ok and outcome.entry.log == "the commands wrote no unit.o\n"


def test_a_program_that_is_not_there_leaves_nothing(compiler: FakeCompiler, cache: Cache) -> None:
    compiler.program.unlink()
    with pytest.raises(FileNotFoundError):
        run([compiler.job("text")], cache)
    assert leavings(cache) == []


def test_jobs_run_side_by_side_within_their_number(compiler: FakeCompiler, cache: Cache) -> None:
    jobs = [compiler.job(f"// do sleep 0.4\n// {number}\n") for number in range(4)]
    most: list[int] = []
    run_jobs(jobs, cache, LIMITS, lambda outcome: None, lambda standing: most.append(standing.running))
    assert max(most) == 2


def test_a_job_waits_for_memory_unless_it_is_alone(compiler: FakeCompiler, cache: Cache) -> None:
    jobs = [compiler.job(f"// do sleep 0.2\n// {number}\n") for number in range(3)]
    most: list[int] = []
    limits = Limits(jobs=3, memory_mb=1)
    run_jobs(jobs, cache, limits, lambda outcome: None, lambda standing: most.append(standing.running))
    assert max(most) == 1 and len(compiler.runs) == 3


def test_the_peak_that_was_measured_bounds_the_next_run(compiler: FakeCompiler, cache: Cache) -> None:
    # A child's peak counts the process that it was copied from: a small one, not what ran many tests.
    with ProcessPoolExecutor(1, get_context("spawn")) as small:
        (outcome,) = small.submit(run, [compiler.job("// do hold 200\n")], cache).result()
    assert 200 < outcome.entry.peak_mb < 400
    most: list[int] = []
    jobs = [compiler.job(f"// do sleep 0.3\n// {number}\n") for number in range(4)]
    limits = Limits(jobs=4, memory_mb=round(2.5 * outcome.entry.peak_mb))
    run_jobs(jobs, cache, limits, lambda outcome: None, lambda standing: most.append(standing.running))
    assert max(most) == 2


def test_the_time_that_is_left_follows_what_was_measured(compiler: FakeCompiler, cache: Cache) -> None:
    standings: list[Standing] = []
    jobs = [compiler.job(f"// do sleep 0.3\n// {number}\n") for number in range(5)]
    run_jobs(jobs, cache, Limits(jobs=1, memory_mb=PLENTY), lambda outcome: None, standings.append)
    guessed = standings[0].seconds_left
    later = [standing.seconds_left for standing in standings if standing.done == 3]
    assert 30 < guessed < 45, "five host units by the first guess"
    assert 0.2 < min(later) < 5, "two units as the first three were"
    assert (standings[-1].done, standings[-1].total, standings[-1].seconds_left) == (5, 5, 0)


def test_a_launcher_stands_before_compiles_only(compiler: FakeCompiler, cache: Cache, tmp_path: Path) -> None:
    wrapper, program = tmp_path / "launch", str(compiler.program)
    wrapper.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/launched\nexec "$@"\n', encoding="utf-8")
    wrapper.chmod(0o755)
    job = compiler.job("text")
    launched = Limits(jobs=1, memory_mb=PLENTY, launcher=Launcher((str(wrapper),), (program,), program))
    run([job], cache, launched)
    assert (tmp_path / "launched").read_text() == f"{program} -c -o unit.o unit.hip\n"
    assert run([job], cache)[0].cached, "a launcher is no part of what an artefact is"


def test_limits_come_from_the_machine() -> None:
    limits = default_limits(None)
    assert limits.jobs == len(os.sched_getaffinity(0)) and 0 < limits.memory_mb < PLENTY


def test_an_interrupt_ends_all_and_leaves_nothing(compiler: FakeCompiler, cache: Cache) -> None:
    jobs = [compiler.job(f"// do sleep 60\n// {number}\n") for number in range(2)]

    def interrupt(standing: Standing) -> None:
        if len(compiler.runs) == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_jobs(jobs, cache, LIMITS, lambda outcome: None, interrupt)
    assert not any(map(alive, compiler.pids)) and leavings(cache) == []


_OTHER = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from fake_compiler import FakeCompiler
from ckgen.build.cache import Cache
from ckgen.build.pool import Limits, run_jobs
compiler = FakeCompiler(Path({folder!r}))
jobs = [compiler.job(f"// do sleep {seconds}\\n// {{n}}\\n") for n in range({count})]
def done(outcome):
    print(outcome.cached, outcome.entry.ok, flush=True)
run_jobs(jobs, Cache(Path({cache!r})), Limits(jobs=2, memory_mb=1 << 20), done, lambda standing: None)
"""


def other(compiler: FakeCompiler, cache: Cache, *, seconds: float, count: int) -> subprocess.Popen[str]:
    """Another process that runs the same jobs."""
    text = _OTHER.format(
        tests=str(TESTS), folder=str(compiler.folder), cache=str(cache.folder), seconds=seconds, count=count
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True, env=environment)


def test_two_processes_compile_each_unit_once(compiler: FakeCompiler, cache: Cache) -> None:
    assert compiler.program.exists()
    two = [other(compiler, cache, seconds=0.2, count=8) for _ in range(2)]
    said = [process.communicate(timeout=60)[0].splitlines() for process in two]
    assert [process.returncode for process in two] == [0, 0]
    assert [len(lines) for lines in said] == [8, 8] and all(
        "True" in line.split()[1] for lines in said for line in lines
    )
    assert len(compiler.runs) == 8
    assert sum(line.startswith("False") for lines in said for line in lines) == 8
    assert leavings(cache) == []


def test_a_killed_process_leaves_no_lock_and_no_half_entry(compiler: FakeCompiler, cache: Cache) -> None:
    victim = other(compiler, cache, seconds=30, count=2)
    wait_for(lambda: len(compiler.runs) == 2)
    victim.send_signal(signal.SIGKILL)
    victim.communicate(timeout=20)
    wait_for(lambda: not any(map(alive, compiler.pids)))
    assert list((cache.folder / "objects").glob("*/*")) == [], "nothing was published"
    for path in [*(cache.folder / "work").iterdir(), *(cache.folder / "locks").iterdir()]:
        os.utime(path, (0, 0))
    jobs = [compiler.job("// do sleep 30\n// 0\n"), compiler.job("// quick\n")]
    lock = cache.try_lock(jobs[0])
    assert lock is not None, "the lock went with its holder"
    lock.release()
    assert [outcome.entry.ok for outcome in run(jobs[1:], cache)] == [True]
    assert leavings(cache) == [], "what the dead process left is swept away"
