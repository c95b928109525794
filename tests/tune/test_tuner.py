"""A tune of several ladders: what is a row, what is not, and why; what journals know is not measured again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from ckgen.fuzz.case import Case
from ckgen.measure.model import Candidate, Measured, MeasureStatus
from ckgen.model.errors import UsageError
from ckgen.model.target import Target
from ckgen.tune.budget import Budget
from ckgen.tune.journal import Contents, Header, Journal, read_journals
from ckgen.tune.known import Known
from ckgen.tune.outcome import Outcome
from ckgen.tune.problems import Key, Problem, in_ladders, of_counts, shard
from ckgen.tune.rounds import LEAST_ROUNDS
from ckgen.tune.run import COMPARED, Options, Tuner, in_order_of_work
from ckgen.tune.search import CONFIRM
from ckgen.tune.search import NAMES as RUNGS
from ckgen.tune.ties import MOST_TURNS
from tune.fake_measurer import ENVIRONMENT, FakeMeasurer

CPU = Target("x86_64_v4", 2)
HEADER = Header("c0de", ENVIRONMENT)
KEYS = {Key("gemm_bf16_rcr", 0, m, n, 64): 1 for m in (1, 2, 4, 8) for n in (64, 128)}
NAMES = [f"k{index:02}" for index in range(12)]


def ladders(*keys: Key) -> tuple[tuple[Problem, ...], ...]:
    return in_ladders(of_counts(dict.fromkeys(keys or KEYS, 1), CPU))


def tune(
    fake: FakeMeasurer,
    path: Path,
    options: Options = Options(),  # noqa: B008
    problems: Sequence[Sequence[Problem]] | None = None,
    header: Header = HEADER,
) -> Outcome:
    known = read_journals([path] if path.exists() else [])
    with Journal(path, header) as journal:
        return Tuner(fake, journal, known, options).tune(problems if problems is not None else ladders())


def by_name(times: dict[str, float]) -> FakeMeasurer:
    return FakeMeasurer(list(times), true=lambda _, one: times[one.instance])


def test_every_problem_has_its_fastest_candidate(tmp_path: Path) -> None:
    fake = FakeMeasurer(NAMES)
    found = tune(fake, tmp_path / "j")
    assert len(found.every) == len(KEYS)
    for one in found.every:
        assert one.winner is not None
        assert one.is_row
        true = {each: fake.true(one.problem.case, each) for each in fake.candidates(one.problem.case)}
        assert true[one.winner.candidate] == min(true.values())


def test_small_problems_are_searched_first_and_those_of_a_ladder_together() -> None:
    keys = [Key("gemm_bf16_rcr", 0, m, n, 64) for n in (64, 4096) for m in (1, 512)]
    order = in_order_of_work(in_ladders(of_counts(dict.fromkeys(keys, 1), CPU)))
    assert [(one.key.m, one.key.n) for one in order] == [(1, 64), (512, 64), (1, 4096), (512, 4096)]


@pytest.mark.parametrize(("us", "is_row"), [(97.7, True), (98.0, False), (98.1, False), (100.0, False)])
def test_a_row_must_beat_what_selection_takes(tmp_path: Path, us: float, is_row: bool) -> None:
    fake = by_name({"usual": 100.0, "other": us, "slow": 300.0})
    fake.usual = "usual"
    (one,) = tune(fake, tmp_path / "j", problems=ladders(Key("gemm_bf16_rcr", 0, 1, 64, 64))).every
    assert one.is_row is is_row
    assert one.why == ("" if is_row else "saves too little over what selection takes")
    assert one.gain is not None


def test_without_a_least_improvement_every_problem_has_a_row(tmp_path: Path) -> None:
    """Also where a tie with what selection takes wins that was timed a hair slower."""
    fake = by_name({"a": 100.2, "usual": 100.0, "slow": 300.0})
    fake.usual = "usual"
    assert all(one.is_row for one in tune(fake, tmp_path / "j", Options(min_improvement=0)).every)


def test_what_selection_takes_is_confirmed_beside_the_winner_however_slow(tmp_path: Path) -> None:
    fake = FakeMeasurer(NAMES)
    fake.usual = NAMES[0]
    for one in tune(fake, tmp_path / "j").every:
        assert Candidate(NAMES[0]) in one.searched.confirmed


def test_each_way_to_fail_is_kept_and_told_and_the_run_goes_on(tmp_path: Path) -> None:
    kinds = [one for one in MeasureStatus if one is not MeasureStatus.OK]
    fake = FakeMeasurer(NAMES, ends=dict(zip(NAMES, kinds, strict=False)))
    found = tune(fake, tmp_path / "j")
    assert all(one.winner is not None for one in found.every)
    assert len(found.failures) == len(KEYS) * (len(kinds) - 2), "what is refused or late is no failure"
    kept = {one.measured.status for one in read_journals([tmp_path / "j"]).records}
    assert kept == {*MeasureStatus} - {MeasureStatus.LATE}, "what is late is timed when the tune goes on"
    assert found.late == len(KEYS)


def test_a_problem_that_nothing_runs_has_no_row(tmp_path: Path) -> None:
    fake = FakeMeasurer(NAMES, ends=dict.fromkeys(NAMES, MeasureStatus.CRASHED))
    assert {one.why for one in tune(fake, tmp_path / "j").every} == {"no candidate could be timed"}
    none = tune(FakeMeasurer([]), tmp_path / "k")
    assert {one.why for one in none.every} == {"no instance that is meant supports it"}


def test_a_problem_that_the_library_refuses_does_not_end_the_others(tmp_path: Path) -> None:
    class Refusing(FakeMeasurer):
        def candidates(self, problem: Case) -> tuple[Candidate, ...]:
            if problem.m == 2:
                raise UsageError("means nothing")
            return super().candidates(problem)

    found = tune(Refusing(NAMES), tmp_path / "j")
    assert [(one.is_row, one.why) for one in found.every if one.problem.key.m == 2] == [(False, "means nothing")] * 2
    assert all(one.is_row for one in found.every if one.problem.key.m != 2)


def test_kernels_that_are_not_meant_are_not_timed(tmp_path: Path) -> None:
    found = tune(FakeMeasurer(NAMES), tmp_path / "j", Options(kernels=("k00", "*5")))
    assert {record.measured.candidate.instance for record in read_journals([tmp_path / "j"]).records} == {"k00", "k05"}
    assert all(one.winner is not None for one in found.every)


def test_a_second_run_measures_nothing_and_says_the_same(tmp_path: Path) -> None:
    first = tune(FakeMeasurer(NAMES, noise=0.1), tmp_path / "j")
    fake = FakeMeasurer(NAMES, noise=0.1, seed=1)
    second = tune(fake, tmp_path / "j")
    assert fake.calls == 0
    assert (second.measured, second.known) == (0, first.measured)
    assert [one.winner for one in second.every] == [one.winner for one in first.every]


def test_another_code_is_measured_anew(tmp_path: Path) -> None:
    first = tune(FakeMeasurer(NAMES), tmp_path / "j")
    second = tune(FakeMeasurer(NAMES), tmp_path / "j", header=replace(HEADER, code="other"))
    assert (second.measured, second.known) == (first.measured, 0)


def test_shards_together_are_the_whole_and_their_journals_say_the_same(tmp_path: Path) -> None:
    whole = tune(FakeMeasurer(NAMES), tmp_path / "whole")
    parts = [shard(ladders(), (part, 3)) for part in (1, 2, 3)]
    assert sorted(map(str, (one.key for part in parts for ladder in part for one in ladder))) == sorted(map(str, KEYS))
    for at, part in enumerate(parts):
        tune(FakeMeasurer(NAMES), tmp_path / f"part{at}", problems=part)
    known = read_journals([tmp_path / f"part{at}" for at in range(3)])
    fake = FakeMeasurer(NAMES)
    with Journal(tmp_path / "joined", HEADER) as journal:
        joined = Tuner(fake, journal, known, Options()).tune(ladders())
    assert fake.calls == 0
    assert [one.winner for one in joined.every] == [one.winner for one in whole.every]


def test_a_spent_budget_leaves_problems_and_says_so(tmp_path: Path) -> None:
    found = tune(FakeMeasurer(NAMES), tmp_path / "j", Options(budget=0))
    assert {one.why for one in found.every} == {"the budget was spent"}
    tune(FakeMeasurer(NAMES), tmp_path / "j")
    again = tune(FakeMeasurer(NAMES), tmp_path / "j", Options(budget=0))
    assert all(one.is_row for one in again.every), "what is known costs nothing"


def test_a_budget_that_ends_meanwhile_ends_what_is_measured_and_asks_nothing_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, ends = [0.0], []

    class Slow(FakeMeasurer):
        """One measurement takes longer than all there is."""

        def measure(self, problem, candidates, effort, done=None):  # type: ignore[no-untyped-def]
            ends.append(effort.ends)
            now[0] += 100
            return super().measure(problem, candidates, effort, done)

    monkeypatch.setattr("ckgen.tune.budget.time.monotonic", lambda: now[0])
    fake = Slow(NAMES)
    found = tune(fake, tmp_path / "j", Options(budget=60))
    assert fake.calls == 1
    assert ends == [pytest.approx(61.2, abs=0.01)], "the process is ended soon after the budget"
    assert found.late and not found.failures


@pytest.mark.parametrize(("budget", "part"), [(2.0, 1.0), (10.0, 0.6)])
def test_a_budget_too_small_for_fresh_processes_keeps_nothing_for_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, budget: float, part: float
) -> None:
    limits = []

    class Asked(FakeMeasurer):
        def measure(self, problem, candidates, effort, done=None):  # type: ignore[no-untyped-def]
            limits.append(effort.limit)
            return super().measure(problem, candidates, effort, done)

    monkeypatch.setattr("ckgen.tune.budget.time.monotonic", lambda: 0.0)
    tune(Asked(NAMES), tmp_path / "j", Options(budget=budget), ladders(Key("gemm_bf16_rcr", 0, 1, 64, 64)))
    assert limits[0] == pytest.approx(0.75 * part * budget)


def test_a_budget_too_small_for_all_problems_tunes_those_that_it_reaches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]

    class Slow(FakeMeasurer):
        """Verifies a candidate in a fiftieth of a second, none but the first beyond the limit."""

        def measure(self, problem, candidates, effort, done=None):  # type: ignore[no-untyped-def]
            count = min(max(math.ceil(effort.limit / 0.02), 1), len(candidates))
            now[0] += 0.02 * count
            timed = super().measure(problem, candidates[:count], effort, done)
            return (*timed, *(Measured(one, MeasureStatus.LATE, "late") for one in candidates[count:]))

    monkeypatch.setattr("ckgen.tune.budget.time.monotonic", lambda: now[0])
    many = ladders(*(Key("gemm_bf16_rcr", 0, m, 64, 64) for m in range(1, 2001)))
    found = tune(Slow(NAMES), tmp_path / "j", Options(budget=20, min_improvement=0), many)
    reached = [one for one in found.every if one.why != "the budget was spent"]
    assert 10 < len(reached) < 100 and found.late < len(NAMES), "of those that it reaches all candidates"
    assert all(one.is_row for one in reached[:-1]) and now[0] <= 20 * 1.02 + 0.5


def test_what_is_kept_for_doubt_is_not_kept_from_problems_that_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("ckgen.tune.budget.time.monotonic", lambda: now[0])
    budget = Budget(30.0, is_exhaustive=False, has_older=False)
    assert budget.share(20) == pytest.approx(18.0 / 20)
    now[0] = 18.0  # a busy machine: 10 problems took what was meant for all
    assert budget.share(10) == pytest.approx(0.5)
    now[0] = 29.0
    assert budget.share(10) == pytest.approx(0.5), "and some get no share at all"


def test_what_a_problems_share_does_not_reach_is_said_and_timed_by_the_next_run(tmp_path: Path) -> None:
    class Slow(FakeMeasurer):
        """Verifies four candidates within any limit."""

        def measure(self, problem, candidates, effort, done=None):  # type: ignore[no-untyped-def]
            count = 4 if effort.limit else len(candidates)
            timed = super().measure(problem, candidates[:count], effort, done)
            return (*timed, *(Measured(one, MeasureStatus.LATE, "late") for one in candidates[count:]))

    fake = Slow(NAMES, usual=NAMES[7])
    first = tune(fake, tmp_path / "j", Options(budget=60))
    assert first.late == len(KEYS) * (len(NAMES) - 4) and not first.failures
    assert all(Candidate(NAMES[7]) in one.searched.confirmed for one in first.every), "what selection takes comes first"
    second = tune(fake, tmp_path / "j")
    assert second.late == 0 and second.known
    records = read_journals([tmp_path / "j"]).records
    assert len({one.key for one in records}) == len(records) == first.measured + second.measured
    assert {one.measured.candidate.instance for one in records} == set(NAMES)


def test_what_an_older_table_takes_is_timed_beside_the_winner_in_several_processes(tmp_path: Path) -> None:
    fake = FakeMeasurer(NAMES, layout=0.001)
    older = {problem.text: Candidate(NAMES[0]) for ladder in ladders() for problem in ladder}
    found = tune(fake, tmp_path / "j", Options(older=older))
    records = read_journals([tmp_path / "j"]).records
    for one in found.every:
        assert one.winner is not None
        timed = {(each.turn, each.measured.candidate) for each in records if each.problem == one.problem.text}
        both = [
            turn
            for turn, candidate in timed
            if candidate == Candidate(NAMES[0]) and (turn, one.winner.candidate) in timed
        ]
        assert one.winner.candidate == Candidate(NAMES[0]) or len(both) >= COMPARED
    calls = fake.calls
    assert tune(fake, tmp_path / "j", Options(older=older)).measured == 0 and fake.calls == calls


def test_a_turn_that_has_too_little_time_for_anything_is_the_last(tmp_path: Path) -> None:
    class Ending(FakeMeasurer):
        def measure(self, problem, candidates, effort, done=None):  # type: ignore[no-untyped-def]
            if self.process == 1:
                return super().measure(problem, candidates, effort, done)
            assert self.process == 2, "another turn was begun"
            return tuple(Measured(one, MeasureStatus.LATE, "late") for one in candidates)

    times = {NAMES[0]: 100.0, NAMES[1]: 102.0}
    fake = Ending([*times], lambda _, one: times[one.instance], layout=0.01, usual=NAMES[1])
    found = tune(fake, tmp_path / "j", Options(budget=1000, min_improvement=0))
    assert fake.process == 2 and found.doubtful and all(one.is_row for one in found.every)


def test_doubt_leaves_time_for_turns_beside_an_older_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A measurement lasts a second, and what selection takes is at the tolerance, so that no winner becomes certain."""
    now = [0.0]

    class Doubtful(FakeMeasurer):
        def measure(self, *words, **named):  # type: ignore[no-untyped-def]
            now[0] += 1.0
            return super().measure(*words, **named)

    monkeypatch.setattr("ckgen.tune.budget.time.monotonic", lambda: now[0])
    heard: list[str] = []
    older = {problem.text: Candidate("older") for ladder in ladders() for problem in ladder}
    times = {NAMES[0]: 100.0, NAMES[1]: 102.0, "older": 300.0}
    fake = Doubtful([*times], lambda _, one: times[one.instance], layout=0.01, usual=NAMES[1])
    with Journal(tmp_path / "j", HEADER) as journal:
        options = Options(budget=100, min_improvement=0, older=older)
        found = Tuner(fake, journal, Contents(), options, heard.append).tune(ladders())
    assert found.doubtful > len(KEYS) / 2
    assert sum("against the older table" in one for one in heard) >= 5


