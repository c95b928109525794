"""The fewest kernels, against every subset."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ckgen.tune import cover as room
from ckgen.tune.cover import cover
from examples import examples

OPTIONS = st.dictionaries(
    st.sampled_from([f"p{index}" for index in range(9)]),
    st.dictionaries(st.sampled_from("abcdefg"), st.floats(0, 0.01), min_size=1, max_size=4),
    max_size=9,
)


def least(options: dict[str, dict[str, float]]) -> int:
    kernels = sorted({kernel for of in options.values() for kernel in of})
    for count in range(len(kernels) + 1):
        for chosen in combinations(kernels, count):
            if all(not of.keys().isdisjoint(chosen) for of in options.values()):
                return count
    raise AssertionError


@settings(max_examples=examples(200))
@given(OPTIONS)
def test_it_covers_with_as_few_as_any_subset(options: dict[str, dict[str, float]]) -> None:
    found = cover(options)
    assert all(not of.keys().isdisjoint(found.kernels) for of in options.values())
    assert len(found.kernels) == least(options)
    assert found.is_least


def test_of_equally_small_covers_that_which_loses_least_is_taken() -> None:
    assert cover({"p": {"a": 0.005, "b": 0.001}, "q": {"a": 0.0, "b": 0.003}}).kernels == ("b",)
    assert cover({"p": {"a": 0.0, "b": 0.0}}).kernels == ("a",)
    wide = {"p1": {"a": 0.0, "g": 0.01}, "p2": {"a": 0.0, "g": 0.01}, "p3": {"c": 0.0, "g": 0.01}}
    assert cover({**wide, "p4": {"c": 0.0, "d": 0.0}}).kernels == ("a", "c"), "though g is met first"
    assert cover({}).kernels == ()


def test_a_greedy_choice_is_not_taken_for_the_least() -> None:
    rows = {"p1": "ag", "p2": "ag", "p3": "ax", "p4": "bg", "p5": "bg", "p6": "by"}
    options = {problem: dict.fromkeys(kernels, 0.0) for problem, kernels in rows.items()}
    assert cover(options).kernels == ("a", "b"), "g has most, and needs two more"


def test_a_search_that_is_cut_short_says_so_and_still_covers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "MOST_STEPS", 5)
    options = {f"p{at}": {f"k{(at * step) % 17}": 0.0 for step in (1, 3, 5, 7)} for at in range(40)}
    found = cover(options)
    assert not found.is_least
    assert all(not of.keys().isdisjoint(found.kernels) for of in options.values())


def test_a_problem_without_a_kernel_is_an_error() -> None:
    with pytest.raises(ValueError, match="without a kernel"):
        cover({"p": {}})
