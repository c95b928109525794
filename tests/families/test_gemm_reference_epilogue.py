"""The reference of epilogues and operands of two tensors: element by element from the definition, and its bound."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ckgen.families.common.storage import decode, encode
from ckgen.families.gemm.enums import EpilogueOp, OperandOp
from ckgen.families.gemm.reference import Operands, expect
from ckgen.families.gemm.reference_data import make_operands
from ckgen.families.gemm.reference_epilogue import after_epilogue
from ckgen.families.gemm.signature import GemmSignature, parse_canonical
from ckgen.families.kernel_sets import shipped_set
from ckgen.model.tuned_row import Shape
from ckgen_emulator.gemm.problem import GemmProblem, expected_of, operands_of

FUSED = sorted({
    c.signature for c in shipped_set("default")
    if c.signature.epilogue or (c.signature.a_op, c.signature.b_op) != (OperandOp.NONE, OperandOp.NONE)
}, key=str)  # fmt: skip


def step(op: EpilogueOp, x: float, d: list[float], alpha: float) -> float:
    match op:
        case EpilogueOp.ADD:
            return x + d.pop(0)
        case EpilogueOp.MUL:
            return x * d.pop(0)
        case EpilogueOp.SCALE:
            return x * alpha
        case EpilogueOp.RELU:
            return max(x, 0.0)
        case EpilogueOp.GELU:
            return 0.5 * x * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
        case EpilogueOp.SILU:
            return x / (1 + math.exp(-x))


def element(first: float, second: np.ndarray | None, op: OperandOp, at: tuple[int, ...], dtype: object) -> float:
    if second is None:
        return first
    other = float(second[at])
    combined = np.array([first + other if op is OperandOp.ADD else first * other])
    return float(decode(encode(combined, dtype))[0])  # type: ignore[arg-type]


def by_hand(operands: Operands, at: tuple[int, int, int]) -> float:
    s, (batch, row, column) = operands.signature, at
    terms = [
        element(operands.a[batch, row, k], operands.a1, s.a_op, (batch, row, k), s.a)
        * element(operands.b[batch, k, column], operands.b1, s.b_op, (batch, k, column), s.b)
        for k in range(operands.a.shape[-1])
    ]
    x = math.fsum(terms)
    if operands.a_scale is not None and operands.b_scale is not None:
        x *= float(operands.a_scale[batch, row]) * float(operands.b_scale[batch, column])
    if operands.bias is not None:
        x += float(operands.bias[column])
    d = [float(each[batch % each.shape[0], row % each.shape[1], column]) for each in operands.d]
    for op in s.epilogue:
        x = step(op, x, d, operands.alpha)
    assert not d
    return x


@pytest.mark.parametrize("signature", FUSED, ids=str)
def test_the_reference_is_the_definition(signature: GemmSignature) -> None:
    operands = make_operands(signature, Shape(2 if signature.batched else 0, 3, 40, 16), seed=4)
    found = expect(operands)
    for at in ((0, 0, 0), (found.c.shape[0] - 1, 2, 39), (0, 1, 17)):
        exact = by_hand(operands, at)
        if found.bound[at] == 0:
            exact = float(decode(encode(np.array(exact), signature.c)))
        near_a_tie = signature.c.bits == 16 and found.bound[at] != 0  # C is then either of two neighbours
        off = found.bound[at] if near_a_tie else 1e-14
        assert found.c[at] == pytest.approx(exact, rel=1e-12, abs=off)


@pytest.mark.parametrize("op", EpilogueOp)
def test_fp32_steps_stay_within_the_bound_and_use_it(op: EpilogueOp) -> None:
    """Each step in fp32 from inputs as wrong as they may be; a tenth of the bound would not do."""
    random = np.random.default_rng(5)
    x = random.uniform(-20, 20, (1, 400, 500))
    bound = np.abs(x) * 2.0**-20
    wrong = (x + random.uniform(-0.9, 0.9, x.shape) * bound).astype(np.float32)
    d, alpha = random.uniform(-2, 2, x.shape).astype(np.float32), np.float32(1.7)
    exact, limit = after_epilogue((op,), (d.astype(np.float64),), float(alpha), x, bound)
    one = np.float32(1)
    with np.errstate(over="ignore"):
        computed = {
            EpilogueOp.ADD: lambda: wrong + d,
            EpilogueOp.MUL: lambda: wrong * d,
            EpilogueOp.SCALE: lambda: wrong * alpha,
            EpilogueOp.RELU: lambda: np.maximum(wrong, np.float32(0)),
            EpilogueOp.SILU: lambda: wrong / (one + np.exp(-wrong)),
            EpilogueOp.GELU: lambda: (
                wrong / (one + np.exp(np.float32(-1.59576912) * (wrong + np.float32(0.044715) * wrong**3)))
            ),
        }[op]()
    error = np.abs(computed.astype(np.float64) - exact) / limit
    assert 0.1 < error.max() <= 1


@pytest.mark.parametrize("signature", FUSED, ids=str)
def test_small_integers_stay_exact_where_the_ops_allow(signature: GemmSignature) -> None:
    problem = GemmProblem(Shape(2 if signature.batched else 0, 24, 40, 512), seed=3)
    operands = operands_of(signature, problem)
    expected = expected_of(operands, problem)
    gated = {EpilogueOp.GELU, EpilogueOp.SILU} & set(signature.epilogue)
    assert (expected.bound.max() == 0) == (not gated)
    assert gated or np.array_equal(decode(encode(expected.c, signature.c)), expected.c)
    assert np.abs(expected.c).max() > 8


def test_every_op_and_pair_is_among_the_defaults() -> None:
    assert {op for s in FUSED for op in s.epilogue} == set(EpilogueOp)
    assert max(sum(op.takes_d for op in s.epilogue) for s in FUSED) == 2
    assert {(s.a_op.value, s.b_op.value) for s in FUSED} == {
        ("none", "none"), ("add", "none"), ("none", "mul"), ("add", "mul")
    }  # fmt: skip
    assert any(s.batched for s in FUSED)
    assert parse_canonical("gemm_bf16_rcr_a_add_b_mul_epi_add") in FUSED
