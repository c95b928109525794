"""One process at a time; a lock ends with its holder."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ckgen.build.packages.lock import locked

HOLD = """
import sys, time
from pathlib import Path
from ckgen.build.packages.lock import locked
with locked(Path(sys.argv[1]), print):
    print("held", flush=True)
    time.sleep(float(sys.argv[2]))
"""


def holder(folder: Path, seconds: float) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder), str(seconds)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None and process.stdout.readline() == "held\n"
    return process


def test_the_next_one_waits_and_says_so(tmp_path: Path) -> None:
    said: list[str] = []
    with holder(tmp_path, 1) as process:
        started = time.monotonic()
        with locked(tmp_path, said.append):
            assert time.monotonic() - started > 0.3
        assert process.wait() == 0
    assert len(said) == 1 and str(tmp_path) in said[0]


def test_a_killed_holder_holds_nothing(tmp_path: Path) -> None:
    with holder(tmp_path, 600) as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
    started = time.monotonic()
    with locked(tmp_path, lambda text: pytest.fail(text)):
        assert time.monotonic() - started < 5


def test_nobody_else_is_quiet(tmp_path: Path) -> None:
    with locked(tmp_path / "new", lambda text: pytest.fail(text)):
        assert (tmp_path / "new").is_dir()
