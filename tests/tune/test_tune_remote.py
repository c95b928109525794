"""A tune by workers of a cluster: however many are killed, no record is lost and none is there twice."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from ckgen.cluster import Lost
from ckgen.fuzz.case import Case
from ckgen.measure.model import Measured
from ckgen.model.target import Target
from ckgen.tune.journal import Header, Journal, read_journals
from ckgen.tune.outcome import Outcome
from ckgen.tune.problems import Key, Problem, in_ladders, of_counts
from ckgen.tune.remote import LOST, Ask, Part, Task, tune_on
from ckgen.tune.run import Options, Tuner
from tune.fake_measurer import ENVIRONMENT, FakeMeasurer

pytestmark = pytest.mark.filterwarnings("default")
TARGET = Target("x86_64_v4", 2)
SEED = 20


@dataclass(frozen=True)
class Fake:
    """A device whose every measurement stands in a file of its process, and takes `small` seconds."""

    folder: Path
    small: float = 0.0
    candidates: int = 12

    @contextmanager
    def open(self, say: Callable[[str], None] = lambda text: None) -> Iterator[tuple[FakeMeasurer, Header]]:
        file = os.open(self.folder / str(os.getpid()), os.O_WRONLY | os.O_CREAT | os.O_APPEND)

        def heard(problem: Case, measured: Measured) -> None:
            os.write(file, f"{problem.text()} {measured.candidate}\n".encode())
            time.sleep(self.small)

        fake = FakeMeasurer([f"k{at:02}" for at in range(self.candidates)], noise=0.05, heard=heard)
        yield fake, Header("c0de", ENVIRONMENT)


def ladders(count: int) -> tuple[tuple[Problem, ...], ...]:
    """Of two problems each."""
    keys = {Key("gemm_bf16_rcr", 0, m, 64 * n, 64): 1 for n in range(1, count + 1) for m in (1, 2)}
    return in_ladders(of_counts(keys, TARGET))


def told(outcome: Outcome) -> list[tuple[str, str]]:
    return [(one.problem.text, one.winner.candidate.instance if one.winner else one.why) for one in outcome.every]


class Killer(threading.Thread):
    """Kills, at random times, random processes that measured; each once."""

    def __init__(self, folder: Path, kills: int, seed: int) -> None:
        super().__init__(daemon=True)
        self.folder, self.kills, self.draw = folder, kills, random.Random(seed)
        self.killed: set[str] = set()
        self.over = threading.Event()

    def run(self) -> None:
        while len(self.killed) < self.kills and not self.over.wait(self.draw.uniform(0.1, 0.4)):
            alive = sorted({one.name for one in self.folder.iterdir()} - self.killed)
            if alive:
                pid = self.draw.choice(alive)
                os.kill(int(pid), signal.SIGKILL)
                self.killed.add(pid)


@pytest.mark.parametrize("kills", [3, pytest.param(20, marks=[pytest.mark.slow, pytest.mark.long])])
def test_kills_lose_nothing_and_repeat_nothing(kills: int, tmp_path: Path) -> None:
    """Most of its time are workers that start anew."""
    (tmp_path / "seen").mkdir()
    asked = ladders(max(36, 6 * kills))
    killer = Killer(tmp_path / "seen", kills, SEED)
    killer.start()
    journal = tmp_path / "j.jsonl"
    fake = Fake(tmp_path / "seen", small=0.002)
    found = tune_on("local:4", TARGET, asked, fake, Options(), read_journals([]), journal)
    killer.over.set()
    killer.join()
    assert len(killer.killed) == kills, f"seed {SEED}: the tune was over before"

    (tmp_path / "alone").mkdir()
    with Fake(tmp_path / "alone").open() as (measurer, header), Journal(tmp_path / "alone.jsonl", header) as alone:
        whole = Tuner(measurer, alone, read_journals([]), Options()).tune(asked)
    records, wanted = read_journals([journal]).records, read_journals([tmp_path / "alone.jsonl"]).records
    assert Counter(one.key for one in records) == Counter(one.key for one in wanted)
    lines = [line for line in journal.read_text().splitlines() if line.startswith('{"measured"')]
    assert len(lines) == len(records) == found.outcome.measured
    assert told(found.outcome) == told(whole) and found.outcome.lost == 0
    assert len({(one.problem, one.rung, one.turn) for one in records}) == len({one.together for one in records})


def test_what_a_journal_holds_is_not_measured_again(tmp_path: Path) -> None:
    (tmp_path / "seen").mkdir()
    fake, journal = Fake(tmp_path / "seen"), tmp_path / "j.jsonl"
    first = tune_on("local", TARGET, ladders(2), fake, Options(), read_journals([]), journal)
    held = read_journals([journal])
    again = tune_on("local", TARGET, ladders(3), fake, Options(), held, journal)
    assert again.outcome.known == first.outcome.measured
    assert len(read_journals([journal]).records) == first.outcome.measured + again.outcome.measured
    assert told(again.outcome)[:4] == told(first.outcome)
    assert [line.device for line in again.lines("")] == [ENVIRONMENT.device] * 6
    best = {one.problem.text: one.winner for one in again.outcome.every}
    assert all(best[text] in again.known.best(text).values() for text in best)


def test_a_record_that_comes_twice_is_kept_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "ckgen.tune.remote.timed_on",
        lambda tasks, function, *_: (each for task in tasks for each in [(task, function(task))] * 2),
    )
    (tmp_path / "seen").mkdir()
    journal = tmp_path / "j.jsonl"
    tune_on("", TARGET, ladders(2), Fake(tmp_path / "seen"), Options(), read_journals([]), journal)
    records = read_journals([journal]).records
    assert len(records) > 48 and set(Counter(one.key for one in records).values()) == {1}
    assert len({one.together for one in records}) == len({(one.problem, one.rung, one.turn) for one in records})
    lines = journal.read_text().splitlines()
    assert [sum(line.startswith(f'{{"{kind}"') for line in lines) for kind in ("header", "asked")] == [1, 4]


def test_a_ladder_whose_workers_died_is_told_and_the_others_are_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts of two machines, each under its own header, as far as they know the budget theirs."""

    def timed_on(tasks: Iterable[Task], function: Callable[[Task], Part], *_: object) -> Iterator[tuple[Task, object]]:
        first, second, third = tasks
        assert [task.options.budget for task in (first, second, third)] == [20, 20, 20]
        yield third, function(third)
        part = function(second)
        there = replace(part.header, environment=replace(ENVIRONMENT, device="another"))
        yield second, replace(part, header=there)
        yield first, Lost()

    monkeypatch.setattr("ckgen.tune.remote.timed_on", timed_on)
    (tmp_path / "seen").mkdir()
    options, journal = Options(budget=60), tmp_path / "j.jsonl"
    found = tune_on("", TARGET, ladders(3), Fake(tmp_path / "seen"), options, read_journals([]), journal)
    assert [one.why for one in found.outcome.every[:2]] == [LOST] * 2 and found.outcome.lost == 2
    assert [one.winner is not None for one in found.outcome.every] == [False] * 2 + [True] * 4
    assert [line.device for line in found.lines("")] == ["a fake"] * 2 + ["another"] * 2
    assert [one.environment.device for one in read_journals([journal]).headers] == ["a fake", "another"]


