"""Measurers of a cluster's workers: one for each worker, kept while tasks ask for the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from ckgen.measure import remote
from ckgen.model.target import Target

EVENTS: list[str] = []


@dataclass(frozen=True)
class Named:
    name: str

    @contextmanager
    def open(self, say: Callable[[str], None] = lambda text: None) -> Iterator[str]:
        EVENTS.append(f"open {self.name}")
        yield self.name.upper()
        EVENTS.append(f"close {self.name}")


def test_a_measurer_is_kept_until_another_is_asked_for() -> None:
    EVENTS.clear()
    assert [remote.opened(Named(name)) for name in ("a", "a", "b", "a")] == ["A", "A", "B", "A"]
    assert EVENTS == ["open a", "close a", "open b", "close b", "open a"]


@pytest.mark.parametrize(
    ("scheduler", "address", "workers"), [("local", None, 1), ("local:3", None, 3), ("tcp://h:1", "tcp://h:1", 1)]
)
def test_tasks_go_to_workers_of_the_target_one_here_unless_more_are_asked_for(
    scheduler: str, address: str | None, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[Any] = []
    monkeypatch.setattr(remote, "run_on", lambda *words: heard.append(words) or iter(()))
    assert list(remote.timed_on([1], abs, scheduler, Target("gfx942", 80))) == []
    assert heard[0][:5] == ([1], abs, address, workers, ("gfx942:80",))
