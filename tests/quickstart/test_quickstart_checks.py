"""What quickstart compares: planted errors are reported at each of its problems."""

from __future__ import annotations

import pytest

from ckgen.families.common.comparison import compare
from ckgen.families.common.storage import SIGNIFICAND_BITS
from ckgen.families.gemm.reference import expect
from ckgen.families.gemm.signature import parse_signature
from ckgen.model.target import Target
from ckgen.quickstart.problems import gpu_targets, problems_of
from ckgen.quickstart.verify import operands_of
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
        expected = expect(operands)
        missed = unreported(operands, expected, lambda c, e=expected: compare(e, c).ok, k_batch)  # type: ignore[misc]
        assert not missed, (problem, missed)
        assert expected.sensitivity.worst <= 1.01 * 2.0 ** -SIGNIFICAND_BITS.get(signature.c, 53), problem
