"""One measured fact of the MX-FP8 kernels for few rows: for these sizes this config won, or none did."""

from __future__ import annotations

from dataclasses import dataclass

from ckgen.model.diagnostic import Location
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape


@dataclass(frozen=True, slots=True)
class DecodeRow:
    """A row of a table with the column `use_hip`, adapted; False there: not this kernel, whatever the config.

    `target` is None where the table names none, or only a cu_num that no single known arch has.
    """

    location: Location
    layer: int
    target: Target | None
    shape: Shape
    n_sub: int
    k_splits: int
    use_hip: bool
