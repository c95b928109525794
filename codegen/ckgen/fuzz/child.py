"""The other end of a worker process: asks, waits, and starts a new one where one crashed or hung."""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType

from ckgen import paths
from ckgen.fuzz.case import Case
from ckgen.fuzz.outcome import CaseFailure, FailureKind, Outcome
from ckgen.fuzz.prepare import Inputs
from ckgen.fuzz.worker import READY, VERBOSE
from ckgen.model.errors import CkgenError

_SECONDS = 60.0
_START_SECONDS = 120.0
_LAST = 300
_PATIENCE = 10


class Child:
    """A worker over a library, which plans anew. A context manager; not for several threads."""

    def __init__(
        self, library: Path, name: str, inputs: Inputs, seconds: float = _SECONDS, *, verbose: bool = False
    ) -> None:
        words = (str(library), name, str(inputs.tables), *([VERBOSE] if verbose else []), *inputs.ops)
        self._command = [sys.executable, "-m", "ckgen.fuzz.worker", *words]
        self._seconds = seconds
        self._process: subprocess.Popen[str] | None = None
        self._folder = tempfile.TemporaryDirectory(prefix="ckgen-fuzz-")
        self._errors = Path(self._folder.name) / "stderr"

    def __enter__(self) -> Child:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()
        self._folder.cleanup()

    def ask(self, case: Case) -> Outcome:
        """The case's outcome; a crash and no answer are outcomes too."""
        process = self._process or self._start()
        assert process.stdin is not None
        try:
            process.stdin.write(case.text() + "\n")
            process.stdin.flush()
            line = self._line(process, self._seconds)
        except BrokenPipeError:
            line = ""
        if line:
            return Outcome.from_json(json.loads(line))
        if line is None:
            self._end()
            return CaseFailure(FailureKind.HANG, f"no answer after {self._seconds:g} s", case.signature).outcome
        return CaseFailure(FailureKind.CRASH, self._how_it_ended(), case.signature).outcome

    def _start(self) -> subprocess.Popen[str]:
        known = os.environ.get("PYTHONPATH")
        path = os.pathsep.join([str(paths.package_dir().parent), *([known] if known else [])])
        one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                self._command,
                env={**os.environ, "PYTHONPATH": path, **one_thread},
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                bufsize=1,
            )
        if (self._line(self._process, _START_SECONDS) or "").strip() != READY:
            raise CkgenError(f"a fuzz worker does not start: {self._how_it_ended()}")
        return self._process

    def _line(self, process: subprocess.Popen[str], seconds: float) -> str | None:
        """The next line; empty where the process ended, None where none comes in time. Answers are one line each.

        In time: within so many seconds of its own, or that many times _PATIENCE of the clock on a busy machine.
        """
        assert process.stdout is not None
        began, used = time.monotonic(), _cpu_seconds(process.pid)
        with selectors.DefaultSelector() as selector:
            selector.register(process.stdout, selectors.EVENT_READ)
            while not selector.select(seconds):
                waited, worked = time.monotonic() - began, _cpu_seconds(process.pid) - used
                if worked >= seconds or waited >= seconds * _PATIENCE:
                    return None
        return process.stdout.readline()

    def _how_it_ended(self) -> str:
        assert self._process is not None
        code = self._process.wait()
        said = " ".join(self._errors.read_text(errors="replace").split())[-_LAST:]
        self._end()
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return f"the process ended with {how}" + (f": {said}" if said else "")

    def _end(self) -> None:
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