def test_within_a_bound_few_kernels_do_and_each_row_is_confirmed_within_it(tmp_path: Path) -> None:
    plain = tune(FakeMeasurer(NAMES), tmp_path / "j", Options(min_improvement=0))
    few = tune(FakeMeasurer(NAMES), tmp_path / "j", Options(min_improvement=0, within=0.25))
    kernels = [{one.winner.candidate.instance for one in each.every if one.winner} for each in (plain, few)]
    assert len(kernels[1]) < len(kernels[0])
    assert few.is_least
    records = read_journals([tmp_path / "j"]).records
    confirmed = {(one.problem, one.measured.candidate) for one in records if one.rung == CONFIRM.name}
    for one, best in zip(few.every, plain.every, strict=True):
        assert one.winner is not None
        assert best.winner is not None
        assert one.winner.median_us <= 1.25 * best.winner.median_us
        assert (one.problem.text, one.winner.candidate) in confirmed


class Timed(FakeMeasurer):
    """Each candidate takes a second of the clock `now`; none is begun beyond the limit."""

    now = 0.0

    def measure(self, problem, candidates, effort, done=None):  # type: ignore[no-untyped-def]
        count = max(1, min(int(effort.limit), len(candidates))) if effort.limit else len(candidates)
        self.now += count
        timed = super().measure(problem, candidates[:count], effort, done)
        return (*timed, *(Measured(one, MeasureStatus.LATE, "late") for one in candidates[count:]))


