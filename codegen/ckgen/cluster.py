"""Tasks on many machines, through dask.distributed: results as they come, tasks of a lost worker done again."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from ckgen.model.errors import UsageError
from ckgen.progress import Standing

T = TypeVar("T")
R = TypeVar("R")

LOCAL = "local"
_MOST_LOSSES = 3
_AHEAD = 3
"""Tasks that are at the scheduler, per thread of its workers; of tagged ones, which have a worker alone, there is one.
A worker that dies counts against all that it has."""
_OF_HERE = {
    # A worker that died restarts; what is away for longer than this, even twice, would be given up instead.
    "distributed.deploy.lost-worker-timeout": "1 day",
    # Workers are forks of a process that has imported dask, which takes each of them a second otherwise.
    "distributed.worker.multiprocessing-method": "forkserver",
}
_SECONDS = 30
_SECONDS_TO_GATHER = 3


@dataclass(frozen=True, slots=True)
class Lost:
    """In place of a result: every worker that had the task died."""


def place_of(scheduler: str) -> tuple[str | None, int | None]:
    """What --scheduler means: an address, or `local` or `local:N`, which is none and the number of workers."""
    word, _, count = scheduler.partition(":")
    if word != LOCAL:
        return scheduler, None
    if scheduler != LOCAL and not (count.isdecimal() and int(count[:9]) > 0):
        raise UsageError(f"--scheduler takes an address, local or local:N; got '{scheduler}'")
    return None, int(count) if count else None


def run_on(
    tasks: Iterable[T],
    function: Callable[[T], R],
    scheduler: str | None = None,
    workers: int | None = None,
    tags: Sequence[str] = (),
    progress: Callable[[Standing], None] = lambda standing: None,
    most_losses: int = _MOST_LOSSES,
) -> Iterator[tuple[T, R | Lost]]:
    """Each task once, with what `function` returned of it, in the order in which they end.

    `scheduler` None: `workers` processes of this machine, as many as cores where that is None. Of the scheduler's
    workers only those take tasks that were started with all of `tags` as resources, such as `--resources
    gfx942:304=1`; a task takes one of each. A function may run more than once for a task, where a worker is lost; what
    it raises is raised here, and ends all. `most_losses`: how often dask gives a task up before it is Lost, each time
    after four workers died that had it, if only in their queue. UsageError where there is no dask, no scheduler or no
    such worker.
    """
    wanted = list(tasks)
    if not wanted:
        return
    with _client(scheduler, workers, tags) as client:
        yield from _Run(client, wanted, function, dict.fromkeys(tags, 1), progress, most_losses).results()


class _Run:
    def __init__(
        self,
        client: Any,
        tasks: Sequence[Any],
        function: Callable[[Any], Any],
        needs: dict[str, int],
        progress: Callable[[Standing], None],
        most_losses: int,
    ) -> None:
        self.client, self.tasks, self.function, self.needs, self.progress = client, tasks, function, needs, progress
        self.most_losses = most_losses
        self.left = iter(range(len(tasks)))
        self.index_of: dict[Any, int] = {}
        self.losses: dict[int, int] = {}

    def results(self) -> Iterator[tuple[Any, Any]]:
        from distributed import as_completed

        ended = as_completed(loop=self.client.loop)
        self._fill(ended)
        done = failed = 0
        self.progress(Standing(len(self.tasks), done, failed, len(self.index_of)))
        for future in ended:
            index = self.index_of.pop(future.key, None)
            if index is None:
                continue
            result = self._result(future, index)
            if result is _AGAIN:
                self._submit(ended, index)
                continue
            done, failed = done + 1, failed + isinstance(result, Lost)
            self._fill(ended)
            self.progress(Standing(len(self.tasks), done, failed, len(self.index_of)))
            yield self.tasks[index], result

    def _result(self, future: Any, index: int) -> Any:
        from distributed import KilledWorker

        if future.status in ("cancelled", "lost"):
            return _AGAIN
        error = future.exception() if future.status == "error" else None
        if error is None:
            return self._gathered(future, index)
        if not isinstance(error, KilledWorker):
            raise error
        return self._given_up(index)

    def _gathered(self, future: Any, index: int) -> Any:
        """The result from its worker; where that died with it, dask or this does the task again, under another key."""
        from distributed import KilledWorker

        try:
            return future.result(timeout=_SECONDS_TO_GATHER)
        except TimeoutError:
            return _AGAIN
        except KilledWorker:
            return self._given_up(index)

    def _given_up(self, index: int) -> Any:
        self.losses[index] = self.losses.get(index, 0) + 1
        return _AGAIN if self.losses[index] < self.most_losses else Lost()

    def _fill(self, ended: Any) -> None:
        """So many that no worker waits, and no more: tasks may be large."""
        most = (1 if self.needs else _AHEAD) * max(sum(self.client.nthreads().values()), 1)
        while len(self.index_of) < most and (index := next(self.left, None)) is not None:
            self._submit(ended, index)

    def _submit(self, ended: Any, index: int) -> None:
        future = self.client.submit(self.function, self.tasks[index], pure=False, resources=self.needs or None)
        self.index_of[future.key] = index
        ended.add(future)


_AGAIN = object()


@contextmanager
def _client(scheduler: str | None, workers: int | None, tags: Sequence[str]) -> Iterator[Any]:
    try:
        import dask.config
        from distributed import Client, LocalCluster
    except ImportError:
        raise UsageError("--scheduler needs dask.distributed: pip install 'ckgen[cluster]'") from None
    with ExitStack() as stack:
        stack.enter_context(_hushed())
        address: Any = scheduler
        if scheduler is None:
            stack.enter_context(dask.config.set(_OF_HERE))
            address = stack.enter_context(
                LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    processes=True,
                    dashboard_address=None,
                    silence_logs=logging.CRITICAL,
                    resources=dict.fromkeys(tags, 1),
                    env=dict(os.environ),  # not that of when the first cluster of this process was made
                )
            )
        try:
            client = stack.enter_context(Client(address, timeout=_SECONDS, set_as_default=False))
        except (OSError, ValueError, TimeoutError) as error:
            raise UsageError(f"no dask scheduler answers at {scheduler}: {error}") from None
        _need_workers(client, scheduler, tags)
        yield client


def _need_workers(client: Any, scheduler: str | None, tags: Sequence[str]) -> None:
    with suppress(TimeoutError):
        client.wait_for_workers(1, timeout=_SECONDS)
    known = client.scheduler_info(n_workers=-1)["workers"].values()
    if any(all(tag in one["resources"] for tag in tags) for one in known):
        return
    start = " ".join([f"dask worker {scheduler}", *(f"--resources '{tag}=1'" for tag in tags)])
    what = f"has a worker for {', '.join(tags)}" if tags and known else "has a worker"
    raise UsageError(f"no scheduler at {scheduler} that {what}: start one with `{start}`")


@contextmanager
def _hushed() -> Iterator[None]:
    """Lost workers are expected here; what becomes of tasks is told by results."""
    logger = logging.getLogger("distributed")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)
