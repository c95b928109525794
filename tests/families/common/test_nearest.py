"""Of instances that refuse a problem, the one is told that the problem is nearest to."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from ckgen.families.common.problem_finding import ProblemFinding, no_instance, outweighs
from ckgen.families.common.problem_tables import MESSAGES, NEAR, SIGNATURE_RULES

NEARER = [
    no_instance(),
    ProblemFinding("moe.n-min", 512, 1024),  # another kernel is meant
    ProblemFinding("gemm.instance.max-m", 4, 1),
    ProblemFinding("gemm.instance.max-m", 4, 2),
    ProblemFinding("gemm.instance.matrix-size", 2**40, 2**31),
    ProblemFinding("gemm.instance.matrix-size", 2**62, 2**62 - 1),
    ProblemFinding("gemm.instance.m-multiple", 4, 16),
    ProblemFinding("gemm.instance.n-multiple", 1025, 16),
    ProblemFinding("gemm.instance.n-multiple", 1039, 16),
    ProblemFinding("fmha.instance.cache", 0, 1048575),
    ProblemFinding("moe.block-m", 16, 32),
    ProblemFinding("moe.atomic", 2, 1),
    ProblemFinding("gemm.instance.declined", 4, 0),  # a table stands in the way of a kernel that could run
]
"""Each is nearer than those before it."""


@pytest.mark.parametrize(("far", "near"), list(pairwise(NEARER)), ids=str)
def test_the_nearer_one_is_told_whatever_came_first(far: ProblemFinding, near: ProblemFinding) -> None:
    assert outweighs(near, far) and not outweighs(far, near)


def test_of_equally_near_ones_the_first_is_told() -> None:
    for finding in NEARER[1:]:
        assert outweighs(finding, None) and outweighs(finding, no_instance()) and not outweighs(finding, finding)
    assert not outweighs(ProblemFinding("gemm.instance.k-multiple", 4, 16), NEARER[6])


def test_every_rule_of_instances_says_how_near_they_are_and_no_other_does() -> None:
    of_problems = {rule for rule, *_ in SIGNATURE_RULES}
    assert {rule for rule in MESSAGES if ".instance." in rule} <= NEAR.keys()
    assert not {rule for rule in MESSAGES if ".shape." in rule or re.match(r"\w+\.no-", rule)} & NEAR.keys()
    assert not of_problems & NEAR.keys() and {*NEAR.values()} == {*range(1, 8)}
