"""How far jobs are."""

from __future__ import annotations

from ckgen.build.pool import Standing
from ckgen.progress import Progress


class ProgressLine(Progress):
    """A Progress that hears of jobs."""

    def __call__(self, standing: Standing) -> None:
        """Shows the standing."""
        self.show(text_of(standing))


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
