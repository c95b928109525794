"""The problems that AMD's bridge to its stream-K kernels is held to are all answered on gfx942."""

from __future__ import annotations

from functools import cache

import pytest

from ckgen.families.gemm.query import GemmQuery
from ckgen.model.selection import Tier, Wishes
from ckgen.model.strategy import Strategy
from ckgen.model.tuned_row import Shape
from ckgen.plan.model import GenerationPlan
from ckgen.plan.select import Selection, select
from stream_k_matrix import LAYOUTS, REDUCTIONS, SHAPES, TARGET, TYPES, Case, cases, matrix_plan


@cache
def plan() -> GenerationPlan:
    return matrix_plan()


def selected(case: Case) -> Selection:
    return select(GemmQuery(plan(), TARGET, case.signature, Shape(0, *case.shape), Wishes(strategy=case.reduction)))


def test_every_problem_has_a_kernel_of_the_reduction_that_it_asks_for() -> None:
    every = list(cases())
    assert len(every) == len(SHAPES) * len(TYPES) * len(REDUCTIONS) * len(LAYOUTS) == 240
    for case in every:
        found = selected(case)
        assert found.tier is Tier.DEFAULT and found.instance is not None, (case, found.reason)
        assert found.instance.config.strategy is case.reduction


@pytest.mark.parametrize("layout", LAYOUTS)
def test_odd_sizes_are_refused_for_what_loads_of_several_elements_ask(layout: str) -> None:
    """Not for want of tiles: 257 in tiles of 32 is 729 iterations for 304 workgroups."""
    for types in TYPES:
        found = selected(Case((257, 257, 257), types, layout, Strategy.TREE))
        assert "257 is not a multiple of" in found.reason and "gemm.instance." in found.reason


def test_few_iterations_are_refused_for_want_of_them() -> None:
    found = selected(Case((64, 64, 64), "fp16", "rcr", Strategy.LINEAR))
    assert found.reason == (
        "too few tiles: their 8 iterations of K are fewer than the 304 workgroups (rule gemm.stream_k.too-few-tiles)"
    )
