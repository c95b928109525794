"""Timing: turns, rounds, cold buffers, hopeless peers, and what a sample says of itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

import pytest

from ckgen.measure import timing
from ckgen.measure.model import Effort
from ckgen.measure.timing import Body, Sample, interleaved

QUIET = Effort(seconds=5.0, least=3, most=3, still=0.0, sample=0.0)


class Clock:
    """Time that passes only where a body says so."""

    def __init__(self) -> None:
        self.now, self.calls = 0.0, list[str]()

    def body(self, name: str, *seconds: float) -> Body:
        def call(one: float) -> None:
            self.calls.append(name)
            self.now += one

        return Body(tuple((lambda one=one: call(one)) for one in seconds), rest=0.0)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(timing.time, "perf_counter", lambda: made.now)
    monkeypatch.setattr(timing.time, "sleep", lambda _: None)
    monkeypatch.setattr(timing, "waited", lambda: 0.0)
    return made


def test_bodies_take_turns_in_an_order_that_is_drawn(clock: Clock) -> None:
    """Each round has each once, and each comes behind every other about as often."""
    found = interleaved({name: clock.body(name, 1.0) for name in "abc"}, Effort(1000.0, 60, 60, 0.0, 0.0))
    warm, rounds = clock.calls[:6], clock.calls[6:]
    assert warm == list("aabbcc")
    assert all(sorted(rounds[begin : begin + 3]) == list("abc") for begin in range(0, 180, 3))
    behind = Counter(pair for pair in pairwise(rounds) if pair[0] != pair[1])
    assert len(behind) == 6 and min(behind.values()) > 15
    assert all(sample.seconds == (1.0,) * 60 for sample in found.values())


def test_a_median_is_of_the_calls_themselves(clock: Clock) -> None:
    found = interleaved({"fast": clock.body("fast", 1.0), "slow": clock.body("slow", 3.0)}, QUIET)
    assert found["slow"].median / found["fast"].median == 3.0


def test_copies_of_a_buffer_are_read_in_turn(clock: Clock) -> None:
    found = interleaved({"cold": clock.body("cold", 1.0, 2.0)}, Effort(100.0, 4, 4, 0.0, 0.0))
    assert found["cold"].seconds == (1.0, 2.0, 1.0, 2.0)


def test_a_body_whose_time_is_known_is_warm_after_one_call(clock: Clock) -> None:
    known = replace(clock.body("known", 0.001), known=0.001)
    found = interleaved({"known": known, "new": clock.body("new", 0.001)}, Effort(100.0, 2, 2, 0.0, 0.005), warmup=9)
    assert Counter(clock.calls) == {"known": 1 + 2 * 5, "new": 2 + 1 + 2 * 5}
    assert found["known"].seconds == pytest.approx((0.001, 0.001))


def test_samples_of_which_something_else_took_the_cpus_are_taken_again(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two of three calls take twice as long, half of which their thread waits for a CPU."""
    lost = [0.0]

    def call(wait: float) -> None:
        clock.now += 1.0 + wait
        lost[0] += wait

    calls = tuple((lambda wait=wait: call(wait)) for wait in (0.0, 1.0, 1.2))
    monkeypatch.setattr(timing, "waited", lambda: lost[0])
    found = interleaved({"one": Body(calls, rest=0.0)}, Effort(100.0, 3, 4, 0.0, 0.0))
    assert found["one"].seconds == (1.0, 1.0, 1.0)
    late = interleaved({"one": Body(calls, rest=0.0)}, Effort(5.0, 3, 4, 0.0, 0.0))
    assert sorted(late["one"].seconds) == pytest.approx([1.0, 2.0, 2.2]), "the least disturbed, where time is up"


def test_a_machine_that_is_always_busy_is_no_endless_measurement(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "waited", lambda: clock.now)
    found = interleaved({"one": clock.body("one", 1.0)}, Effort(1000.0, 3, 4, 0.0, 0.0))
    assert found["one"].seconds == (1.0, 1.0, 1.0) and len(clock.calls) == 2 + 4 * 4