def test_few_kernels_within_a_bound_are_those_of_one_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "ckgen.tune.remote.timed_on", lambda tasks, function, *_: ((task, function(task)) for task in tasks)
    )
    (tmp_path / "seen").mkdir()
    fake, options, journal = Fake(tmp_path / "seen"), Options(within=0.5), tmp_path / "j.jsonl"
    found = tune_on("", TARGET, ladders(4), fake, options, read_journals([]), journal)
    with fake.open() as (measurer, header), Journal(tmp_path / "alone.jsonl", header) as alone:
        whole = Tuner(measurer, alone, read_journals([]), options).tune(ladders(4))
    assert told(found.outcome) == told(whole) and found.outcome.is_least == whole.is_least
    kernels = {one.winner.candidate for one in found.outcome.every if one.winner is not None}
    assert len(kernels) < 4 and len(found.lines("")) == 8
    records = read_journals([journal]).records
    assert len(records) == found.outcome.measured
    for one in found.outcome.every:
        assert one.winner is not None
        last = max((each.turn, each.together) for each in records if each.problem == one.problem.text)
        beside = [each for each in records if (each.turn, each.together) == last]
        assert len(beside) > 1 and one.winner.candidate in {each.measured.candidate for each in beside}

    again = tune_on("", TARGET, ladders(4), fake, options, read_journals([journal]), journal)
    assert (again.outcome.measured, told(again.outcome)) == (0, told(found.outcome))


def test_a_problem_whose_workers_die_while_few_kernels_are_sought_keeps_its_winner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost: list[str] = []

    def timed_on(
        tasks: Iterable[Task | Ask], function: Callable[..., Part], *_: object
    ) -> Iterator[tuple[object, object]]:
        for task in tasks:
            if isinstance(task, Ask) and not lost:
                lost.append(task.problem.text)
                yield task, Lost()
            else:
                yield task, function(task)

    (tmp_path / "seen").mkdir()
    fake = Fake(tmp_path / "seen", candidates=40)  # so many that not all are timed beside each other
    monkeypatch.setattr("ckgen.tune.remote.timed_on", timed_on)
    own = tune_on("", TARGET, ladders(4), fake, Options(), read_journals([]), tmp_path / "a.jsonl")
    found = tune_on("", TARGET, ladders(4), fake, Options(within=2.0), read_journals([]), tmp_path / "b.jsonl")
    assert len(lost) == 1 and dict(told(found.outcome))[lost[0]] == dict(told(own.outcome))[lost[0]]
    assert told(found.outcome) != told(own.outcome) and found.outcome.lost == 0
