from __future__ import annotations

from fractions import Fraction

import pytest
from families_rows import Rows
from hypothesis import given
from hypothesis import strategies as st

from ckgen.families.common.decision_rule import Asked, Feature, Leaf, parse_condition, parse_rule, value_of
from ckgen.families.gemm.heuristic import heuristic_for, heuristics, published_for
from ckgen.families.gemm.modules import modules
from ckgen.families.gemm.mxfp8_tables import MODULE as MXFP8
from ckgen.families.grouped_gemm.deepgemm import MODULE as DEEPGEMM
from ckgen.families.moe.robust import RULED_MODULES as MOE_RULES
from ckgen.specs.archs import load_archs

STUDY = ("qwen3_vl_32b", "qwen36_27b", "qwen3_vl_235b")


def tile(m: int, n: int, k: int) -> str:
    rule = published_for("a8w8_blockscale", "gfx942")
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
    rule = published_for("a8w8_blockscale", "gfx942")
    assert rule is not None
    studied = [row for row in rows if row.module == rule.module and any(name in row.file for name in STUDY)]
    hits = sum(rule.kernel(row.m, row.n, row.k) == row.kernel for row in studied)
    assert len(studied) == 21_609
    assert round(hits / len(studied), 5) == 0.97996


def test_every_leaf_is_a_kernel_measured_on_that_arch(all_rows: Rows) -> None:
    """But for deepgemm's, which is its module's own and has no tables, mxfp8's, which is the peer's word, those of
    experts, whose arms name a block of rows: test_moe_rule.py holds them against the tables; and those of a signature,
    which journals measured."""
    for rule in heuristics():
        if rule.module in (DEEPGEMM, MXFP8, *MOE_RULES) or rule.module not in modules():
            continue
        measured = {(row.library, row.kernel) for row in all_rows if (row.module, row.gfx) == (rule.module, rule.arch)}
        assert {(leaf.library, leaf.kernel) for leaf in rule.leaves} <= measured


def test_a_rules_product_is_one_of_its_arch() -> None:
    for rule in heuristics():
        assert rule.sku in ("", *(sku.word for sku in load_archs()[rule.arch].skus))


def test_a_rule_without_a_last_arm_may_not_answer() -> None:
    rule = parse_rule({"module": "m", "library": "ck", "arms": [{"when": ["M == 4", "N < 2"], "kernel": "k"}]}, "x")
    assert [rule.evaluate(4, 1, 9), rule.evaluate(4, 2, 9), rule.evaluate(5, 1, 9)] == [0, None, None]
    assert [str(node.condition) for node in rule.nodes] == ["M == 4", "N < 2"]
    assert heuristic_for("a8w8", "gfx90a") is None


def test_rows_are_m_unless_said_and_compute_units_are_the_devices() -> None:
    arms = [{"when": ["CUS <= 80"], "kernel": "few"}, {"when": ["ROWS < 4"], "kernel": "thin"}]
    rule = parse_rule({"module": "m", "library": "ck", "arms": arms}, "x")
    assert [rule.evaluate(m, 1, 1, cu_num=81) for m in (3, 4)] == [1, None]
    assert rule.evaluate(3, 1, 1, rows=4, cu_num=81) is None and rule.evaluate(9, 1, 1, rows=3, cu_num=80) == 0


def test_a_tree_leads_to_its_leaves_and_may_have_no_answer() -> None:
    leaves = [{"library": "ck", "kernel": "k"}, {"library": "ck", "kernel": "k", "k_batch": 4}]
    inner = {"if": "TILES(16x32) <= 4", "then": 1, "else": None}
    tree = {"if": "M <= 8", "then": 0, "else": {"if": "N == 64", "then": inner, "else": 0}}
    rule = parse_rule({"module": "m", "leaves": leaves, "tree": tree}, "x")
    assert rule.leaves == (Leaf("ck", "k"), Leaf("ck", "k", 4))
    asked = ((8, 64), (9, 32), (9, 64), (33, 64))
    assert [rule.evaluate(m, n, 1) for m, n in asked] == [0, 0, 1, None]


@given(
    rows=st.integers(1, 2**31), n=st.integers(1, 2**31), cu_num=st.integers(1, 400),
    tile=st.tuples(st.sampled_from((16, 96, 256)), st.sampled_from((16, 64, 192))),
)  # fmt: skip
def test_features_of_tiles_are_what_their_words_say(rows: int, n: int, cu_num: int, tile: tuple[int, int]) -> None:
    asked = Asked(7, n, 1, rows, cu_num)
    tiles = Fraction(rows, tile[0]).__ceil__() * Fraction(n, tile[1]).__ceil__()
    waves = Fraction(tiles, cu_num).__ceil__()
    padded = Fraction(rows, tile[0]).__ceil__() * tile[0]
    assert value_of(Feature.TILES, asked, *tile) == tiles
    assert value_of(Feature.WAVES, asked, *tile) == waves
    assert value_of(Feature.PAD, asked, tile[0]) == Fraction(1000 * padded, rows).__floor__()
    if tiles <= 2**50:
        assert value_of(Feature.FILL, asked, *tile) == Fraction(1000 * tiles, waves * cu_num).__floor__()


@pytest.mark.parametrize("text", ["M <= 4", "TILES(64x128) < 304", "PAD(16) == 1000", "FILL(1x2) <= 1"])
def test_a_condition_is_written_as_it_is_read(text: str) -> None:
    assert str(parse_condition(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "TILES <= 4",
        "TILES(64) <= 4",
        "PAD(1x2) < 4",
        "WAVES(0x16) < 4",
        "M(16) < 4",
        "M > 4",
        "Q <= 4",
        "M <= -4",
        "M<=4",
        "M <= 4 ",
        "MNK <= 4",
        "rows <= 4",
    ],
)
def test_a_condition_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a condition"):
        parse_rule({"module": "m", "library": "ck", "arms": [{"when": [text], "kernel": "k"}]}, "x")
