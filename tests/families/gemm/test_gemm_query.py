"""What each tier offers for a GEMM: kernels, splits and rows, in the order in which they are tried."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from ckgen.families.common.query import Candidate
from ckgen.families.gemm.predicted.ticks import predicted_ticks, work_on
from ckgen.families.gemm.query import GemmQuery
from ckgen.model.selection import Tier
from ckgen.plan.model import GenerationPlan
from plan_support import GFX942, GFX942_80, GFX950, MIDDLE, SMALL_M, plan_of, query, row, write_table

Offer = tuple[Tier, str, int, int | None]
"""Tier, the table's kernel, splits, and M of the row."""


@pytest.fixture
def plan(tmp_path: Path) -> GenerationPlan:
    """K in two splits at M = 16 and 64; two rows of 80 CUs alone; gfx950 has a row of its own."""
    rows = [
        row(16, SMALL_M, splitK=1), row(64, MIDDLE, splitK=1), row(4096, MIDDLE),
        row(64, SMALL_M, cu_num=80, N=768, splitK=1), row(512, MIDDLE, cu_num=80, N=768),
        row(16, SMALL_M, gfx="gfx950", cu_num=256),
    ]  # fmt: skip
    return plan_of(write_table(tmp_path / "a8w8_blockscale.csv", rows), targets=(GFX942_80, GFX942, GFX950))


def asked(plan: GenerationPlan, m: int, *, n: int = 512, gfx950: bool = False) -> GemmQuery:
    return query(plan, GFX950 if gfx950 else GFX942, "a8w8_blockscale", m, n, 1024)


def offers(found: Iterable[Candidate]) -> list[Offer]:
    return [(one.tier, one.instance.table_kernel, one.k_batch, one.row and one.row.shape.m) for one in found]


@pytest.mark.parametrize(
    ("m", "offer"),
    [
        (16, [(Tier.EXACT, SMALL_M, 2, 16)]),
        (15, [(Tier.NEAR, SMALL_M, 2, 16)]),
        (17, []),
        (32, [(Tier.NEAR, MIDDLE, 2, 64)]),
        (4096, [(Tier.EXACT, MIDDLE, 1, 4096)]),
        (4097, []),
    ],
)
def test_the_table_has_the_m_or_the_next_above(plan: GenerationPlan, m: int, offer: list[Offer]) -> None:
    problem = asked(plan, m)
    assert offers(problem.measured(plan.unit(problem.signature))) == offer


def test_of_the_kernels_that_take_the_problem_the_least_predicted_time_answers(plan: GenerationPlan) -> None:
    problem = asked(plan, 200)
    unit = plan.unit(problem.signature)
    assert unit is not None
    every = [unit.instances[at] for at in unit.predicted["gfx942"]]
    ticks = {one.name: predicted_ticks(work_on(one, "gfx942"), problem.cost_shape, 304) for one in every}
    taking = [one for one in every if problem.refusal(one, 1) is None]
    assert len(taking) > 2 and len(set(ticks.values())) > 2
    (found,) = problem.predicted(unit)
    assert (found.tier, found.k_batch, found.finding) == (Tier.PREDICTED, 1, None)
    assert ticks[found.instance.name] == min(ticks[one.name] for one in taking)


def test_what_refuses_the_problem_is_not_predicted(plan: GenerationPlan) -> None:
    problem = query(plan, GFX942, "a8w8_blockscale", 200, 516, 1024)
    unit = plan.unit(problem.signature)
    assert unit is not None
    every = [unit.instances[at] for at in unit.predicted["gfx942"]]
    assert any(problem.refusal(one, 1) is not None for one in every)
    for found in problem.predicted(unit):
        assert problem.refusal(found.instance, 1) is None


def test_the_rows_on_both_sides_are_far_the_nearer_in_ratio_first(plan: GenerationPlan) -> None:
    problem = asked(plan, 200)
    far = offers(problem.beyond(plan.unit(problem.signature)))
    assert far == [(Tier.FAR, MIDDLE, 2, 64), (Tier.FAR, MIDDLE, 1, 4096)]


def test_a_rule_gives_a_kernel_of_its_arch_that_sums_all_of_k(plan: GenerationPlan) -> None:
    problem = asked(plan, 300)
    (found,) = problem.ruled(plan.unit(problem.signature))
    assert (found.tier, found.k_batch, found.row, found.finding) == (Tier.HEURISTIC, 1, None, None)
    assert "gfx942" in found.instance.archs
    assert not [*asked(plan, 300, gfx950=True).ruled(plan.unit(problem.signature))]


def test_rows_of_other_counts_of_cus_are_the_next_above_and_the_one_below(plan: GenerationPlan) -> None:
    problem = asked(plan, 300, n=768)
    unit = plan.unit(problem.signature)
    found = offers(problem.of_other_cus(unit))
    assert [(tier, kernel, m) for tier, kernel, _, m in found] == [
        (Tier.OTHER_CU, MIDDLE, 512), (Tier.OTHER_CU, SMALL_M, 64),
    ]  # fmt: skip
    assert not [*asked(plan, 300, n=768, gfx950=True).of_other_cus(unit)]


def test_words_of_sizes(plan: GenerationPlan) -> None:
    problem = asked(plan, 16)
    assert problem.sizes_text() == "M=16 N=512 K=1024"
    assert problem.sizes_document() == {"M": 16, "N": 512, "K": 1024}
    assert problem.subject().startswith("gemm a8w8_blockscale fp8_fnuz")
    (found,) = problem.measured(plan.unit(problem.signature))
    assert (problem.measured_at(found.row), problem.notes(found)) == ("M=16", ())
