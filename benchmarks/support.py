"""What every benchmark says about where it ran, and how it runs a compiler."""

from __future__ import annotations

import os
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def cpu_name() -> str:
    """The CPU's own name and the number of cores this process may use."""
    lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    model = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown CPU")
    return f"{model}, {len(os.sched_getaffinity(0))} cores"


def compiler() -> str:
    """The C++ compiler's version line."""
    done = subprocess.run([CXX, "--version"], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()[0]


CXX = os.environ.get("CXX", "g++")


@dataclass(frozen=True)
class Cost:
    """Wall seconds and the largest resident set, in MB, of a finished command."""

    seconds: float
    peak_mb: float


def timed(command: list[str], **more: object) -> Cost:
    """Runs a command; CalledProcessError where it fails."""
    start = time.perf_counter()
    process = subprocess.Popen(command, **more)  # type: ignore[call-overload]
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return Cost(seconds, usage.ru_maxrss / 1024)
