"""A tune on several GPUs of this machine: each has a thread and a worker process, and takes whole ladders."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from typing import Protocol, TypeVar

from ckgen.measure.model import Measurer
from ckgen.measure.remote import Opens
from ckgen.progress import Standing
from ckgen.tune.gathered import Gathered
from ckgen.tune.journal import Contents, Header, Kept
from ckgen.tune.problems import Problem
from ckgen.tune.remote import Ask, Part, PartKeeper, Task, confirmed_by, gather, tasks_of, tuned_by
from ckgen.tune.run import Options

T = TypeVar("T")
Opened = tuple[Measurer, Header]


class OfGpus(Opens[Opened], Protocol):
    """What measures on the GPUs of this machine."""

    def on_gpu(self, number: int) -> Opens[Opened]:
        """On that one of them."""
        ...


def tune_on_gpus(
    numbers: Sequence[int],
    ladders: Sequence[Sequence[Problem]],
    device: OfGpus,
    options: Options,
    held: Contents,
    journal: Path,
    progress: Callable[[Standing], None] = lambda standing: None,
) -> Gathered:
    """As Tuner.tune, by all GPUs of these numbers at once; `budget` is of the clock. Errors as Device.open's.

    Each measurement is in the journal before its GPU's next begins.
    """
    with ExitStack() as stack:
        keeper = PartKeeper(journal, held, stack)
        gpus = _Gpus(numbers, device, keeper, options.budget, sum(map(len, ladders)))
        tasks = tasks_of(ladders, device, options, held)
        return gather(lambda asked: gpus.tune(asked, progress), gpus.confirm, tasks, options, keeper)


class _Stopped(Exception):
    """Another thread's error ends all."""


class _Gpus:
    def __init__(
        self, numbers: Sequence[int], device: OfGpus, keeper: PartKeeper, budget: float | None, problems: int
    ) -> None:
        self._numbers, self._device, self._keeper = numbers, device, keeper
        self._ends = time.monotonic() + budget if budget is not None else None
        self._left = problems
        self._lock = threading.Lock()
        self._stopped = threading.Event()

    def tune(self, tasks: Iterable[Task], progress: Callable[[Standing], None]) -> Iterator[tuple[Task, Part]]:
        """Each ladder's end, as they come."""
        wanted = list(tasks)
        progress(Standing(len(wanted), 0))
        for done, ended in enumerate(self._each(wanted, self._tune), 1):
            progress(Standing(len(wanted), done))
            yield ended

    def confirm(self, asked: Sequence[Ask]) -> Iterator[tuple[Ask, Part]]:
        """What each is answered."""
        return self._each(asked, self._confirm)

    def _tune(self, task: Task, measurer: Measurer, header: Header) -> Part:
        options = replace(task.options, budget=self._share(len(task.ladder)))
        return tuned_by(measurer, replace(task, options=options), self._kept(header), self._heard)

    def _confirm(self, ask: Ask, measurer: Measurer, header: Header) -> Part:
        return confirmed_by(measurer, ask, self._kept(header))

    def _kept(self, header: Header) -> Kept:
        numbers: dict[int, int] = {}
        return Kept(header, lambda made: self._keeper.keep(header, made, numbers))

    def _heard(self, _: str) -> None:
        if self._stopped.is_set():
            raise _Stopped

    def _share(self, problems: int) -> float | None:
        """Of a ladder with so many, if all that are left are shared by the GPUs alike."""
        if self._ends is None:
            return None
        with self._lock:
            left = max(self._ends - time.monotonic(), 0.0)
            share = left * len(self._numbers) * problems / max(self._left, 1)
            self._left -= problems
        return min(left, share)

    def _each(self, tasks: Sequence[T], function: Callable[[T, Measurer, Header], Part]) -> Iterator[tuple[T, Part]]:
        """The first error ends all, when each thread is at its next measurement."""
        waiting = deque(tasks)
        ends: SimpleQueue[tuple[T, Part] | Exception | None] = SimpleQueue()

        def work(number: int) -> None:
            try:
                with ExitStack() as stack:
                    measures: Opened | None = None
                    while waiting and not self._stopped.is_set():
                        try:
                            task = waiting.popleft()
                        except IndexError:
                            break
                        measures = measures or self._open(number, stack)
                        ends.put((task, function(task, *measures)))
            except _Stopped:
                pass
            except Exception as error:
                ends.put(error)
            finally:
                ends.put(None)

        threads = [threading.Thread(target=work, args=(number,), daemon=True) for number in self._numbers]
        for thread in threads:
            thread.start()
        failed: Exception | None = None
        try:
            running = len(threads)
            while running:
                ended = ends.get()
                if ended is None:
                    running -= 1
                elif isinstance(ended, Exception):
                    failed = failed or ended
                    self._stopped.set()
                else:
                    yield ended
        finally:
            self._stopped.set()
        if failed is not None:
            raise failed
        self._stopped.clear()

    def _open(self, number: int, stack: ExitStack) -> Opened:
        """One after another: what is built for the first is there for the others."""
        with self._lock:
            opened: AbstractContextManager[Opened] = self._device.on_gpu(number).open()
            return stack.enter_context(opened)
