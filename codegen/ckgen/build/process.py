"""Runs a command as a child that dies with this process, and measures it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_KB_PER_MB = 1024
_WATCH = """
trap '' HUP INT TERM
groups=' '
while read -r change group; do
  case $change in
    begun) groups="$groups$group " ;;
    ended) groups="${groups%% $group *} ${groups#* $group }" ;;
  esac
done
for group in $groups; do kill -s KILL -- "-$group"; done
"""
"""What the watching shell does: it hears of groups of processes, and kills those that are left when nobody can tell it
of any more."""


@dataclass(frozen=True, slots=True)
class Finished:
    """`code` as subprocess has it, negative for a signal; wall and CPU seconds, and the peak resident set in MiB."""

    code: int
    seconds: float
    cpu_seconds: float
    peak_mb: float


class Child:
    """A running command, in a process group of its own, writing stdout and stderr to one file. Not thread-safe."""

    def __init__(self, argv: Sequence[str], folder: Path, log: Path, environment: Mapping[str, str]) -> None:
        """Starts it; FileNotFoundError or PermissionError where there is no such program."""
        self.began = time.monotonic()
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                argv,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=dict(environment),
                start_new_session=True,
            )
        _tell("begun", self._process.pid)

    def poll(self) -> Finished | None:
        """What became of it; None while it runs."""
        return self._wait(os.WNOHANG)

    def kill(self) -> None:
        """Ends it and what it started, at once, and waits for it."""
        if self._process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._wait(0)

    @property
    def seconds(self) -> float:
        """Since it was started."""
        return time.monotonic() - self.began

    def _wait(self, flags: int) -> Finished | None:
        pid = self._process.pid
        if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | flags) is None:
            return None
        _tell("ended", pid)  # while its number is still its own
        _, status, usage = os.wait4(pid, 0)
        code = os.waitstatus_to_exitcode(status)
        self._process.returncode = code
        return Finished(code, self.seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / _KB_PER_MB)


def _tell(change: str, group: int) -> None:
    os.write(_watch(os.getpid()), f"{change} {group}\n".encode())


@cache
def _watch(_: int) -> int:
    """Starts the shell that watches the process of this number; the file through which it hears.

    A child that has a say before it becomes another program, as to ask the kernel to die with its parent, is a copy of
    this process first: some 80 ms where that has 700 MiB, and 5 without.
    """
    reads, writes = os.pipe()
    nothing = ((os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2))
    os.posix_spawn(
        "/bin/sh",
        ["sh", "-c", _WATCH],
        os.environ,
        file_actions=[(os.POSIX_SPAWN_DUP2, reads, 0), *nothing],
        setpgroup=0,
    )
    os.close(reads)
    return writes


def memory_available_mb() -> int:
    """MiB that can be taken without swapping, by /proc/meminfo; what is physically there where that is absent."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) // 1024
    except OSError:
        pass
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // (1 << 20)