def test_a_short_body_is_called_several_times_a_sample(clock: Clock) -> None:
    found = interleaved({"short": clock.body("short", 0.001)}, Effort(100.0, 2, 2, 0.0, 0.005))
    assert len(clock.calls) == 2 + 2 * 5
    assert found["short"].seconds == pytest.approx((0.001, 0.001))


def test_a_hopeless_body_is_timed_once(clock: Clock) -> None:
    found = interleaved({"ours": clock.body("ours", 1.0), "slow": clock.body("slow", 21.0)}, QUIET)
    assert len(found["slow"].seconds) == 1 and len(found["ours"].seconds) == 3


def test_what_is_hopeless_is_for_the_effort_to_say(clock: Clock) -> None:
    bodies = {name: clock.body(name, seconds) for name, seconds in (("ours", 1.0), ("slow", 2.9), ("slower", 3.1))}
    found = interleaved(bodies, replace(QUIET, hopeless=3.0))
    assert {name: len(sample.seconds) for name, sample in found.items()} == {"ours": 3, "slow": 3, "slower": 1}


def in_phases(clock: Clock, name: str, seconds: float, lasts: float) -> Body:
    """A body that takes twice as long in every other phase, as all do."""

    def call() -> None:
        clock.calls.append(name)
        clock.now += seconds * (1 + int(clock.now / lasts) % 2)

    return Body((call,), rest=0.0)


def test_beside_a_yardstick_phases_are_in_no_ratio(clock: Clock) -> None:
    effort = Effort(1e6, 40, 40, 0.0, 0.0, outlier=0.1, hopeless=9.0)
    bodies = {name: in_phases(clock, name, seconds, 97.0) for name, seconds in (("slow", 2.0), ("fast", 1.0))}
    plain = interleaved(bodies, effort)
    assert plain["slow"].spread == 0, "the shorter ones alone"
    beside = interleaved(bodies, replace(effort, beside=True))
    assert beside["slow"].median / beside["fast"].median == 2.0
    assert len(beside["slow"].seconds) >= 40, "no phase is left out"


def test_samples_stand_between_two_of_the_fastest_body(clock: Clock) -> None:
    bodies = {name: clock.body(name, seconds) for name, seconds in (("slow", 2.0), ("fast", 1.0))}
    found = interleaved(bodies, replace(QUIET, beside=True))
    assert {name: sample.median for name, sample in found.items()} == {"slow": 2.0, "fast": 1.0}
    taken = "".join(name[0] for name in clock.calls[4:])
    assert taken[::2] == "f" * 7 and sorted(taken[1::2]) == list("fffsss")


def test_a_sample_on_the_edge_of_a_phase_is_taken_again(clock: Clock) -> None:
    bodies = {name: in_phases(clock, name, seconds, 50.0) for name, seconds in (("ours", 3.0), ("fast", 1.0))}
    effort = Effort(1e6, 40, 40, 0.0, 0.0, hopeless=9.0, beside=True)
    unequal = 3 * 2**0.5
    assert pytest.approx(unequal) in relative(interleaved(bodies, effort))
    assert relative(interleaved(bodies, replace(effort, outlier=0.1))) == pytest.approx([3.0] * 40)


def relative(found: Mapping[str, Sample]) -> list[float]:
    """What ours took, in units of the fast one's."""
    return [one / found["fast"].median for one in found["ours"].seconds[:40]]


def test_samples_beyond_the_shortest_by_more_than_the_effort_says_are_taken_again(clock: Clock) -> None:
    """Nothing says that they were disturbed but that they last longer; a median of all would lie between both kinds."""
    seconds = (1.0, 1.5, 1.05, 1.5)
    plain = Effort(100.0, 4, 4, 0.0, 0.0)
    assert interleaved({"one": clock.body("one", *seconds)}, plain)["one"].median == pytest.approx(1.275)
    found = interleaved({"one": clock.body("one", *seconds)}, replace(plain, outlier=0.1))["one"]
    assert found.seconds == pytest.approx((1.05, 1.0, 1.05, 1.0))
    short = interleaved({"one": clock.body("one", 1.0, 1.5, 1.5, 1.5)}, Effort(4.0, 3, 3, 0.0, 0.0, outlier=0.1))["one"]
    assert short.seconds == pytest.approx((1.0,)), "where time is up those that are left decide, however few"


