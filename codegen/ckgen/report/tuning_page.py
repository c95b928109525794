"""The page of what journals hold: each problem's candidates as ticks along its winner's time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ckgen.report.html import page_html

MOST = 150
"""Problems whose candidates are drawn, those that selection loses most at."""
FARTHEST = 8.0
"""Times of the winner at the right end; what is slower stands there."""
WIDTH = 420


def tuning_page(document: Mapping[str, Any]) -> str:
    """The page of a `ckgen.report.tuning` document."""
    return page_html("tuning", document, shown=[_run(one) for one in document["runs"]], most=MOST)


def _run(run: Mapping[str, Any]) -> dict[str, Any]:
    timed = [one for one in run["problems"] if one["us"] is not None]
    timed.sort(key=lambda one: -(one["selected"] or {"regret": 0.0})["regret"])
    return {
        **run,
        "timed": timed,
        "untimed": [one for one in run["problems"] if one["us"] is None],
        "strips": [_strip(one) for one in timed[:MOST]],
        "ticks": [(_x(times), f"{times:g}×") for times in (1, 1.5, 2, 4, FARTHEST)],
    }


def _strip(problem: Mapping[str, Any]) -> dict[str, Any]:
    """The ticks of a problem, as one path, and where what selection takes stands."""
    places: Sequence[float] = sorted({_x(us / problem["us"]) for _, _, us in problem["candidates"]})
    selected = problem["selected"]
    return {
        **problem,
        "path": "".join(f"M{place:g} 2v11" for place in places),
        "at": _x(1 + selected["regret"]) if selected else None,
    }


def _x(times: float) -> float:
    return round(4 + (WIDTH - 8) * min(max(math.log(times) / math.log(FARTHEST), 0.0), 1.0), 1)
