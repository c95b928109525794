"""What quickstart compares: planted errors are reported at each of its problems."""

from __future__ import annotations

import pytest

from ckgen.families.common.comparison import compare
from ckgen.families.common.storage import SIGNIFICAND_BITS
from ckgen.families.gemm.signature import parse_signature
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape
from ckgen.quickstart.problems import gpu_targets, problems_of
from ckgen.quickstart.verify import expected_of, operands_of
from ckgen.specs import load_archs
from planted_errors import unreported


@pytest.mark.parametrize("k_batch", [1, 8])
@pytest.mark.parametrize("target", [*gpu_targets(), Target("x86_64_v3", 2)], ids=str)
def test_planted_errors_are_reported_at_every_problem(target: Target, k_batch: int) -> None:
    flavour = load_archs()[target.gfx].fp8_flavour
    for problem in problems_of(target):
        shape = problem.shape
        if "illegal" in problem.what or (k_batch > 1 and shape.m > 64):
            continue
        signature = parse_signature(problem.signature, flavour)
        operands = operands_of(signature, shape, k_batch)
        expected = expected_of(operands, k_batch)
        missed = unreported(operands, expected, lambda c, e=expected: compare(e, c).ok, k_batch)  # type: ignore[misc]
        assert not missed, (problem, missed)
        assert expected.sensitivity.worst <= 1.01 * 2.0 ** -SIGNIFICAND_BITS.get(signature.c, 53), problem


@pytest.mark.parametrize(("k_batch", "is_one"), [(1, False), (2, True)])
def test_of_splits_of_k_one_result_is_right_and_unsplit_all_that_epilogues_round_to(k_batch: int, is_one: bool) -> None:
    signature = parse_signature("gemm_fp32_rcr_epi_add", None)
    operands = operands_of(signature, Shape(0, 3, 5, 160), k_batch)
    assert expected_of(operands, k_batch).bound.any() != is_one
