"""The definition of attention's backward: against differences of forward, against torch, and what its bounds see."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from backward_by_hand import SIGNATURES, inputs_of, loss, operands_of, with_results

from ckgen.families.common.comparison import Expected
from ckgen.families.common.storage import Values, decode, encode
from ckgen.families.fmha.backward_operands import BackwardOperands, make_backward_operands
from ckgen.families.fmha.cut import Cut
from ckgen.families.fmha.enums import FmhaCorner
from ckgen.families.fmha.operands import Lengths
from ckgen.families.fmha.reference_backward import Gradients, expect_backward
from ckgen.families.fmha.signature import parse_canonical
from ckgen.model.dtype import DType
from ckgen.model.fmha_shape import FmhaShape

_STEP = 1e-5
_NAMES = {"q": "dq", "k": "dk", "v": "dv", "bias": "dbias", "sink": "dsink"}


def counted(expected: Expected) -> Values:
    """What counts of it; zeros elsewhere."""
    return np.where(np.isinf(expected.bound), 0.0, expected.c)


def wide(operands: BackwardOperands) -> BackwardOperands:
    """The same values as fp32, whose gradients are not rounded to 16 bits."""
    text = str(operands.forward.signature)
    signature = parse_canonical(text.replace("_bf16", "_fp32").replace("_fp16", "_fp32"))
    return replace(operands, forward=replace(operands.forward, signature=signature))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("text", SIGNATURES)
def test_gradients_are_what_differences_of_forward_tend_to(text: str, seed: int) -> None:
    operands = wide(with_results(operands_of(text, seed), seed))
    inputs, gradients, random = inputs_of(operands.forward), expect_backward(operands), np.random.default_rng(seed)
    for name, values in inputs.items():
        exact = counted(getattr(gradients, _NAMES[name]))
        for _ in range(3):
            direction = random.standard_normal(values.shape)
            up, down = ({**inputs, name: values + side * _STEP * direction} for side in (1, -1))
            slope = (loss(operands, up, np) - loss(operands, down, np)) / (2 * _STEP)
            size = np.abs(exact * direction).sum()
            assert slope == pytest.approx((exact * direction).sum(), abs=1e-7 * size + 1e-9), name


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("text", SIGNATURES)
def test_gradients_are_those_of_torch_in_float64(text: str, seed: int) -> None:
    torch = pytest.importorskip("torch")
    operands = wide(with_results(operands_of(text, seed), seed))
    inputs = {name: torch.tensor(values, requires_grad=True) for name, values in inputs_of(operands.forward).items()}
    loss(operands, inputs, torch).backward()
    gradients = expect_backward(operands)
    for name, values in inputs.items():
        expected = getattr(gradients, _NAMES[name])
        assert expected.excess(values.grad.numpy()) < 1e-1, name  # its bound has an fp32 rounding


def test_a_problem_without_keys_or_rows_has_gradients_of_zero() -> None:
    signature = parse_canonical("fmha_fp32_bwd_varlen_masked")
    operands = make_backward_operands(signature, FmhaShape(2, 2, 1, 5, 7, 4, 3), 0, Lengths((0, 5), (7, 0)))
    gradients = expect_backward(operands)
    for name, one in (("dq", gradients.dq.c[1]), ("dk", gradients.dk.c[0]), ("dv", gradients.dv.c[0])):
        assert not one.any(), name
    assert (gradients.dk.bound[0] < 1e-30).all() and np.isinf(gradients.dk.bound[1]).all()


def planted(operands: BackwardOperands, cut: Cut) -> Iterator[tuple[str, str, Gradients]]:
    """What is wrong, the gradient that it is seen in, and the wrong gradients."""
    of, shape = operands.forward, operands.forward.shape

    def of_forward(**changes: object) -> Gradients:
        return expect_backward(replace(operands, forward=replace(of, **changes)), cut)  # type: ignore[arg-type]

    tile = operands.dout.copy()
    tile[:, :16] = 0
    yield "a tile of rows is dropped", "dk", expect_backward(replace(operands, dout=tile), cut)
    fewer = Lengths(of.lengths.q, tuple(max(length - 16, 0) for length in of.lengths.k))
    lost = replace(shape, corner=FmhaCorner.TOP_LEFT)
    yield "a tile of keys is dropped", "dq", of_forward(lengths=fewer, shape=lost if _top(shape) else shape)
    yield "the other corner", "dq", of_forward(shape=replace(shape, corner=_other(shape.corner)))
    yield "a mask off by one", "dv", of_forward(shape=replace(shape, window_right=shape.window_right + 1))
    yield "unscaled dS", "dk", _unscaled(expect_backward(operands, cut), of.scale)
    assert of.dropout is not None
    another = replace(of.dropout, seed=of.dropout.seed + 1)
    yield "dropout of another seed", "dv", of_forward(dropout=another)
    yield "no delta", "dq", expect_backward(replace(operands, o=np.zeros_like(operands.o)), cut)
    zeroed = operands.dout.copy()
    zeroed[:, :, 1::2] = 0
    yield "one head of a group is missing in its sum", "dv", expect_backward(replace(operands, dout=zeroed), cut)


def _top(shape: FmhaShape) -> bool:
    return shape.corner is FmhaCorner.TOP_LEFT


def _other(corner: FmhaCorner) -> FmhaCorner:
    return FmhaCorner.BOTTOM_RIGHT if corner is FmhaCorner.TOP_LEFT else FmhaCorner.TOP_LEFT


def _unscaled(gradients: Gradients, scale: float) -> Gradients:
    return replace(
        gradients,
        dq=Expected(gradients.dq.c / scale, gradients.dq.bound),
        dk=Expected(gradients.dk.c / scale, gradients.dk.bound),
    )


@pytest.mark.parametrize(
    ("types", "cut"),
    [("fp32", Cut.NOTHING), ("fp16", Cut.NOTHING), ("bf16", Cut.NOTHING), ("fp16", Cut.ALL), ("bf16", Cut.FACTORS)],
)
def test_bounds_see_what_is_wrong_on_purpose(types: str, cut: Cut) -> None:
    signature = parse_canonical(f"fmha_{types}_bwd_masked_dropout")
    shape = FmhaShape(2, 4, 2, 40, 56, 32, 24, FmhaCorner.TOP_LEFT, 20, 3)
    operands = make_backward_operands(signature, shape, 5)
    right = expect_backward(operands, cut)
    assert all(
        getattr(right, name).excess(stored(getattr(right, name).c, operands)) <= 1 for name in ("dq", "dk", "dv")
    )
    unseen = [
        what
        for what, name, wrong in planted(operands, cut)
        if getattr(right, name).excess(stored(getattr(wrong, name).c, operands)) <= 2
    ]
    assert unseen == []


def by_hand(operands: BackwardOperands, cut: Cut) -> dict[str, Values]:
    """dQ, dK and dV of one sequence in float64, but for P, dS and what else is cut."""
    of = operands.forward
    q, k, v, o, dout = (one[0].transpose(1, 0, 2) for one in (of.q, of.k, of.v, operands.o, operands.dout))
    p = np.exp(of.scale * q @ k.transpose(0, 2, 1) - operands.lse[0][..., None])
    ds = p * (dout @ v.transpose(0, 2, 1) - (dout * o).sum(axis=2, keepdims=True))
    p, ds = (towards_zero(one, operands) for one in (p, ds))
    found = {"dq": of.scale * ds @ k, "dk": of.scale * ds.transpose(0, 2, 1) @ q, "dv": p.transpose(0, 2, 1) @ dout}
    cuts = {"dk", "dv"} if cut.of_results else set()
    each = {name: (towards_zero if name in cuts else stored)(one, operands) for name, one in found.items()}
    return {name: one.transpose(1, 0, 2)[None] for name, one in each.items()}


def towards_zero(values: Values, operands: BackwardOperands) -> Values:
    """The number of 16 bits that is nearest, of those that are not larger."""
    nearest = stored(values, operands)
    step = np.spacing(nearest.astype(np.float16)) if operands.forward.signature.a is DType.FP16 else nearest * 2.0**-8
    lower = stored(nearest - np.copysign(step, nearest), operands)
    return np.where(np.abs(nearest) > np.abs(values), lower, nearest)


@pytest.mark.parametrize(("types", "cut"), [("bf16", Cut.FACTORS), ("fp16", Cut.ALL), ("fp16", Cut.FACTORS)])
def test_what_is_cut_is_within_its_bound_and_beyond_the_next_smaller_one(types: str, cut: Cut) -> None:
    signature = parse_canonical(f"fmha_{types}_bwd")
    operands = make_backward_operands(signature, FmhaShape(1, 2, 2, 1, 80, 64, 64), 3)  # sums of many rows hide it
    found, smaller = by_hand(operands, cut), Cut.FACTORS if cut.of_results else Cut.NOTHING

    def beyond(bounds: Cut) -> list[str]:
        expected = expect_backward(operands, bounds)
        return [name for name, one in found.items() if getattr(expected, name).excess(one) > 1]

    assert beyond(cut) == [] and beyond(smaller) != []


def stored(values: Values, operands: BackwardOperands) -> Values:
    """As the gradient's type has them."""
    return decode(encode(values, operands.forward.signature.a))


@pytest.mark.parametrize("types", ["fp32", "fp16", "bf16"])
def test_bounds_are_of_the_size_of_rounding(types: str) -> None:
    """A bound that nothing exceeds proves nothing: the median is within some roundings of the type."""
    signature = parse_canonical(f"fmha_{types}_bwd_masked")
    gradients = expect_backward(make_backward_operands(signature, FmhaShape(1, 2, 2, 64, 64, 32, 32), 1))
    most = {"fp32": 5e-4, "fp16": 0.02, "bf16": 0.15}[types]
    for one in (gradients.dq, gradients.dk, gradients.dv):
        assert one.sensitivity.median < most
