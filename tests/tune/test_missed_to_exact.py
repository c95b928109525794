"""What is said of recorded misses that were tuned and built in, and when it holds."""

from __future__ import annotations

import pytest

from tune.missed_to_exact import SHAPES, verdict

COUNT = len(SHAPES)


@pytest.mark.parametrize(
    ("before", "after", "seconds", "holds"),
    [
        (["default"] * COUNT, ["exact"] * COUNT, 60.0, True),
        (["heuristic"] * COUNT, ["exact"] * COUNT, 60.1, False),
        (["default"] * COUNT, ["exact"] * (COUNT - 1) + ["near"], 1.0, False),
        (["default"] * (COUNT - 1) + ["exact"], ["exact"] * COUNT, 1.0, False),
        (["default"] * (COUNT - 1), ["exact"] * (COUNT - 1), 1.0, False),
    ],
)
def test_every_shape_was_missed_and_is_exact_within_a_minute(
    before: list[str], after: list[str], seconds: float, holds: bool
) -> None:
    line, does = verdict(before, after, {"tuning": seconds - 0.5, "building": 0.5})
    assert does is holds
    assert f"{after.count('exact')} of {len(after)} exact after tuning" in line and line.endswith(f": {seconds:.1f} s")


def test_there_are_twenty_shapes_each_once() -> None:
    assert len(set(SHAPES)) == 20
