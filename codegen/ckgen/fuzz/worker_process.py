"""The other end of a process that answers in lines: asked, waited for within limits, and told how it ended."""

from __future__ import annotations

import math
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from ckgen import paths
from ckgen.fuzz.forks import NUMBER
from ckgen.model.errors import CkgenError

START_SECONDS = 120.0
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
"""Variables of a process whose libraries start no threads."""
_LAST = 300
_PATIENCE = 10


@dataclass(slots=True)
class _Fork:
    """A process, and the files through which it is asked and answers."""

    writes: int
    reads: int
    pid: int = 0

    def close(self) -> None:
        """Both files."""
        os.close(self.writes)
        os.close(self.reads)


class WorkerProcess:
    """Runs `python -m MODULE WORDS…`, which forks (`forks.py`): what it prepares is there at once in each process that
    is started, and a fork writes `ready` when it can be asked. A context manager; not for several threads.

    environment: what its variables are beside this process's own.
    """

    def __init__(self, module: str, words: Sequence[str], ready: str, environment: Mapping[str, str]) -> None:
        self._command = [sys.executable, "-m", module, *words]
        self._ready = ready
        self._environment = environment
        self._forking: subprocess.Popen[bytes] | None = None
        self._channel: socket.socket | None = None
        self._fork: _Fork | None = None
        self._read = b""
        self._folder = tempfile.TemporaryDirectory(prefix="ckgen-worker-")
        self._errors = Path(self._folder.name) / "stderr"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Ends the process and the one that it was forked from, and the folder of what they said."""
        self.end()
        if self._forking is not None:
            self._end_forking()
        self._folder.cleanup()

    @property
    def is_running(self) -> bool:
        """Whether one was started and has not been ended."""
        return self._fork is not None

    @property
    def pid(self) -> int:
        """Of one that is running."""
        assert self._fork is not None
        return self._fork.pid

    def begin(self) -> None:
        """Starts what processes are forked from, which gets ready meanwhile."""
        self._asked()

    def start(self) -> str:
        """Starts the process; what stands behind `ready` on its line. CkgenError where that does not come."""
        self._read = b""
        self._fork = self._forked()
        line = self.line(START_SECONDS)
        if line is None or not line.startswith(self._ready):
            how = self.how_it_ended() if line is not None else f"no answer after {START_SECONDS:g} s"
            self.end()
            raise CkgenError(f"{self._command[2]} does not start: {how}")
        return line.removeprefix(self._ready).strip()

    def _forked(self) -> _Fork:
        """CkgenError where what it is forked from does not get ready; where that has ended since, another is tried."""
        was_ready = self._channel is not None
        channel = self._asked()
        asks, writes = os.pipe()
        reads, tells = os.pipe()
        errors = os.open(self._errors, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
        with suppress(BrokenPipeError):
            socket.send_fds(channel, [b"f"], [asks, tells, errors])
        for file in (asks, tells, errors):
            os.close(file)
        fork = _Fork(writes, reads)
        try:
            fork.pid = _number(channel) or 0
        except TimeoutError:
            self._end_forking()
            how = f"no answer after {channel.gettimeout():g} s"
        else:
            if fork.pid:
                return fork
            how = self._how(self._end_forking(waits=True))
        fork.close()
        if was_ready:
            return self._forked()
        raise CkgenError(f"{self._command[2]} does not start: {how}")

    def _asked(self) -> socket.socket:
        """Where forks are asked for."""
        if self._channel is None:
            known = os.environ.get("PYTHONPATH")
            path = os.pathsep.join([str(paths.package_dir().parent), *([known] if known else [])])
            self._channel, other = socket.socketpair()
            self._channel.settimeout(START_SECONDS * _PATIENCE)
            with other, self._errors.open("ab") as errors:
                self._forking = subprocess.Popen(
                    self._command,
                    env={**os.environ, "PYTHONPATH": path, **self._environment},
                    stdin=other.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=errors,
                )
        return self._channel

    def _end_forking(self, *, waits: bool = False) -> int:
        """Its exit code, by itself where that is waited for."""
        assert self._forking is not None
        assert self._channel is not None
        if not waits:
            self._forking.kill()
        code = self._forking.wait()
        self._channel.close()
        self._forking = self._channel = None
        return code

    def send(self, line: str) -> bool:
        """Sends a line; False where nobody reads it any more."""
        assert self._fork is not None
        left = line.encode() + b"\n"
        try:
            while left:
                left = left[os.write(self._fork.writes, left) :]
        except BrokenPipeError:
            return False
        return True

    def line(
        self, seconds: float, *, threads: int = 1, patience: float = _PATIENCE, until: float = math.inf
    ) -> str | None:
        """The next line; empty where the process ended, None where none comes in time.

        In time: within so many seconds of its own on each of `threads`, or that many times `patience` of the clock on a
        busy machine; and before the monotonic clock is at `until`.
        """
        assert self._fork is not None
        began, used = time.monotonic(), _cpu_seconds(self._fork.pid)
        with selectors.DefaultSelector() as selector:
            selector.register(self._fork.reads, selectors.EVENT_READ)
            while b"\n" not in self._read:
                if time.monotonic() >= until:
                    return None
                if not selector.select(max(min(seconds, 1.0, until - time.monotonic()), 0.0)):
                    waited, worked = time.monotonic() - began, _cpu_seconds(self._fork.pid) - used
                    if worked >= seconds * threads or waited >= seconds * patience:
                        return None
                    continue
                read = os.read(self._fork.reads, 1 << 16)
                if not read:
                    return ""
                self._read += read
        line, _, self._read = self._read.partition(b"\n")
        return line.decode() + "\n"

    def how_it_ended(self) -> str:
        """The signal or exit code of a process that ended, and the end of what it said; it is then put away."""
        status = self._status()
        return self._how(os.waitstatus_to_exitcode(status) if status is not None else -signal.SIGKILL)

    def _how(self, code: int) -> str:
        said = self.said()
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return f"the process ended with {how}" + (f": {said}" if said else "")

    def said(self) -> str:
        """The end of what it wrote to standard error."""
        return " ".join(self._errors.read_text(errors="replace").split())[-_LAST:]

    def end(self) -> None:
        """Kills the process, if there is one."""
        if self._fork is not None:
            assert self._channel is not None
            with suppress(BrokenPipeError):
                self._channel.sendall(b"k")
            self._status()

    def _status(self) -> int | None:
        """With which the process ended, which is put away; None where the one that it was forked from is gone too."""
        assert self._fork is not None
        assert self._channel is not None
        status = _number(self._channel)
        self._fork.close()
        self._fork = None
        if status is None:
            self._end_forking()
        return status


def _number(channel: socket.socket) -> int | None:
    """What is told next; None where nobody is there to tell."""
    with suppress(ConnectionResetError):
        told = channel.recv(NUMBER.size, socket.MSG_WAITALL)
        if len(told) == NUMBER.size:
            number: int = NUMBER.unpack(told)[0]
            return number
    return None


def _cpu_seconds(pid: int) -> float:
    """What a process and its threads have used; 0 where the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
