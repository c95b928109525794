"""Why a table has no row for a size, tier by tier."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckgen.families.gemm.explain import why_no_row
from ckgen.model.selection import Tier
from ckgen.model.tuned_row import Shape
from plan_support import GFX942, plan_of, query, row, write_table


@pytest.mark.parametrize(
    ("m", "text"),
    [
        (64, "M itself was measured"),
        (65, "M=4096 is beyond max(M + 16, 2 · M) = 130"),
        (4097, "no measured size above M=4097"),
    ],
)
def test_why_no_larger_size_is_near(tmp_path: Path, m: int, text: str) -> None:
    plan = plan_of(write_table(tmp_path / "a8w8_blockscale.csv", [row(64), row(4096)]))
    asked = query(plan, GFX942, "a8w8_blockscale", m, 512, 1024)
    unit = plan.unit(asked.signature)
    assert why_no_row(plan, unit, GFX942, Shape(0, m, 512, 1024), Tier.NEAR) == text
