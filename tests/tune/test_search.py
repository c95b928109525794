"""Successive halving against every candidate, on times that are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from ckgen.fuzz.case import Case
from ckgen.measure.model import Candidate, Effort, Measured, MeasureStatus
from ckgen.tune.search import CONFIRM, FIRST, RUNGS, Rung, Searched, kept, search
from ckgen.tune.ties import fastest
from tune.fake_measurer import FakeMeasurer

PROBLEMS = [Case("gemm_bf16_rcr", "x86_64_v4:2", m=m, n=64, k=64) for m in range(1, 41)]


def names(count: int) -> list[str]:
    return [f"k{index:03}" for index in range(count)]


def searched(fake: FakeMeasurer, problem: Case, *wanted: str) -> Searched:
    def measure(rung: Rung, asked: Sequence[Candidate]) -> Mapping[Candidate, Measured]:
        return {one.candidate: one for one in fake.measure(problem, asked, rung.effort)}

    return search(fake.candidates(problem), map(Candidate, wanted), measure)


def regrets(fake: FakeMeasurer) -> list[float]:
    """How much slower than the truly fastest the winner truly is, by problem."""
    found = []
    for problem in PROBLEMS:
        best = fastest(searched(fake, problem).confirmed.values())
        assert best is not None
        true = {one: fake.true(problem, one) for one in fake.candidates(problem)}
        found.append(true[best.candidate] / min(true.values()) - 1)
    return found


def exhaustive(count: int, effort: Effort) -> float:
    return len(PROBLEMS) * count * effort.most * effort.sample


@pytest.mark.parametrize(("count", "share"), [(24, 0.25), (96, 0.25), (240, 0.10)])
def test_without_noise_it_finds_the_best_at_a_part_of_the_cost(count: int, share: float) -> None:
    fake = FakeMeasurer(names(count))
    assert max(regrets(fake)) == 0
    assert fake.cost <= share * exhaustive(count, CONFIRM.effort)


def test_few_candidates_are_confirmed_at_once() -> None:
    fake = FakeMeasurer(names(3))
    assert len(searched(fake, PROBLEMS[0]).confirmed) == 3
    assert fake.calls == 1


def test_of_few_candidates_the_rungs_before_drop_next_to_none() -> None:
    """What is dropped by times that are a seventh off has lost, whatever it truly takes."""
    fake = FakeMeasurer(names(9))
    assert len(searched(fake, PROBLEMS[0]).confirmed) == 8
    assert len(searched(FakeMeasurer(names(13)), PROBLEMS[0]).confirmed) < 8


def test_what_is_wanted_is_confirmed_even_where_it_is_slow() -> None:
    fake = FakeMeasurer(names(64))
    slowest = max(fake.candidates(PROBLEMS[0]), key=lambda one: fake.true(PROBLEMS[0], one))
    assert slowest not in searched(fake, PROBLEMS[0]).confirmed
    assert slowest in searched(fake, PROBLEMS[0], slowest.instance, "no candidate").confirmed


def test_what_fails_is_told_once_and_the_rest_goes_on() -> None:
    kinds = [one for one in MeasureStatus if one is not MeasureStatus.OK]
    ends = dict(zip(names(64), kinds, strict=False))
    found = searched(FakeMeasurer(names(64), ends=ends), PROBLEMS[0], *ends)
    assert {one.candidate.instance: one.status for one in found.failed} == ends
    assert len(found.failed) == len(kinds)
    assert found.tried == 64
    assert found.confirmed.keys().isdisjoint(map(Candidate, ends))


def test_where_all_fail_nothing_is_confirmed() -> None:
    found = searched(FakeMeasurer(names(9), ends=dict.fromkeys(names(9), MeasureStatus.CRASHED)), PROBLEMS[0])
    assert (dict(found.confirmed), found.first, len(found.failed)) == ({}, None, 9)


def test_a_rung_keeps_a_part_and_what_ties_with_the_best() -> None:
    def timed(name: str, us: float, spread: float) -> Measured:
        return Measured(Candidate(name), MeasureStatus.OK, "", us, spread, 3)

    clear = [timed(f"k{at:02}", 100 + at, 0.0) for at in range(40)]
    assert len(kept({one.candidate: one for one in clear}, FIRST)) == 7
    noisy = [timed(f"k{at:02}", 100 + at / 10, 0.025) for at in range(40)]
    assert len(kept({one.candidate: one for one in noisy}, FIRST)) == 10
    assert [rung.least for rung in RUNGS] == sorted((rung.least for rung in RUNGS), reverse=True)


def test_an_exhaustive_search_confirms_every_candidate_at_once() -> None:
    fake = FakeMeasurer(names(64))

    def measure(rung: Rung, asked: Sequence[Candidate]) -> Mapping[Candidate, Measured]:
        assert rung is CONFIRM
        return {one.candidate: one for one in fake.measure(PROBLEMS[0], asked, rung.effort)}

    found = search(fake.candidates(PROBLEMS[0]), (), measure, rungs=())
    assert (len(found.confirmed), found.tried, fake.calls) == (64, 64, 1)


def test_a_rung_that_something_disturbed_thins_out_less() -> None:
    names = [Candidate(f"{at:02}") for at in range(40)]
    rung = Rung("some", Effort(), keep=8, least=2, most=5)
    for spread, count in ((0.01, 5), (0.2, 15)):
        times = {one: Measured(one, MeasureStatus.OK, "", 100 * 2**at, spread, 7) for at, one in enumerate(names)}
        assert kept(times, rung) == names[:count]
