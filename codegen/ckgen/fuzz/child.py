"""The other end of a fuzz worker: asks, and starts a new one where one crashed or hung."""

from __future__ import annotations

import json
from pathlib import Path

from ckgen.fuzz.case import Case
from ckgen.fuzz.outcome import CaseFailure, FailureKind, Outcome
from ckgen.fuzz.prepare import Inputs
from ckgen.fuzz.worker import READY, VERBOSE
from ckgen.fuzz.worker_process import ONE_THREAD, WorkerProcess

_SECONDS = 60.0


class Child(WorkerProcess):
    """A worker over a library. A context manager; not for several threads."""

    def __init__(
        self, library: Path, name: str, inputs: Inputs, seconds: float = _SECONDS, *, verbose: bool = False
    ) -> None:
        words = (str(library), name, str(inputs.tables), *([VERBOSE] if verbose else []), *inputs.ops)
        super().__init__("ckgen.fuzz.worker", words, READY, ONE_THREAD)
        self._seconds = seconds

    def ask(self, case: Case) -> Outcome:
        """The case's outcome; a crash and no answer are outcomes too."""
        if not self.is_running:
            self.start()
        line = self.line(self._seconds) if self.send(case.text()) else ""
        if line:
            return Outcome.from_json(json.loads(line))
        if line is None:
            self.end()
            return CaseFailure(FailureKind.HANG, f"no answer after {self._seconds:g} s", case.signature).outcome
        return CaseFailure(FailureKind.CRASH, self.how_it_ended(), case.signature).outcome
