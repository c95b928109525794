"""The problems that quickstart runs, per product."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape
from ckgen.specs.targets import target_of_product


@dataclass(frozen=True, slots=True)
class QuickProblem:
    """One line of the table: what it shows, the signature's alias, the sizes."""

    what: str
    signature: str
    shape: Shape


def gpu_targets() -> tuple[Target, ...]:
    """The GPUs that quickstart simulates, sorted."""
    return tuple(sorted(map(target_of_product, _data()["products"])))


def problems_of(target: Target) -> tuple[QuickProblem, ...]:
    """The problems of a GPU target that quickstart knows, else those of a CPU."""
    data = _data()
    known = {target_of_product(name): rows for name, rows in data["products"].items()}
    rows = known.get(target, data["cpu"])
    return tuple(QuickProblem(what, signature, Shape(*sizes)) for what, signature, *sizes in rows)


@cache
def _data() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(Path(__file__).with_name("problems.json").read_text(encoding="utf-8"))
    return data
