"""Tasks on workers of dask: every result once, however many workers die."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter

import distributed
import pytest

from ckgen.cluster import _AGAIN, Lost, _Run, place_of, run_on
from ckgen.model.errors import UsageError
from ckgen.progress import Standing

pytestmark = pytest.mark.filterwarnings("default")


def square(number: int) -> tuple[int, int]:
    """The square, and who found it."""
    time.sleep(0.02)
    return number * number, os.getpid()


def kill_yourself(number: int) -> int:
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def fail(number: int) -> int:
    raise ValueError(f"not {number}")


@pytest.mark.parametrize("kills", [3, pytest.param(20, marks=[pytest.mark.slow, pytest.mark.long])])
def test_workers_die_and_every_result_is_there_once(kills: int) -> None:
    """Most of its time are workers that start anew."""
    chance, killed, found = random.Random(20), set[int](), Counter[int]()
    standings: list[Standing] = []
    tasks = list(range(max(24, 4 * kills)))
    for task, made in run_on(tasks, square, workers=4, progress=standings.append):
        assert not isinstance(made, Lost) and made[0] == task * task
        found[task] += 1
        if len(killed) < kills and made[1] not in killed and chance.random() < 0.5:
            os.kill(made[1], signal.SIGKILL)
            killed.add(made[1])
    assert len(killed) == kills
    assert found == Counter(tasks)
    assert standings[-1] == Standing(len(tasks), len(tasks)) and standings[0].done == 0
    assert [one.done for one in standings[1:]] == list(range(1, len(tasks) + 1))


@pytest.mark.slow
def test_a_task_that_kills_its_workers_is_lost_and_the_others_are_not() -> None:
    found = dict(run_on(range(6), kill_yourself, workers=2))
    assert found.pop(3) == Lost() and found == {one: one for one in (0, 1, 2, 4, 5)}


@pytest.mark.parametrize("most", [3, 10])
def test_a_task_is_done_again_so_often_and_no_more(most: int) -> None:
    run = _Run(None, [7], square, {}, lambda _: None, most)
    assert [run._given_up(0) for _ in range(most)] == [_AGAIN] * (most - 1) + [Lost()]


def test_what_a_task_raises_ends_all_and_leaves_no_process() -> None:
    with pytest.raises(ValueError, match="not 7"):
        list(run_on([7], fail, workers=1))


def told(name: str) -> str | None:
    return os.environ.get(name)


def test_workers_have_the_environment_that_is_there_when_they_start(monkeypatch: pytest.MonkeyPatch) -> None:
    for word in ("one", "two"):
        monkeypatch.setenv("CKGEN_TESTED", word)
        assert list(run_on(["CKGEN_TESTED"], told, workers=1)) == [("CKGEN_TESTED", word)]


def who(_: int) -> str:
    """The worker that has the task."""
    return str(distributed.get_worker().name)


def test_workers_take_only_what_they_are_tagged_for() -> None:
    scheduler = {"cls": distributed.Scheduler, "options": {"dashboard": False}}
    workers = {
        name: {"cls": distributed.Worker, "options": {"nthreads": 1, "resources": resources}}
        for name, resources in (("tagged", {"gfx942:304": 1}), ("plain", {}))
    }
    with distributed.SpecCluster(workers=workers, scheduler=scheduler) as cluster:
        address = cluster.scheduler_address
        assert Counter(run_on(range(9), who, address, tags=["gfx942:304"])) == {(one, "tagged"): 1 for one in range(9)}
        with pytest.raises(UsageError, match="--resources 'gfx950:256=1'"):
            list(run_on([2], who, address, tags=["gfx950:256"]))


def test_no_scheduler_is_a_usage_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ckgen.cluster._SECONDS", 0.2)
    with pytest.raises(UsageError, match=r"no dask scheduler answers at tcp://127\.0\.0\.1:9"):
        list(run_on([1], abs, "tcp://127.0.0.1:9"))
    assert list(run_on([], abs, "tcp://127.0.0.1:9")) == []


def test_the_words_of_the_option() -> None:
    assert [place_of(word) for word in ("local", "local:3", "tcp://host:8786")] == [
        (None, None), (None, 3), ("tcp://host:8786", None),
    ]  # fmt: skip
    for wrong in ("local:", "local:0", "local:x"):
        with pytest.raises(UsageError, match="local:N"):
            place_of(wrong)
