"""A test program with an end: what it may use is bounded, and nothing that it started outlives it."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile

_MEMORY = 16 << 30
_NICENESS = 10


@dataclass(frozen=True, slots=True)
class Limit:
    """Seconds of a processor's time for each process, and of a clock for what waits for ever."""

    processor: float
    clock: float

    @staticmethod
    def of(unmutated: Ended) -> Limit:
        """A busy machine stretches the clock's time much, the processor's little."""
        return Limit(5 * unmutated.processor + 10, 30 * unmutated.clock + 120)


@dataclass(frozen=True, slots=True)
class Ended:
    """Exit status (negative: the signal) and output, stderr among stdout; seconds as in `Limit`."""

    status: int
    output: str
    in_time: bool
    processor: float
    clock: float


def run(
    command: Sequence[str | Path], folder: Path, environment: Mapping[str, str], limit: Limit | None = None
) -> Ended:
    """Runs a program at low priority, with more in its environment. Raises OSError if it cannot be started."""

    def bound() -> None:
        os.nice(_NICENESS)
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_CPU, (int(limit.processor), resource.RLIM_INFINITY))

    begin, used = time.monotonic(), _of_children()
    with TemporaryFile("w+", errors="replace") as output:  # what outlives the program would keep a pipe open
        process = subprocess.Popen(
            command, cwd=folder, env={**os.environ, **environment}, start_new_session=True, preexec_fn=bound,
            stdout=output, stderr=subprocess.STDOUT,
        )  # fmt: skip
        in_time = True
        try:
            process.wait(limit.clock if limit is not None else None)
        except subprocess.TimeoutExpired:
            in_time = False
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        output.seek(0)
        text = output.read()
    return Ended(
        process.returncode,
        text,
        in_time and process.returncode != -signal.SIGXCPU,
        _of_children() - used,
        time.monotonic() - begin,
    )


def _of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
