"""What the tests of host kernels compare: planted errors are reported at each of their GEMMs."""

from __future__ import annotations

from dataclasses import replace

import pytest
import test_host_fused as fused
import test_host_quant as quant

from ckgen.families.gemm.reference import expect
from ckgen.families.gemm.reference_data import make_integers, make_operands
from ckgen.families.gemm.signature import parse_canonical
from ckgen.model.tuned_row import Shape
from planted_errors import unreported

PROBLEMS = [
    *((name, fused.SHAPE) for name in fused.names()),
    *((name, replace(quant.SHAPE, n=160)) for name in quant.names()),
]
SPLIT = ("gemm_fp8_ocp_bf16_rcr_blockscale_scales_b_64x128", Shape(0, 20, 70, 384))


@pytest.mark.parametrize(("name", "shape"), PROBLEMS, ids=str)
def test_planted_errors_are_reported(name: str, shape: Shape) -> None:
    operands = make_operands(parse_canonical(name), shape, 5)
    expected = expect(operands)
    assert unreported(operands, expected, lambda c: expected.excess(c) <= 1) == []


def test_planted_errors_of_a_split_are_reported() -> None:
    name, shape = SPLIT
    operands = make_integers(parse_canonical(name), shape, 1)
    expected = expect(operands)
    assert unreported(operands, expected, lambda c: expected.excess(c) <= 1, parts=3) == []