@pytest.mark.parametrize("within", [0.25, None])
def test_a_spent_budget_leaves_rows_out_and_no_cover_of_a_part_is_called_the_least(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, within: float | None
) -> None:
    fake = Timed(NAMES)
    monkeypatch.setattr("ckgen.tune.budget.time.monotonic", lambda: fake.now)
    found = tune(fake, tmp_path / "j", Options(budget=9, min_improvement=0, within=within))
    timed = [one for one in found.every if one.winner is not None]
    assert 0 < len(timed) < len(KEYS) and found.late
    assert {one.why for one in found.every if one.winner is None} == {"the budget was spent"}
    assert [one.is_row for one in found.every] == [one.winner is not None for one in found.every]
    assert found.is_least is (None if within is None else False)
    known = Known("c0de", RUNGS, read_journals([tmp_path / "j"]).records)
    for one in timed:
        assert one.winner is not None
        best = min(time.median_us for time in known.best(one.problem.text).values())
        assert one.winner.median_us <= (1 + (within or 0.02)) * best
    rest = tune(fake, tmp_path / "j", Options(min_improvement=0, within=within))
    assert all(one.is_row for one in rest.every) and rest.is_least is (None if within is None else True)


def test_what_was_timed_once_and_not_confirmed_hides_no_smaller_cover(tmp_path: Path) -> None:
    class Short(FakeMeasurer):
        """The last rung of the first turn ends after one candidate."""

        def measure(self, problem, candidates, effort, done=None):  # type: ignore[no-untyped-def]
            count = 1 if effort.most == CONFIRM.effort.most and self.process == 1 else len(candidates)
            timed = super().measure(problem, candidates[:count], effort, done)
            return (*timed, *(Measured(one, MeasureStatus.LATE, "late") for one in candidates[count:]))

    found = tune(Short(NAMES), tmp_path / "j", Options(within=0.25))
    assert found.late and all(one.winner is not None for one in found.every)
    assert found.is_least is True


