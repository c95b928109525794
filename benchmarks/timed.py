"""A command's wall clock and memory."""

from __future__ import annotations

import os
import subprocess
import time
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cost:
    """Wall seconds and the largest resident set, in MB, of a finished command."""

    seconds: float
    peak_mb: float


def timed(command: list[str], *, env: dict[str, str] | None = None) -> Cost:
    """Runs a command and drops what it prints; CalledProcessError where it fails."""
    start = time.perf_counter()
    process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return Cost(seconds, usage.ru_maxrss / 1024)
