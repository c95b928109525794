"""Every signature's own data, of both kinds: planted errors are reported, and the right result is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckgen.families.common.comparison import compare
from ckgen.families.common.storage import SIGNIFICAND_BITS
from ckgen.families.gemm.enums import EpilogueOp, Layout
from ckgen.families.gemm.signature import GemmSignature, parse_signature
from ckgen.families.kernel_sets import shipped_set
from ckgen.model.dtype import Fp8Flavour
from ckgen.model.tuned_row import Shape
from ckgen_emulator.gemm.problem import Data, GemmProblem, expected_of, operands_of
from planted_errors import unreported

SIGNATURES = sorted(
    {c.signature.resolved(Fp8Flavour.OCP) for c in shipped_set("default") if c.signature.layout is Layout.RCR}
    | {
        parse_signature(text, Fp8Flavour.FNUZ)
        for text in (
            "gemm_fp64_rcr", "gemm_bf16_rcr_per_tensor_batched_bias", "a8w8:int8:bias", "gemm_bf16_rcr_bias",
            "gemm_fp16_int4_fp32_rcr", "gemm_fp8_ocp_bf16_rcr_blockscale_scales_b_16x32",
            "gemm_bf8_fp16_rcr_blockscale",
            "gemm_bf16_int4_bf16_rcr_blockscale_batched_scales_b_1x128", "gemm_fp8_ocp_fp4_bf16_rcr_mx",
        )
    },
    key=str,
)  # fmt: skip
SHAPES = (Shape(0, 1, 160, 1024), Shape(0, 35, 48, 256), Shape(0, 5, 32, 7168))


@pytest.mark.parametrize("data", Data)
@pytest.mark.parametrize("signature", SIGNATURES, ids=str)
def test_planted_errors_are_reported(signature: GemmSignature, data: Data) -> None:
    for seed, shape in enumerate(SHAPES):
        problem = GemmProblem(replace(shape, batch=2 if signature.batched else 0), data=data, seed=seed)
        operands = operands_of(signature, problem)
        expected = expected_of(operands, problem)
        missed = unreported(operands, expected, lambda c, e=expected: compare(e, c).ok, parts=4)  # type: ignore[misc]
        assert not missed, (shape, missed)


@pytest.mark.parametrize("signature", SIGNATURES, ids=str)
def test_a_bound_is_a_rounding_of_c_at_most(signature: GemmSignature) -> None:
    """Where an epilogue cancels, of what it cancels."""
    problem = GemmProblem(Shape(2 if signature.batched else 0, 5, 32, 7168), data=Data.RANDOM, seed=3)
    seen = expected_of(operands_of(signature, problem), problem).sensitivity
    unit = 2.0 ** -SIGNIFICAND_BITS.get(signature.c, 24)
    steps = 1 + 2**-22 / unit * (8 + 4 * len(signature.epilogue))
    assert seen.median <= unit * steps
    if not {EpilogueOp.ADD, EpilogueOp.GELU, EpilogueOp.SILU} & set(signature.epilogue) and not signature.bias:
        assert seen.worst <= unit * steps
