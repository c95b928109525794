"""A GEMM to emulate, its data, and what a result is worth."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
import numpy.typing as npt

from ckgen.families.gemm.device.model import Use
from ckgen.families.gemm.enums import EpilogueOp
from ckgen.families.gemm.reference import (
    Expected,
    Operands,
    Storage,
    Values,
    decode,
    expect,
    make_operands,
    scaled_operands,
)
from ckgen.families.gemm.reference_epilogue import is_exact
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.dtype import DType
from ckgen.model.groups import NO_ROUTING, Groups, GroupSize, Routing
from ckgen.model.tuned_row import Shape

_EXACT_UP_TO = {DType.BF16: 2**8, DType.FP16: 2**11, DType.FP32: 2**24}
"""Every integer up to here is a value of the type."""


class Data(Enum):
    """SMALL_INTEGERS: every partial sum is exact, so only one result is right. RANDOM: within a derived bound."""

    SMALL_INTEGERS = "small-integers"
    RANDOM = "random"


@dataclass(frozen=True, slots=True)
class GemmProblem:
    """`seed` decides the data and the schedule: 0 is the plain order, any other an adversary's.

    With `groups` it is a grouped GEMM of these, and `shape` their largest M, N and K: see `grouped`. `on_device`: only
    the device knows their rows. With `routing` it is a MoE layer or a part of one, whose tokens the caller sorts where
    `block_m` says so.
    """

    shape: Shape
    k_batch: int = 1
    seed: int = 0
    data: Data = Data.SMALL_INTEGERS
    groups: tuple[GroupSize, ...] = ()
    on_device: bool = False
    routing: Routing = NO_ROUTING
    block_m: int = 0

    @classmethod
    def grouped(
        cls,
        groups: Iterable[GroupSize],
        k_batch: int = 1,
        seed: int = 0,
        data: Data = Data.SMALL_INTEGERS,
        *,
        on_device: bool = False,
    ) -> GemmProblem:
        """A grouped GEMM."""
        sizes = tuple(groups)
        largest = Groups.of(sizes).largest
        return cls(Shape(0, largest.m, largest.n, largest.k), k_batch, seed, data, sizes, on_device)

    @property
    def use(self) -> Use:
        """What decides the device kernel."""
        return Use(self.shape, self.k_batch)


@dataclass(frozen=True, slots=True)
class ScaleOrder:
    """How a caller may lay scales out; a kernel that reads another order refuses."""

    a_row_major: bool = True
    mx_shuffled: bool = False


@dataclass(frozen=True, slots=True)
class Wrong:
    """An element that is farther from the exact result than a correct kernel may be."""

    batch: int
    row: int
    column: int
    expected: float
    actual: float


@dataclass(frozen=True, slots=True)
class Comparison:
    """A result against the reference. `bound` is the largest of all elements, 0 where equality is asked.

    `max_abs_err` and `excess` (the largest error in units of its element's bound) are infinite where an element is NaN,
    or `excess` where equality was asked and is not there.
    """

    max_abs_err: float
    bound: float
    excess: float
    wrong: int
    first: Wrong | None

    @property
    def ok(self) -> bool:
        """Whether a correct kernel may give this."""
        return self.excess <= 1


def operands_of(signature: GemmSignature, problem: GemmProblem) -> Operands:
    """The problem's data."""
    if problem.data is Data.RANDOM:
        return make_operands(signature, problem.shape, problem.seed)
    return _small_operands(signature, problem.shape, problem.seed)


def expected_of(operands: Operands, problem: GemmProblem) -> Expected:
    """The exact result; its bound is zero where the data are small integers and stay integers."""
    expected = expect(operands, problem.k_batch)
    if problem.data is Data.RANDOM or not is_exact(operands.signature.epilogue):
        return expected
    return Expected(expected.c, np.zeros_like(expected.bound))


def compare(expected: Expected, actual: Storage) -> Comparison:
    """Every element against its bound."""
    found = decode(actual).reshape(expected.c.shape)
    with np.errstate(invalid="ignore"):
        error = np.where(np.isnan(found), np.inf, np.abs(found - expected.c))
    error[np.isinf(expected.bound)] = 0
    bound = np.where(np.isinf(expected.bound), 0, expected.bound)
    with np.errstate(invalid="ignore", divide="ignore"):
        excess = np.where(error == 0, 0.0, error / bound)
    bad = excess > 1
    first = None
    if bad.any():
        batch, row, column = (int(index) for index in np.argwhere(bad)[0])
        place = (batch, row, column)
        first = Wrong(*place, float(expected.c[place]), float(found[place]))
    return Comparison(
        float(error.max(initial=0)), float(bound.max(initial=0)), float(excess.max(initial=0)), int(bad.sum()), first
    )


def _small_operands(signature: GemmSignature, shape: Shape, seed: int) -> Operands:
    """Integers up to 2, or to 1 where K is large, and scales of 1 and 2; so few that no sum of magnitudes leaves C's
    exact integers, nor does what the epilogue makes of it. Then neither the order of summation nor the number of K
    splits matters.
    """
    random = np.random.default_rng(seed)
    batch, m, n, k = max(shape.batch, 1), shape.m, shape.n, shape.k
    like = make_operands(signature, shape, seed)  # for the sizes of its scales

    def integers(most: int, *sizes: int) -> Values:
        return random.integers(-most, most + 1, sizes).astype(np.float64)

    def scales(of: Values | None) -> Values | None:
        return np.exp2(random.integers(0, 2, of.shape), dtype=np.float64) if of is not None else None

    def second(like: Values | None, most: int) -> Values | None:
        return integers(most, *like.shape) if like is not None else None

    bias = integers(4, n) if signature.bias else None
    of_a, of_b = scales(like.a_scale), scales(like.b_scale)
    limit = _EXACT_UP_TO.get(signature.c, 2**24)
    for most in (2, 1):
        operands = Operands(signature, integers(most, batch, m, k), integers(most, batch, k, n), of_a, of_b, bias)
        operands = replace(
            operands,
            d=tuple(integers(2, *of.shape) for of in like.d),
            alpha=2.0,
            a1=second(like.a1, most),
            b1=second(like.b1, most),
        )
        if _largest_sum(operands) <= limit:
            return operands
    whole, density = operands, 1.0
    while (size := _largest_sum(operands)) > limit:
        density *= 0.95 * limit / size
        kept = random.random(whole.a.shape) < density
        a1 = np.where(kept, whole.a1, 0.0) if whole.a1 is not None else None
        operands = replace(operands, a=np.where(kept, whole.a, 0.0), a1=a1)
    return operands


def _largest_sum(operands: Operands) -> float:
    """The largest sum of magnitudes that any element of C is made of, before and after each of the epilogue's ops."""
    a, b = scaled_operands(operands)
    size: npt.NDArray[np.float64] = np.abs(a) @ np.abs(b)
    bias = 0.0 if operands.bias is None else float(np.abs(operands.bias).max(initial=0))
    largest = after = float(size.max(initial=0)) + bias
    tensors = iter(operands.d)
    for op in operands.signature.epilogue:
        other = float(np.abs(next(tensors)).max(initial=0)) if op.takes_d else operands.alpha
        if op is EpilogueOp.ADD:
            after += other
        elif op in (EpilogueOp.MUL, EpilogueOp.SCALE):
            after *= other
        largest = max(largest, after)
    return largest
