"""The other end of a process that answers in lines: asked, waited for within limits, and told how it ended."""

from __future__ import annotations

import math
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from ckgen import paths
from ckgen.model.errors import CkgenError

START_SECONDS = 120.0
_LAST = 300
_PATIENCE = 10


class WorkerProcess:
    """Runs `python -m MODULE WORDS…`, which writes `ready` when it can be asked. A context manager; not for several
    threads.

    environment: what its variables are beside this process's own.
    """

    def __init__(self, module: str, words: Sequence[str], ready: str, environment: Mapping[str, str]) -> None:
        self._command = [sys.executable, "-m", module, *words]
        self._ready = ready
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None
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
        """Ends the process, and the folder of what it said."""
        self.end()
        self._folder.cleanup()

    @property
    def is_running(self) -> bool:
        """Whether one was started and has not been ended."""
        return self._process is not None

    def start(self) -> str:
        """Starts the process; what stands behind `ready` on its line. CkgenError where that does not come."""
        known = os.environ.get("PYTHONPATH")
        path = os.pathsep.join([str(paths.package_dir().parent), *([known] if known else [])])
        self._read = b""
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                self._command,
                env={**os.environ, "PYTHONPATH": path, **self._environment},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        line = self.line(START_SECONDS)
        if line is None or not line.startswith(self._ready):
            how = self.how_it_ended() if line is not None else f"no answer after {START_SECONDS:g} s"
            self.end()
            raise CkgenError(f"{self._command[2]} does not start: {how}")
        return line.removeprefix(self._ready).strip()

    def send(self, line: str) -> bool:
        """Sends a line; False where nobody reads it any more."""
        assert self._process is not None
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()
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
        assert self._process is not None
        assert self._process.stdout is not None
        began, used = time.monotonic(), _cpu_seconds(self._process.pid)
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._read:
                if time.monotonic() >= until:
                    return None
                if not selector.select(max(min(seconds, 1.0, until - time.monotonic()), 0.0)):
                    waited, worked = time.monotonic() - began, _cpu_seconds(self._process.pid) - used
                    if worked >= seconds * threads or waited >= seconds * patience:
                        return None
                    continue
                read = os.read(self._process.stdout.fileno(), 1 << 16)
                if not read:
                    return ""
                self._read += read
        line, _, self._read = self._read.partition(b"\n")
        return line.decode() + "\n"

    def how_it_ended(self) -> str:
        """The signal or exit code of a process that ended, and the end of what it said; it is then put away."""
        assert self._process is not None
        code = self._process.wait()
        said = self.said()
        self.end()
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return f"the process ended with {how}" + (f": {said}" if said else "")

    def said(self) -> str:
        """The end of what it wrote to standard error."""
        return " ".join(self._errors.read_text(errors="replace").split())[-_LAST:]

    def end(self) -> None:
        """Kills the process, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    stream.close()
        self._process = None


def _cpu_seconds(pid: int) -> float:
    """What a process and its threads have used; 0 where the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
