"""Parsers hold against what once broke them, and against the same few mutations in every run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.errors import InputError, UsageError
from parser_fuzz.mutate import mutations
from parser_fuzz.target import Target, refusal
from parser_fuzz.targets import TARGETS, corpus

_PLACE = Path(__file__).parent / "corpus"


@pytest.mark.parametrize("name", TARGETS)
def test_a_parser_refuses_or_understands(name: str) -> None:
    target = TARGETS[name]
    for data in target.seeds():
        target.run(data)
    for data in mutations(target, target.mutations):
        try:
            target.run(data)
        except Exception as error:
            pytest.fail(f"{type(error).__name__} of {data!r}: {error}")


@pytest.mark.parametrize(
    ("name", "file"), [(target.name, file) for target in TARGETS.values() for file in corpus(target)]
)
def test_what_once_was_wrong_stays_right(name: str, file: Path) -> None:
    TARGETS[name].run(file.read_bytes())


def test_every_corpus_is_of_a_target() -> None:
    assert {folder.name for folder in _PLACE.glob("*")} <= TARGETS.keys()


def test_mutations_are_the_same_in_every_run() -> None:
    target = Target("any", lambda data: None, lambda: [b"some,words", b"and 1 number"])
    assert list(mutations(target, 50)) == list(mutations(target, 50)) != list(mutations(target, 50, seed=1))


def fails(act: Callable[[], None]) -> bool:
    try:
        with refusal():
            act()
    except (AssertionError, ValueError):
        return True
    return False


def raising(error: Exception) -> Callable[[], None]:
    def act() -> None:
        raise error

    return act


def test_only_errors_with_a_place_are_refusals() -> None:
    placed, unplaced = Diagnostic("T001", "bad", Location("x.csv", 3)), Diagnostic("T001", "bad")
    assert not fails(raising(InputError([placed]))) and not fails(raising(UsageError("unknown")))
    assert fails(raising(InputError([unplaced]))) and fails(raising(InputError([]))) and fails(raising(UsageError("")))
    assert fails(raising(ValueError("bad")))
