"""Where rows of tables stand, as the user finds them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ckgen.model.fmha_row import FmhaRow
    from ckgen.model.tuned_row import TunedRow
    from ckgen.plan.model import GenerationPlan


def place_of(plan: GenerationPlan, row: TunedRow | FmhaRow) -> str:
    """`file:line` where the user finds a row."""
    places = {(file.layer, file.path): file.display for file in plan.files}
    return f"{places[row.layer, row.location.file]}:{row.location.line}"
