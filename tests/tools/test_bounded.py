"""Test programs of a mutant end in time, and take with them what they started."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from mutation.bounded import Ended, Limit, run
from mutation.relevance import most_related_first


def python(folder: Path, text: str, limit: Limit | None = None) -> Ended:
    return run([sys.executable, "-c", text], folder, {"ASKED": "yes"}, limit)


def test_output_and_status_are_those_of_the_program(tmp_path: Path) -> None:
    text = "import os, sys; print(os.environ['ASKED'], os.getcwd()); sys.stdout.flush(); sys.exit('wrong')"
    ended = python(tmp_path, text, Limit(20, 60))
    assert (ended.status, ended.output, ended.in_time) == (1, f"yes {tmp_path}\nwrong\n", True)


def test_a_loop_ends_when_its_processor_time_is_used_up(tmp_path: Path) -> None:
    ended = python(tmp_path, "while True: pass", Limit(1, 600))
    assert not ended.in_time and ended.status < 0


def test_who_waits_for_ever_is_ended_by_the_clock(tmp_path: Path) -> None:
    ended = python(tmp_path, "import time; time.sleep(600)", Limit(20, 0.5))
    assert not ended.in_time and ended.clock < 600


def test_a_crash_is_no_matter_of_time(tmp_path: Path) -> None:
    ended = python(tmp_path, "import os; os.abort()", Limit(20, 60))
    assert ended.in_time and ended.status < 0


def test_nothing_outlives_the_program(tmp_path: Path) -> None:
    child = "import subprocess; print(subprocess.Popen(['sleep', '600'], stdout=subprocess.DEVNULL).pid)"
    ended = python(tmp_path, child, Limit(20, 60))
    left = Path("/proc", ended.output.strip(), "stat")
    deadline = time.monotonic() + 30  # the kernel ends it when it next has a turn
    while left.exists() and left.read_text().split()[2] != "Z":
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_who_leaves_the_group_and_keeps_the_output_open_holds_nobody_up(tmp_path: Path) -> None:
    ended = python(tmp_path, "import subprocess; print(subprocess.Popen(['sleep', '600'], start_new_session=True).pid)")
    os.kill(int(ended.output), signal.SIGKILL)  # fails if it was waited for
    assert ended.status == 0


@pytest.mark.parametrize(
    ("changed", "first"),
    [
        ("src/fmha/split_tiles.hpp", "test_fmha_split.cpp.o"),
        ("core/lds_checks.cpp", "test_lds.py"),
        ("a.cpp", "test_x.py"),
    ],
)
def test_tests_that_share_words_with_the_changed_file_come_first(changed: str, first: str) -> None:
    tests = ["test_x.py", "test_lds.py", "test_fmha_plan.cpp.o", "test_fmha_split.cpp.o"]
    assert most_related_first(changed, tests)[0] == first


def test_of_tests_alike_the_quick_ones_come_first() -> None:
    seconds = {"test_a.py": 3.0, "test_b.py": 1.0, "test_lds.py": 9.0}
    assert most_related_first("lds.cpp", list(seconds), seconds) == ["test_lds.py", "test_b.py", "test_a.py"]
