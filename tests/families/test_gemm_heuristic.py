from __future__ import annotations

import pytest
from families_rows import Rows

from ckgen.families.common.decision_rule import parse_rule
from ckgen.families.gemm.heuristic import heuristic_for, heuristics
from ckgen.families.gemm.mxfp8_tables import MODULE as MXFP8
from ckgen.families.grouped_gemm.deepgemm import MODULE as DEEPGEMM
from ckgen.families.moe.robust import RULED_MODULES as MOE_RULES

STUDY = ("qwen3_vl_32b", "qwen36_27b", "qwen3_vl_235b")


def tile(m: int, n: int, k: int) -> str:
    rule = heuristic_for("a8w8_blockscale", "gfx942")
    assert rule is not None
    name = rule.kernel(m, n, k)
    assert name is not None
    return f"{name.split('_')[3]} {name.rsplit('_', 1)[1]}"


@pytest.mark.parametrize(
    ("mn", "k", "expected"),
    [
        (307_200, 128, "256x16x64x128 v1"), (307_201, 128, "256x32x64x128 v1"), (2_000_000, 128, "256x32x64x128 v1"),
        (2_000_001, 128, "256x64x64x128 v1"), (307_200, 1024, "256x16x64x256 v1"), (307_201, 1024, "256x64x64x256 v1"),
        (1_050_000, 1024, "256x64x64x256 v1"), (1_050_001, 1024, "256x64x128x128 v3"),
        (1_050_001, 383, "256x64x64x256 v1"), (1_050_001, 384, "256x64x128x128 v3"),
        (2_500_000, 384, "256x64x128x128 v3"), (2_500_001, 384, "256x128x128x128 v3"),
        (2_500_001, 256, "256x64x64x256 v1"), (307_200, 256, "256x16x64x256 v1"), (2_500_001, 129, "256x64x64x256 v1"),
    ],
)  # fmt: skip
def test_both_sides_of_every_threshold(mn: int, k: int, expected: str) -> None:
    assert tile(1, mn, k) == tile(mn, 1, k) == expected


def test_the_products_of_m_and_n_are_64_bit() -> None:
    assert tile(2**31, 2**31, 4096) == "256x128x128x128 v3"


def test_the_arms_reproduce_the_measured_tables(rows: Rows) -> None:
    rule = heuristic_for("a8w8_blockscale", "gfx942")
    assert rule is not None
    studied = [row for row in rows if row.module == rule.module and any(name in row.file for name in STUDY)]
    hits = sum(rule.kernel(row.m, row.n, row.k) == row.kernel for row in studied)
    assert len(studied) == 21_609
    assert round(hits / len(studied), 5) == 0.97996


def test_every_leaf_is_a_kernel_measured_on_that_arch(rows: Rows) -> None:
    """But for deepgemm's, which is its module's own and has no tables, mxfp8's, which is the peer's word, and those
    of experts, whose arms name a block of rows: test_moe_rule.py holds them against the tables."""
    for rule in heuristics():
        if rule.module in (DEEPGEMM, MXFP8, *MOE_RULES):
            continue
        measured = {
            row.kernel for row in rows if (row.module, row.gfx, row.library) == (rule.module, rule.arch, rule.library)
        }
        assert {arm.kernel for arm in rule.arms} <= measured


def test_a_rule_without_a_last_arm_may_not_answer() -> None:
    rule = parse_rule({"module": "m", "library": "ck", "arms": [{"when": ["M == 4", "N < 2"], "kernel": "k"}]}, "x")
    assert [rule.evaluate(4, 1, 9), rule.evaluate(4, 2, 9), rule.evaluate(5, 1, 9)] == [0, None, None]
    assert [str(condition) for condition in rule.arms[0].conditions] == ["M == 4", "N < 2"]
    assert heuristic_for("a8w8", "gfx942") is None


def test_rows_are_m_unless_said_and_compute_units_are_the_devices() -> None:
    arms = [{"when": ["CUS <= 80"], "kernel": "few"}, {"when": ["ROWS < 4"], "kernel": "thin"}]
    rule = parse_rule({"module": "m", "library": "ck", "arms": arms}, "x")
    assert [rule.evaluate(m, 1, 1, cu_num=81) for m in (3, 4)] == [1, None]
    assert rule.evaluate(3, 1, 1, rows=4, cu_num=81) is None and rule.evaluate(9, 1, 1, rows=3, cu_num=80) == 0


@pytest.mark.parametrize("text", ["M > 4", "Q <= 4", "M <= -4", "M<=4", "M <= 4 ", "MNK <= 4", "rows <= 4"])
def test_a_condition_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a condition"):
        parse_rule({"module": "m", "library": "ck", "arms": [{"when": [text], "kernel": "k"}]}, "x")