def test_a_kernel_that_only_noise_put_within_the_bound_is_not_taken(tmp_path: Path) -> None:
    """Until it is confirmed `lucky` seems to do for both problems; it would then be the only kernel."""
    fast = {1: [f"f{at}" for at in range(8)], 2: [f"g{at}" for at in range(8)]}

    def true(problem: Case, one: Candidate) -> float:
        if one.instance == "lucky":
            return 130.0
        return 100.0 + int(one.instance[1]) / 100 if one.instance in fast[problem.m] else 200.0

    class Lucky(FakeMeasurer):
        def _one(self, problem, one, effort, burst):  # type: ignore[no-untyped-def]
            found = super()._one(problem, one, effort, burst)
            is_seen = one.instance != "lucky" or effort.most == CONFIRM.effort.most
            return found if is_seen else replace(found, median_us=100.5)

    fake = Lucky(["lucky", *fast[1], *fast[2]], true=true)
    problems = ladders(Key("gemm_bf16_rcr", 0, 1, 64, 64), Key("gemm_bf16_rcr", 0, 2, 64, 64))
    found = tune(fake, tmp_path / "j", Options(within=0.01), problems=problems)
    assert {one.winner.candidate.instance for one in found.every if one.winner} == {"f0", "g0"}
    confirmed = {one.measured.candidate for one in read_journals([tmp_path / "j"]).records if one.rung == CONFIRM.name}
    assert Candidate("lucky") in confirmed, "it was tried"


