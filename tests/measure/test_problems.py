"""Problems of a command line have operands that the kernels of their target take, and sum exactly."""

from __future__ import annotations

import numpy as np
import pytest

from ckgen.families.gemm.reference import Operands
from ckgen.families.gemm.signature import parse_canonical
from ckgen.fuzz.case import Case
from ckgen.fuzz.data import operands_of
from ckgen.measure.problems import case_of
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape

_HOPPER_BITS = 13


def _bits(values: np.ndarray) -> int:
    """After the point: the fewest that hold all of the values."""
    return next(bits for bits in (*range(23, 0, -1), 0) if not bits or (np.ldexp(values, bits - 1) % 1).any())


def _largest_sum(operands: Operands, block: int) -> float:
    """Of |sums so far| along K of the first row, in units of the least step of a product, each block from 0."""
    a, b = operands.a[0, 0], operands.b[0]
    steps = [_bits(a), _bits(b)]
    products = a[:, None] * b
    sums = (np.abs(np.cumsum(products[at : at + block], axis=0)).max() for at in range(0, len(a), block))
    return float(max(sums)) * 2.0 ** sum(steps)


@pytest.mark.parametrize("k", [64, 2048, 8192, 28672])
@pytest.mark.parametrize(("quant", "block"), [("rowwise", 1 << 20), ("blockscale", 128)])
def test_sums_of_8_bit_floats_fit_the_matrix_unit(quant: str, block: int, k: int) -> None:
    signature, shape = parse_canonical(f"gemm_fp8_ocp_bf16_rcr_{quant}"), Shape(0, 4, 64, k)
    case = case_of(signature, Target("sm_90a", 132), shape)
    assert _largest_sum(operands_of(signature, case, shape, 1), block) < 2**_HOPPER_BITS
    assert case.scale_columns == (quant == "blockscale"), "scales of A as descriptors load them"
    wide = Case(case.signature, case.target, seed=case.seed, m=4, n=64, k=k)
    assert _largest_sum(operands_of(signature, wide, shape, 1), block) > 2**_HOPPER_BITS or quant == "blockscale"


def test_sums_of_others_have_the_bits_of_fp32() -> None:
    signature, shape = parse_canonical("gemm_fp8_fnuz_bf16_rcr_blockscale"), Shape(0, 4, 64, 512)
    case = case_of(signature, Target("gfx942", 304), shape)
    assert case.text() == "signature=gemm_fp8_fnuz_bf16_rcr_blockscale target=gfx942:304 m=4 n=64 k=512 seed=1"
