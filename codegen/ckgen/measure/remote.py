"""Measuring on workers of a cluster: each has a measurer of its own, kept between tasks, and times one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack
from typing import Any, Protocol, TypeVar

from ckgen.cluster import Lost, place_of, run_on
from ckgen.model.target import Target
from ckgen.progress import Standing

T = TypeVar("T")
R = TypeVar("R")
M_co = TypeVar("M_co", covariant=True)
_MOST_LOSSES = 10
"""Kernels run in processes of their own, so that a task is hardly why its workers died: forty deaths give it up."""


class Opens(Protocol[M_co]):
    """Says what measures, and makes it where it is opened. Equal ones make the same."""

    def open(self, say: Callable[[str], None] = ...) -> AbstractContextManager[M_co]:
        """Builds what is not up to date; `say` hears of it."""
        ...


def timed_on(
    tasks: Iterable[T],
    function: Callable[[T], R],
    scheduler: str,
    target: Target,
    progress: Callable[[Standing], None] = lambda standing: None,
) -> Iterator[tuple[T, R | Lost]]:
    """As run_on, by the workers that are tagged with the target, each with one task at a time.

    A local cluster has one worker unless `local:N` says more: those would time at the same time.
    """
    address, workers = place_of(scheduler)
    return run_on(tasks, function, address, workers or 1, (str(target),), progress, _MOST_LOSSES)


def opened(what: Opens[R]) -> R:
    """On a worker: what was opened for the task before, or for this one."""
    if what not in _open:
        _close()
        stack = ExitStack()
        _open[what] = stack, stack.enter_context(what.open())
    found: R = _open[what][1]
    return found


_open: dict[Any, tuple[ExitStack, Any]] = {}
"""One at most."""


def _close() -> None:
    while _open:
        _open.popitem()[1][0].close()
