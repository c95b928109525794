"""What a worker process keeps between two measurements of one problem: operands, what was right, what is warm."""

from __future__ import annotations

import ctypes
import weakref
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import pytest

from bad_library import Bad
from ckgen.fuzz.case import Case
from ckgen.measure.conditions import Conditions, Place
from ckgen.measure.errors import errors_of
from ckgen.measure.loaded import Loaded
from ckgen.measure.memory import HostPlaced, Workspace
from ckgen.measure.model import Candidate, Measured, MeasureStatus
from ckgen.measure.trial import Refused, Trial
from ckgen.measure.worker import Worker
from ckgen.runtime.abi import RuntimeFailure
from ckgen.tune.search import CONFIRM, Rung, search

pytestmark = pytest.mark.cpp


class Counted:
    """Workers in this process, where time passes only while a kernel runs: each takes its own, so that one is best."""

    def __init__(self, bad: Bad, patch: pytest.MonkeyPatch) -> None:
        self.now, self.did, self.problem = 0.0, Counter[str](), bad.problem()
        self._loaded = Loaded(bad.library, "good", bad.contents, Place.HOST)
        self.candidates = self._loaded.candidates(self.problem)[:10]
        self._asked: Sequence[Candidate] = ()
        self._at = self.candidates[0]
        self._told: list[Mapping[str, Any]] = []
        self._run, self._errors = self._loaded.dispatcher.run, errors_of
        patch.setattr(self._loaded.dispatcher, "run", self._ran)
        patch.setattr(self._loaded.dispatcher, "launcher", lambda *words: partial(self._ran, *words))
        patch.setattr("ckgen.measure.trial.errors_of", self._judged)
        patch.setattr(HostPlaced, "send", lambda placed: self.did.update(["verifications"]))
        patch.setattr("ckgen.measure.timing.time.perf_counter", lambda: self.now)
        patch.setattr("ckgen.measure.timing.waited", lambda: 0.0)

    def worker(self) -> Worker:
        return Worker(self._loaded, Conditions(), self._tell)

    def measure(
        self, worker: Worker, problem: Case, rung: Rung, asked: Sequence[Candidate]
    ) -> dict[Candidate, Measured]:
        self._asked, self._told = asked, []
        self.did["asked"] += len(asked)
        words = [asdict(one) for one in asked]
        request = {"do": "measure", "problem": problem.text(), "candidates": words, "checked": [], "peers": []}
        worker.answer({**request, "effort": asdict(rung.effort)})
        assert sum("checked" in one for one in self._told) == len(asked)
        timed = {asked[int(one["timed"])]: one for one in self._told if "timed" in one}
        return {
            one: Measured(one, MeasureStatus.OK, "", said["median_us"], said["spread"], said["runs"])
            for one, said in timed.items()
        }

    def _tell(self, message: Mapping[str, Any]) -> None:
        self._told.append(message)
        if "candidate" in message:
            self._at = self._asked[message["candidate"]]

    def _ran(self, *words: Any) -> None:
        self._run(*words)
        self.did["calls"] += 1
        self.now += 0.01 * (1.05 + self.candidates.index(self._at))

    def _judged(self, results: Any) -> Any:
        self.did["verdicts"] += 1
        return self._errors(results)


@pytest.fixture
def counted(bad: Bad, monkeypatch: pytest.MonkeyPatch) -> Counted:
    return Counted(bad, monkeypatch)


def halving(counted: Counted, *, is_one_process: bool) -> Counter[str]:
    """What a search does, by one worker or by a new one for each of its rungs."""
    one = counted.worker()
    counted.did.clear()
    found = search(
        counted.candidates,
        (),
        lambda rung, asked: counted.measure(one if is_one_process else counted.worker(), counted.problem, rung, asked),
    )
    assert min(found.confirmed.values(), key=lambda each: each.median_us).candidate == counted.candidates[0]
    return Counter(counted.did)


def test_each_rung_verifies_and_warms_up_only_what_is_new(counted: Counted) -> None:
    anew, kept = halving(counted, is_one_process=False), halving(counted, is_one_process=True)
    count = len(counted.candidates)
    assert count == 10 and anew["asked"] == kept["asked"] == 18  # 10, then 8
    assert (anew["verifications"], kept["verifications"]) == (18, 10)
    runs_of_a_check, calls_of_a_warm_up = 2, 3
    assert anew["calls"] - kept["calls"] == 8 * (runs_of_a_check + calls_of_a_warm_up - 1)
    assert (anew["calls"], kept["calls"]) == (136, 104), "seven take three times as long as the fastest: warm-up alone"


def test_another_problem_is_verified_anew_and_so_is_the_first_after_it(counted: Counted) -> None:
    worker, some = counted.worker(), counted.candidates[:2]
    for problem in (counted.problem, replace(counted.problem, seed=4), counted.problem, counted.problem):
        counted.measure(worker, problem, CONFIRM, some)
    assert counted.did["verifications"] == 3 * len(some)


def test_the_same_numbers_have_one_verdict_and_any_other_their_own(
    counted: Counted, monkeypatch: pytest.MonkeyPatch
) -> None:
    trial = Trial(counted._loaded, counted.problem, Conditions(), lambda what: None)
    first, second, third, fourth = [one for one in counted.candidates if "streamk" not in one.instance][:4]
    right = trial.check(first)
    assert trial.check(second) == right and counted.did["verdicts"] == 1

    def run(plan: Any, args: Any, workspace: int) -> None:
        counted._ran(plan, args, workspace)
        ctypes.c_uint8.from_address(args.c + 1).value ^= 0x40

    with monkeypatch.context() as patch:
        patch.setattr(counted._loaded.dispatcher, "run", run)
        with pytest.raises(Refused) as refused:
            trial.check(third)
    assert refused.value.status is MeasureStatus.WRONG and counted.did["verdicts"] == 2
    assert trial.check(fourth) == right and counted.did["verdicts"] == 3


def test_what_was_refused_is_not_run_again(counted: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = Counter[str]()

    def refuse(*words: Any) -> None:
        ran["refused"] += 1
        raise RuntimeFailure(1, "not here")

    monkeypatch.setattr(counted._loaded.dispatcher, "run", refuse)
    trial = Trial(counted._loaded, counted.problem, Conditions(), lambda what: None)
    for _ in range(2):
        with pytest.raises(Refused, match="not here"):
            trial.check(counted.candidates[0])
    assert ran["refused"] == 1


def test_what_is_timed_goes_on_using_its_workspace_when_another_needs_a_larger_one(
    bad: Bad, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = Loaded(bad.library, "good", bad.contents, Place.HOST)
    real, made, used, sizes = loaded.memory.workspace, list[weakref.ref[Workspace]](), list[int](), list[int]()

    def workspace(size: int) -> Workspace:
        sizes.append(size)
        room = real(size)
        made.append(weakref.ref(room))
        return room

    monkeypatch.setattr(loaded.memory, "workspace", workspace)
    monkeypatch.setattr(loaded.dispatcher, "launcher", lambda plan, args, address, stream: used.append(address))

    def trial() -> Trial:
        return Trial(loaded, bad.problem(), Conditions(), lambda word: None)

    needed = {}
    for candidate in loaded.candidates(bad.problem()):
        trial().body(candidate, 0.0)
        needed[candidate] = sizes[-1]
    used.clear()
    together = trial()
    for candidate in sorted(needed, key=lambda one: needed[one]):
        together.body(candidate, 0.0)
    alive = {room.address for one in made if (room := one()) is not None}
    assert len({*used}) > 1 and {*used} <= alive
