"""Runs a command as a child that dies with this process, and measures it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_KB_PER_MB = 1024
_PRCTL = getattr(ctypes.CDLL(None, use_errno=True), "prctl", None)


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
        parent = os.getpid()
        with log.open("ab") as out:
            self._process = subprocess.Popen(
                argv,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env=dict(environment),
                start_new_session=True,
                preexec_fn=lambda: _die_with(parent),
            )

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
        pid, status, usage = os.wait4(self._process.pid, flags)
        if pid == 0:
            return None
        code = os.waitstatus_to_exitcode(status)
        self._process.returncode = code
        return Finished(code, self.seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / _KB_PER_MB)


def _die_with(parent: int) -> None:
    """In the child: the kernel kills it when its parent ends, however that ends."""
    if _PRCTL is not None:
        _PRCTL(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(127)


def memory_available_mb() -> int:
    """MiB that can be taken without swapping, by /proc/meminfo; what is physically there where that is absent."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) // 1024
    except OSError:
        pass
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // (1 << 20)
