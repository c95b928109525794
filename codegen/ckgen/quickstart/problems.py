"""The problems that quickstart runs, per target."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape

GPU_TARGETS = (Target("gfx942", 80), Target("gfx942", 304), Target("gfx950", 256))


@dataclass(frozen=True, slots=True)
class QuickProblem:
    """One line of the table: what it shows, the signature's alias, the sizes."""

    what: str
    signature: str
    shape: Shape


def problems_of(target: Target) -> tuple[QuickProblem, ...]:
    """The problems of a GPU target that quickstart knows, else those of a CPU."""
    data = json.loads(Path(__file__).with_name("problems.json").read_text(encoding="utf-8"))
    rows = data[str(target)] if str(target) in data else data["cpu"]
    return tuple(QuickProblem(what, signature, Shape(*sizes)) for what, signature, *sizes in rows)
