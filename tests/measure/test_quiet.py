"""Whether this process had its CPUs to itself: threads that share one CPU wait, and who works is waited for."""

from __future__ import annotations

import hashlib
import os
import threading
import time
from pathlib import Path

import pytest

from ckgen.measure import quiet
from ckgen.measure.quiet import settle, waited

DATA = bytes(1 << 25)


def work(until: threading.Event) -> None:
    """Without the interpreter's lock."""
    while not until.is_set():
        hashlib.sha256(DATA).digest()


def working(seconds: float) -> threading.Thread:
    """A thread that works for so long."""
    done = threading.Event()
    threading.Timer(seconds, done.set).start()
    thread = threading.Thread(target=work, args=(done,))
    thread.start()
    return thread


def test_threads_that_share_a_cpu_wait_for_it() -> None:
    cpus, before, done = os.sched_getaffinity(0), waited(), threading.Event()
    os.sched_setaffinity(0, {min(cpus)})
    threads = [threading.Thread(target=work, args=(done,)) for _ in range(2)]
    try:
        for thread in threads:
            thread.start()
        end = time.monotonic() + 120  # what a thread waited is told while it lives
        while waited() - before <= 0.05 and time.monotonic() < end:
            time.sleep(0.01)
        assert waited() - before > 0.05
    finally:
        os.sched_setaffinity(0, cpus)
        done.set()
        for thread in threads:
            thread.join()


def test_threads_that_still_work_are_waited_for_a_second_at_most() -> None:
    for seconds, least in ((0.3, 0.15), (1.5, 0.9)):
        thread, began = working(seconds), time.monotonic()
        settle()
        assert time.monotonic() - began >= least
        thread.join()


def test_where_the_system_does_not_tell_nothing_waited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quiet, "_TASKS", tmp_path / "none")
    assert waited() == 0
    (tmp_path / "1").mkdir()
    monkeypatch.setattr(quiet, "_TASKS", tmp_path)
    assert waited() == 0
