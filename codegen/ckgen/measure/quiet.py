"""Whether what is timed had its CPUs to itself, by what Linux tells of this process's threads."""

from __future__ import annotations

import os
import time
from pathlib import Path

_TASKS = Path("/proc/self/task")
_LOOK, _MOST = 0.02, 1.0
_RESTING = 0.05
"""Of a CPU's time, what threads that rest take at most."""


def waited() -> float:
    """Seconds that threads of this process could have run and had no CPU, each counted; 0 where the system does not
    tell."""
    every = 0
    try:
        for task in os.scandir(_TASKS):
            every += _waited(Path(task.path))
    except OSError:
        return 0.0
    return every * 1e-9


def settle() -> None:
    """Returns when no thread of this process runs, or after a second. Threads of libraries look for more work for some
    time after they did some, and take a CPU for it."""
    end = time.monotonic() + _MOST
    while time.monotonic() < end:
        used = time.process_time()
        time.sleep(_LOOK)
        if time.process_time() - used < _RESTING * _LOOK:
            return


def _waited(task: Path) -> int:
    """Nanoseconds; 0 of a thread that has ended."""
    try:
        return int((task / "schedstat").read_text(encoding="ascii").split()[1])
    except (OSError, IndexError):
        return 0
