"""What an instance asks of sizes, and why a table has no row for a size, tier by tier."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckgen.families.gemm.explain import demands, why_no_row
from ckgen.families.gemm.problem_rules import Constraints
from ckgen.families.gemm.row_key import batch_key
from ckgen.model.selection import Tier
from ckgen.model.tuned_row import Shape
from plan_support import GFX942, plan_of, query, row, write_table


@pytest.mark.parametrize(
    ("constraints", "k_batch", "text"),
    [
        (Constraints(), 1, ""),
        (Constraints(), 4, ""),
        (Constraints(1, 1, 1, k_multiple_per_split=64, split_grain=32), 1, ""),
        (Constraints(2, 8, 16), 1, " (M % 2 = 0, N % 8 = 0, K % 16 = 0)"),
        (Constraints(n_multiple=8, k_multiple_per_split=64), 2, " (N % 8 = 0, K % (2 · 64) = 0)"),
        (
            Constraints(k_multiple_per_split=64, split_grain=32),
            3,
            " (K % (3 · 64) = 0 or parts that one main loop fits)",
        ),
        (Constraints(split_grain=32), 1, ""),
        (Constraints(split_grain=32), 2, " (splits of whole 32)"),
        (Constraints(min_k=1), 1, " (K / k_batch ≥ 1)"),
        (Constraints(m_multiple=2, split_grain=32, min_k=96), 2, " (M % 2 = 0, splits of whole 32, K / k_batch ≥ 96)"),
    ],
)
def test_what_an_instance_asks(constraints: Constraints, k_batch: int, text: str) -> None:
    assert demands(constraints, k_batch) == text


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
    assert why_no_row(plan, unit, GFX942, Shape(0, m, 512, 1024), batch_key(0), Tier.NEAR) == text