def test_ladders_are_by_all_but_m_and_ascend(tmp_path: Path) -> None:
    found = ladders()
    assert [[one.key.m for one in ladder] for ladder in found] == [[1, 2, 4, 8], [1, 2, 4, 8]]
    twice = in_ladders([*of_counts(KEYS, CPU), *of_counts(KEYS, CPU)])
    assert [one.count for ladder in twice for one in ladder] == [2] * len(KEYS)


def test_an_exhaustive_tune_times_all_candidates_of_all_problems_round_by_round(tmp_path: Path) -> None:
    fake = FakeMeasurer([f"k{index:02}" for index in range(24)])
    found = tune(fake, tmp_path / "j", Options(exhaustive=True))
    records = read_journals([tmp_path / "j"]).records
    assert {one.rung for one in records} == {CONFIRM.name} and len(records) == LEAST_ROUNDS * 24 * len(KEYS)
    turns = [one.turn for one in records]
    assert turns == sorted(turns) and set(turns) == set(range(1, LEAST_ROUNDS + 1))
    assert found.measured == len(records) and fake.process == LEAST_ROUNDS


def test_further_rounds_are_of_what_is_not_known_well(tmp_path: Path) -> None:
    times = {"best": 100.0, "near": 101.0, "far": 150.0}
    fake = FakeMeasurer(list(times), true=lambda _, one: times[one.instance], noise=0.02, layout=0.01)
    tune(fake, tmp_path / "j", Options(exhaustive=True), problems=ladders(Key("gemm_bf16_rcr", 0, 1, 64, 64)))
    records = read_journals([tmp_path / "j"]).records
    most = {name: max(one.turn for one in records if one.measured.candidate.instance == name) for name in times}
    assert most["far"] == LEAST_ROUNDS < most["near"] == most["best"] <= MOST_TURNS
    again = FakeMeasurer(list(times), true=fake.true)
    tune(again, tmp_path / "j", Options(exhaustive=True), problems=ladders(Key("gemm_bf16_rcr", 0, 1, 64, 64)))
    assert not again.calls, "what the journal knows is not measured again"


def test_what_crashes_in_a_later_turn_is_no_longer_known_as_timed() -> None:
    known = Known("", RUNGS)
    known.add("p", "second", Measured(Candidate("a"), MeasureStatus.OK, "", 100, 0, 7))
    known.add("p", "confirm", Measured(Candidate("b"), MeasureStatus.OK, "", 101, 0, 7))
    assert set(known.best("p")) == {Candidate("a"), Candidate("b")}
    known.add("p", "confirm", Measured(Candidate("a"), MeasureStatus.CRASHED, "it did"), 2)
    assert set(known.best("p")) == {Candidate("b")}
