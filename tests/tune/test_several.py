"""A tune by several GPUs at once: all of them work, one journal holds what each measured, and an error ends all."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from ckgen.fuzz.case import Case
from ckgen.measure.model import Measured
from ckgen.model.errors import CkgenError
from ckgen.model.target import Target
from ckgen.tune.journal import Header, Journal, read_journals
from ckgen.tune.outcome import Outcome
from ckgen.tune.problems import Key, Problem, in_ladders, of_counts
from ckgen.tune.run import Options, Tuner
from ckgen.tune.several import tune_on_gpus
from tune.fake_measurer import ENVIRONMENT, FakeMeasurer

TARGET = Target("x86_64_v4", 2)


@dataclass(frozen=True)
class Fake:
    """GPUs by number, each of which waits at its first measurement until `together` have begun one."""

    together: int = 1
    fails: int | None = None
    failing: Callable[[], None] = lambda: None
    number: int = 0
    heard: Callable[[int, Case, Measured], None] = lambda *_: None
    began: threading.Barrier = field(default_factory=lambda: threading.Barrier(1))

    def on_gpu(self, number: int) -> Fake:
        return replace(self, number=number)

    @contextmanager
    def open(self, say: Callable[[str], None] = lambda text: None) -> Iterator[tuple[FakeMeasurer, Header]]:
        if self.number == self.fails:
            self.failing()
            raise CkgenError(f"GPU {self.number} is of another target")
        waits = [self.together > 1]

        def heard(problem: Case, measured: Measured) -> None:
            if waits:
                waits.clear()
                self.began.wait(timeout=20)
            self.heard(self.number, problem, measured)

        environment = replace(ENVIRONMENT, device=f"GPU {self.number}")
        fake = FakeMeasurer([f"k{at:02}" for at in range(12)], noise=0.05, heard=heard)
        yield fake, Header("c0de", environment)


def ladders(count: int) -> tuple[tuple[Problem, ...], ...]:
    """Of two problems each."""
    keys = {Key("gemm_bf16_rcr", 0, m, 64 * n, 64): 1 for n in range(1, count + 1) for m in (1, 2)}
    return in_ladders(of_counts(keys, TARGET))


def alone(folder: Path, count: int, options: Options) -> tuple[Outcome, Path]:
    """By one device."""
    path = folder / "alone.jsonl"
    with Fake().open() as (measurer, header), Journal(path, header) as journal:
        return Tuner(measurer, journal, read_journals([]), options).tune(ladders(count)), path


def told(outcome: Outcome) -> list[tuple[str, str]]:
    return [(one.problem.text, one.winner.candidate.instance if one.winner else one.why) for one in outcome.every]


@pytest.mark.parametrize("options", [Options(), Options(within=0.5)])
def test_all_work_at_once_and_find_what_one_finds(options: Options, tmp_path: Path) -> None:
    journal = tmp_path / "j.jsonl"
    fake = Fake(together=3, began=threading.Barrier(3))
    found = tune_on_gpus((0, 1, 3), ladders(6), fake, options, read_journals([]), journal)
    whole, path = alone(tmp_path, 6, options)
    assert told(found.outcome) == told(whole) and found.outcome.is_least == whole.is_least
    held, wanted = read_journals([journal]), read_journals([path])
    if options.within is None:
        assert Counter(one.key for one in held.records) == Counter(one.key for one in wanted.records)
    assert len(held.records) == found.outcome.measured and len({one.key for one in held.records}) == len(held.records)
    assert {one.environment.device for one in held.headers} == {"GPU 0", "GPU 1", "GPU 3"}
    assert {line.device for line in found.lines("")} == {"GPU 0", "GPU 1", "GPU 3"}
    groups = {(one.problem, one.rung, one.turn) for one in held.records}
    assert len(groups) == len({one.together for one in held.records})

    again = tune_on_gpus((0, 1), ladders(6), Fake(), options, held, journal)
    assert (again.outcome.measured, told(again.outcome)) == (0, told(found.outcome))


def test_what_was_measured_is_in_the_journal_before_the_next(tmp_path: Path) -> None:
    journal = tmp_path / "j.jsonl"

    def heard(number: int, problem: Case, measured: Measured) -> None:
        kept = {(one.problem, one.measured) for one in read_journals([journal]).records}
        assert (problem.text(), measured) in kept

    tune_on_gpus((0,), ladders(1), Fake(heard=heard), Options(), read_journals([]), journal)


def test_an_error_of_one_ends_all_and_what_was_measured_is_there(tmp_path: Path) -> None:
    """The other does not even end its ladder."""
    whole, _ = alone(tmp_path, 1, Options())
    journal, seen = tmp_path / "j.jsonl", []
    fails = threading.Event()

    def heard(number: int, problem: Case, measured: Measured) -> None:
        seen.append(measured)
        fails.wait(20)
        time.sleep(0.02)

    with pytest.raises(CkgenError, match="GPU 1 is of another target"):
        fake = Fake(fails=1, failing=fails.set, heard=heard)
        tune_on_gpus((0, 1), ladders(400), fake, Options(), read_journals([]), journal)
    records = read_journals([journal]).records if journal.exists() else ()
    assert len(records) == len(seen) < whole.measured


def test_a_budget_is_of_the_clock_and_shared_by_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float | None] = []

    def tuned(measurer: object, task: object, *_: object) -> None:
        asked.append(task.options.budget)  # type: ignore[attr-defined]
        raise CkgenError("seen")

    monkeypatch.setattr("ckgen.tune.several.tuned_by", tuned)
    monkeypatch.setattr("ckgen.tune.several.time.monotonic", lambda: 100.0)
    for numbers in ((0,), (0, 1), tuple(range(9))):
        with pytest.raises(CkgenError, match="seen"):
            tune_on_gpus(numbers, ladders(4), Fake(), Options(budget=60), read_journals([]), tmp_path / "j.jsonl")
    shares = sorted({one for one in asked if one is not None})
    assert shares[0] == 15 and 30 in shares and shares[-1] == 60
