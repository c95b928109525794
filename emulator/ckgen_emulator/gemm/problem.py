"""A GEMM to emulate, its data, and what a result is worth."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from ckgen.families.common.comparison import Expected
from ckgen.families.common.device.unit import Use
from ckgen.families.gemm.config import strategy_of
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.reference import Operands, expect, expect_of_integers
from ckgen.families.gemm.reference_data import make_integers, make_operands
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.groups import NO_ROUTING, Groups, GroupSize, Routing
from ckgen.model.strategy import Strategy
from ckgen.model.tuned_row import Shape


class Data(Enum):
    """SMALL_INTEGERS: C's type holds every partial sum. RANDOM: the accumulator does, and C is rounded once.

    docs/exactness.md says which results are then right.
    """

    SMALL_INTEGERS = "small-integers"
    RANDOM = "random"


def data_of(instance: Instance, k_batch: int) -> tuple[Data, ...]:
    """The kinds of data that tell a wrong result: where C is added up in parts, each rounded, integers alone."""
    in_parts = k_batch > 1 or strategy_of(instance.config) is Strategy.ATOMIC
    return (Data.SMALL_INTEGERS,) if in_parts else tuple(Data)


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


def operands_of(signature: GemmSignature, problem: GemmProblem) -> Operands:
    """The problem's data."""
    make = make_operands if problem.data is Data.RANDOM else make_integers
    return make(signature, problem.shape, problem.seed)


def expected_of(operands: Operands, problem: GemmProblem) -> Expected:
    """The exact result; its bound is zero where the data are small integers and stay integers."""
    return expect(operands) if problem.data is Data.RANDOM else expect_of_integers(operands)
