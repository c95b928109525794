"""How far a run is: a bar on a terminal, elsewhere a line every few seconds, with rate and time left."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.progress import Progress as Bars

ENVIRONMENT = "CKGEN_PROGRESS_SECONDS"
"""Says how many seconds there are between two lines where there is no terminal; 0: there are none."""
SECONDS = 5.0
"""The same where nothing says so; a run that ends before the first line says nothing."""
_QUIET: ContextVar[bool] = ContextVar("quiet", default=False)


@contextmanager
def quiet() -> Iterator[None]:
    """What is made within says nothing, as `--quiet` asks."""
    token = _QUIET.set(True)
    try:
        yield
    finally:
        _QUIET.reset(token)


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a run of `total` things is; `seconds_left` where it is known better than by what was done so far."""

    total: int
    done: int
    failed: int = 0
    running: int = 0
    seconds_left: float | None = None

    @property
    def fraction(self) -> float:
        """As a part of 1; of nothing all is done."""
        return self.done / self.total if self.total else 1.0


class PartDone(str):
    """What is said of a run, and as a part of 1 how far it is; to all but a bar it is its text."""

    __slots__ = ("fraction",)
    fraction: float

    def __new__(cls, text: str, fraction: float) -> PartDone:
        """Of a text."""
        part = super().__new__(cls, text)
        part.fraction = fraction
        return part


class Pace:
    """The rate of a run from the first standing on: what was done before it was there already."""

    def __init__(self) -> None:
        self._began: float | None = None
        self._before = 0

    def text(self, standing: Standing, now: float | None = None) -> str:
        """As in `12 of 290, 2 running, 1 failed, 3.1/s, 41 min left`; `now` in seconds of the monotonic clock."""
        now = time.monotonic() if now is None else now
        if self._began is None:
            self._began, self._before = now, standing.done
        words = [f"{standing.done:,} of {standing.total:,}"]
        words += [f"{standing.running} running"] if standing.running else []
        words += [f"{standing.failed:,} failed"] if standing.failed else []
        rate = (standing.done - self._before) / (now - self._began) if now > self._began else 0.0
        words += [rate_text(rate)] if rate > 0 else []
        left = standing.seconds_left
        if left is None and rate > 0:
            left = (standing.total - standing.done) / rate
        words += [f"{duration(left)} left"] if left is not None and standing.done < standing.total else []
        return ", ".join(words)

    def part(self, before: str, standing: Standing) -> PartDone:
        """The same behind some words, for a bar too."""
        return PartDone(f"{before}{self.text(standing)}", standing.fraction)


class Progress:
    """Says on `stream`, standard error unless given, what goes on. Whoever made it ends it with `clear`.

    A terminal shows a bar where it is known how much there is to do. Elsewhere a thread writes lines; the methods may
    be called by one thread at a time.
    """

    def __init__(self, stream: TextIO | None = None, seconds: float | None = None) -> None:
        self._stream = stream if stream is not None else sys.stderr
        self._is_quiet = _QUIET.get()
        self._is_terminal = self._stream.isatty() and os.environ.get("TERM") != "dumb"
        self._seconds = _seconds() if seconds is None else seconds
        self._began = time.monotonic()
        self._pace = Pace()
        self._now = "", True
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._bars: Bars | None = None

    def step(self, text: str) -> None:
        """What goes on from now on, such as `configuring`; where lines are written, with the seconds so far."""
        self._pace = Pace()
        self._tell(text, is_step=True)

    def show(self, text: str) -> None:
        """How far the run is, in the caller's words, and as a part of 1 where it is a `PartDone`."""
        self._tell(text, is_step=False)

    def counting(self, what: str) -> Callable[[Standing], None]:
        """Says standings of these things, as in `ladders: 12 of 290, 3.1/s, 41 min left`."""
        pace = Pace()
        return lambda standing: self.show(pace.part(f"{what}: ", standing))

    def count(self, done: int, total: int, *, failed: int = 0) -> None:
        """How many of how many things are done; rate and time left are found here."""
        self(Standing(total, done, failed))

    def __call__(self, standing: Standing) -> None:
        """The same as `count`, as runs of jobs tell it."""
        self._tell(self._pace.part("", standing), is_step=False)

    def clear(self) -> None:
        """Removes the bar, before something else is written and at the end; goes on with the next step or count."""
        if self._bars is not None:
            self._bars.stop()
            self._bars = None
        if self._thread is not None:
            self._ended.set()
            self._thread.join()
            self._thread = None

    def _tell(self, text: str, *, is_step: bool) -> None:
        if self._is_quiet:
            return
        if self._is_terminal:
            self._draw(text, text.fraction if isinstance(text, PartDone) else None)
            return
        self._now = text, is_step
        if self._thread is None and self._seconds > 0:
            self._ended = threading.Event()
            self._thread = threading.Thread(target=self._beat, args=(self._ended,), daemon=True)
            self._thread.start()

    def _draw(self, text: str, fraction: float | None) -> None:
        """Rich draws four times a second, in a thread of its own."""
        total = None if fraction is None else 1.0  # of None the bar pulses
        if self._bars is None:
            self._bars = _bars(self._stream)
            self._bars.add_task(text, total=total, completed=fraction or 0.0)  # type: ignore[arg-type]
            self._bars.start()
        else:
            (task,) = self._bars.tasks
            task.total = total  # `update` takes None for what is left as it was
            self._bars.update(task.id, description=text, completed=fraction or 0.0)

    def _beat(self, ended: threading.Event) -> None:
        said = ""
        while not ended.wait(self._seconds):
            text, is_step = self._now
            line = f"{text}, {time.monotonic() - self._began:.0f} s" if is_step else text
            if line != said:
                self._stream.write(f"{line}\n")
                self._stream.flush()
                said = line


def duration(seconds: float) -> str:
    """Seconds below two minutes, minutes below two hours, else hours and minutes."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def rate_text(per_second: float) -> str:
    """Things per second, or per minute where that is less than one."""
    number, unit = (per_second, "s") if per_second >= 1 else (per_second * 60, "min")
    return f"{number:,.0f}/{unit}" if number >= 100 else f"{number:.1f}/{unit}"


def _bars(stream: TextIO) -> Bars:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(file=stream, force_terminal=True)
    columns = (SpinnerColumn(), BarColumn(), TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    # What runs write to standard output is not for the bar's stream: callers clear before they write beside it.
    return Progress(
        *columns,
        console=console,
        transient=True,
        refresh_per_second=4,
        redirect_stdout=False,
        redirect_stderr=False,
    )


def _seconds() -> float:
    try:
        return float(os.environ.get(ENVIRONMENT, SECONDS))
    except ValueError:
        return SECONDS
