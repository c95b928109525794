"""What is said of two tunes, and when it ends with 1."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest

from ckgen.model.target import Target
from ckgen.specs.archs import load_archs
from ckgen.tune.lists import keys_of_lists
from tune.two_tunes import COLUMNS, shapes, verdict

COUNT = len(list(shapes()))


def second(flips: int, ratio: float, rows: int = COUNT) -> dict[str, Any]:
    one = {"problem": "p", "before": "a", "now": "b"}
    compared = [{**one, "flipped": at < flips, "ratio": ratio} for at in range(rows)]
    return {"compared": compared, "doubtful": 2, "measured": 700, "late": 0}


@pytest.mark.parametrize(
    ("found", "holds"),
    [
        (second(0, 1.0), True),
        (second(1, 1.009), True),
        (second(2, 1.0), False),
        (second(0, 1.02), False),
        (second(0, 0.98), False),
        (second(0, 1.0, rows=COUNT - 1), False),
    ],
)
def test_bounds_are_two_per_cent_of_all_rows_and_one_in_time(found: dict[str, Any], holds: bool) -> None:
    lines, does = verdict({"doubtful": 1, "measured": 800, "late": 3}, found)
    assert does is holds
    flips, rows = sum(one["flipped"] for one in found["compared"]), len(found["compared"])
    assert f"{flips} of {rows} rows differ" in lines[-2] and len(lines) == flips + 2
    assert lines[-1] == "1 and 2 winners in doubt, 3 and 0 candidates not timed; 800 and 700 measurements"


def test_a_row_that_was_not_timed_in_turns_is_told() -> None:
    found = second(1, 1.0)
    found["compared"][0]["ratio"] = None
    lines, _ = verdict({"doubtful": 0, "measured": 1, "late": 0}, found)
    assert lines[0] == "  p: a -> b, not timed in turns: the budget was spent"


def test_its_shapes_are_a_list_of_at_least_forty_eight_problems(tmp_path: Path) -> None:
    path = tmp_path / "shapes.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([COLUMNS, *shapes()])
    said: list[str] = []
    found = keys_of_lists((path,), Target("x86_64_v4_bf16", 2), load_archs(), said.append)
    assert len(found) == COUNT >= 48 and not said
