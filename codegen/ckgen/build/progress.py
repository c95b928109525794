"""One line on a terminal that says how far a run is; nothing anywhere else."""

from __future__ import annotations

import sys
import time
from typing import TextIO

from ckgen.build.pool import Standing

_EVERY = 0.25


class ProgressLine:
    """Rewrites one line of `stream`, standard error unless said, at most four times a second."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream if stream is not None else sys.stderr
        self._shows = self._stream.isatty()
        self._last = 0.0

    def __call__(self, standing: Standing) -> None:
        """Shows the standing."""
        now = time.monotonic()
        if self._shows and now - self._last >= _EVERY:
            self._last = now
            self._stream.write(f"\r\x1b[K{text_of(standing)}")
            self._stream.flush()

    def clear(self) -> None:
        """Empties the line, before something else is written and at the end."""
        if self._shows and self._last:
            self._stream.write("\r\x1b[K")
            self._stream.flush()


def text_of(standing: Standing) -> str:
    """As in `12 of 290, 2 running, 1 failed, 41 min left`."""
    words = [f"{standing.done} of {standing.total}"]
    if standing.running:
        words.append(f"{standing.running} running")
    if standing.failed:
        words.append(f"{standing.failed} failed")
    if standing.done < standing.total:
        words.append(f"{duration(standing.seconds_left)} left")
    return ", ".join(words)


def duration(seconds: float) -> str:
    """Seconds below two minutes, minutes below two hours, else hours and minutes."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
