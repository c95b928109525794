"""How far a run is: one line that is written over on a terminal, elsewhere a line every few seconds."""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import TextIO

ENVIRONMENT = "CKGEN_PROGRESS_SECONDS"
"""Says how many seconds there are between two lines where there is no terminal; 0: there are none."""
SECONDS = 5.0
"""The same where nothing says so; a run that ends before the first line says nothing."""
_EVERY = 0.25


class Progress:
    """Says on `stream`, standard error unless given, what goes on. Whoever made it ends it with `clear`.

    On a terminal it rewrites one line, at most four times a second but for steps. Elsewhere a thread writes lines; the
    methods may be called by one thread at a time.
    """

    def __init__(self, stream: TextIO | None = None, seconds: float | None = None) -> None:
        self._stream = stream if stream is not None else sys.stderr
        self._is_terminal = self._stream.isatty()
        self._seconds = _seconds() if seconds is None else seconds
        self._last = 0.0
        self._began = time.monotonic()
        self._now = "", True
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def step(self, text: str) -> None:
        """What goes on from now on, such as `configuring`; where lines are written, with the seconds so far."""
        self._tell(text, is_step=True)

    def show(self, text: str) -> None:
        """How far the run is, such as `12 of 290`."""
        if not self._is_terminal or time.monotonic() - self._last >= _EVERY:
            self._tell(text, is_step=False)

    def clear(self) -> None:
        """Empties the line, before something else is written and at the end; goes on with the next step."""
        if self._is_terminal and self._last:
            self._write("\r\x1b[K")
        if self._thread is not None:
            self._ended.set()
            self._thread.join()
            self._thread = None

    def _tell(self, text: str, *, is_step: bool) -> None:
        if self._is_terminal:
            self._last = time.monotonic()
            self._write(f"\r\x1b[K{text}{' …' if is_step else ''}")
            return
        self._now = text, is_step
        if self._thread is None and self._seconds > 0:
            self._ended = threading.Event()
            self._thread = threading.Thread(target=self._beat, args=(self._ended,), daemon=True)
            self._thread.start()

    def _beat(self, ended: threading.Event) -> None:
        said = ""
        while not ended.wait(self._seconds):
            text, is_step = self._now
            line = f"{text}, {time.monotonic() - self._began:.0f} s" if is_step else text
            if line != said:
                self._write(f"{line}\n")
                said = line

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def _seconds() -> float:
    try:
        return float(os.environ.get(ENVIRONMENT, SECONDS))
    except ValueError:
        return SECONDS