def test_a_sample_with_outliers_is_the_lower_quartile_of_its_calls(clock: Clock) -> None:
    effort = Effort(100.0, 2, 2, 0.0, 0.008)
    seconds = (0.001, 0.001, 0.004, 0.0011, 0.0012, 0.004, 0.0013, 0.004)
    means = interleaved({"one": clock.body("one", *seconds)}, effort)["one"]
    assert means.median == pytest.approx(sum(seconds) / 8, rel=1e-6)
    assert interleaved({"one": clock.body("one", *seconds)}, replace(effort, outlier=0.2))[
        "one"
    ].seconds == pytest.approx((0.001, 0.001))


def test_rounds_end_in_time_to_be_told(clock: Clock) -> None:
    endless = Effort(1000.0, 500, 500, 0.0, 0.0)
    for ends, rounds in ((100.0, 45), (0.0, 500)):
        clock.now = 0.0
        found = interleaved({name: clock.body(name, 1.0) for name in "ab"}, replace(endless, ends=ends))
        assert [len(one.seconds) for one in found.values()] == [rounds] * 2


def test_rounds_end_when_medians_hold_still_or_time_is_up(clock: Clock) -> None:
    still = interleaved({"still": clock.body("still", 1.0)}, Effort(100.0, 5, 41, 0.02, 0.0))
    assert len(still["still"].seconds) == 5
    late = interleaved({"restless": clock.body("restless", 1.0, 2.0, 3.0)}, Effort(20.0, 5, 41, 0.02, 0.0))
    assert 5 < len(late["restless"].seconds) < 41
    slow = interleaved({"slow": clock.body("slow", 3.0)}, Effort(2.0, 5, 41, 0.02, 0.0))
    assert len(slow["slow"].seconds) == 3


def test_a_warm_up_ends_when_times_hold_still_or_with_its_calls_or_its_time(clock: Clock) -> None:
    once = Effort(100.0, 1, 1, 0.0, 0.05)
    for seconds, warmup, calls in (
        ((0.1, 0.1), 50, 3),
        ((0.3, 0.2, 0.1, 0.1), 50, 4),
        ((0.1, 0.2), 7, 7),
        ((0.1, 0.25), 50, 6),
        ((5.0, 9.0), 50, 3),
        ((0.1, 0.2), 2, 2),
    ):
        clock.calls.clear()
        interleaved({"one": clock.body("one", *seconds)}, once, warmup=warmup)
        assert len(clock.calls) == calls + 1, seconds


def test_who_runs_next_is_heard_and_what_empties_caches_is_not_timed(clock: Clock) -> None:
    heard: list[str] = []
    bodies = {name: clock.body(name, 0.001) for name in "ab"}
    flush = clock.body("flush", 7.0).calls[0]
    bodies["a"] = Body(bodies["a"].calls, 0.0, flush)
    found = interleaved(bodies, Effort(100.0, 2, 2, 0.0, 0.005), heard=heard.append)
    assert heard == ["a", "b", "a", "b", "b", "a"]
    assert clock.calls == ["a", "flush", "a", "b", "b", "flush", "a", *(10 * "b"), "flush", "a"]
    assert found["a"].seconds == pytest.approx((0.001, 0.001))


def test_a_sample_says_how_far_it_is_spread() -> None:
    sample = Sample((1.0, 2.0, 3.0, 4.0, 5.0))
    assert sample.median == 3.0 and sample.spread == pytest.approx(1 / 3)
    doubts = [Sample(tuple(map(float, range(1, 10))) * count).doubt for count in (1, 4, 16)]
    assert all(after < before for before, after in pairwise(doubts))


def test_cold_buffers_are_together_beyond_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing, "last_level_cache", lambda: 100)
    assert [timing.copies_beyond_cache(bytes_) for bytes_ in (10, 100, 299, 300, 1000)] == [30, 3, 2, 1, 1]
