"""Whether what is timed had its CPUs to itself, by what Linux tells of this process's threads."""

from __future__ import annotations

import threading
import time
from pathlib import Path

_TASKS = Path("/proc/self/task")
_LOOK, _MOST = 0.005, 1.0
"""Seconds from look to look, and of all."""
_LOOKS = 2
"""So many in a row that find none."""


def waited() -> float:
    """Seconds that threads of this process could have run and had no CPU, each counted; 0 where the system does not
    tell."""
    return sum(map(_waited, _tasks())) * 1e-9


def settle() -> None:
    """Returns when no other thread of this process runs or could, or after a second. Threads of libraries look for
    more work for some time after they did some, and take a CPU for it."""
    end, rested = time.monotonic() + _MOST, 0
    while time.monotonic() < end and rested < _LOOKS:
        rested = 0 if _others_run() else rested + 1
        time.sleep(_LOOK)


def _others_run() -> bool:
    return any(_state(task) == "R" for task in _tasks() if task != str(threading.get_native_id()))


def _tasks() -> list[str]:
    """Threads; none where the system does not tell."""
    try:
        return [task.name for task in _TASKS.iterdir()]
    except OSError:
        return []


def _state(task: str) -> str:
    """The letter of a thread's state; empty of one that has ended."""
    try:
        return (_TASKS / task / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return ""


def _waited(task: str) -> int:
    """Nanoseconds; 0 of a thread that has ended."""
    try:
        return int((_TASKS / task / "schedstat").read_text(encoding="ascii").split()[1])
    except (OSError, IndexError):
        return 0
