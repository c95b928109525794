"""kill -9 at random times: no finished measurement is lost, and none is made twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tune.killed_tune import records_of, survive, tune

SEED = 19


@pytest.mark.slow
def test_kills_lose_nothing_and_repeat_nothing(tmp_path: Path) -> None:
    kills, problems = 20, 30
    found = survive(tmp_path, kills=kills, seed=SEED, problems=problems)
    assert found.kills == kills, f"seed {SEED}: the tune was over before"
    assert (found.lost, found.twice) == (0, 0), f"seed {SEED}"
    tune(tmp_path / "whole.jsonl", tmp_path / "whole", problems=problems)
    assert found.records == records_of(tmp_path / "whole.jsonl"), f"seed {SEED}: as without a kill"
