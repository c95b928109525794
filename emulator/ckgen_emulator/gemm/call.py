"""What is asked of the dispatcher for a problem, the arguments of its run, and what the result is worth."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ckgen.families.common.comparison import Comparison, Expected, Wrong, compare
from ckgen.families.common.sensitivity import Sensitivity
from ckgen.families.common.storage import encode
from ckgen.families.gemm.enums import Op, Quant
from ckgen.families.gemm.reference import Operands, shuffle_mx_scale, store_a, store_b
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.dtype import DType
from ckgen.model.groups import Groups
from ckgen.model.tuned_row import Shape
from ckgen.runtime import GemmArgsStruct, ProblemStruct, RuntimeLibrary
from ckgen.runtime.functions import Args
from ckgen.runtime.grouped import GroupedArgsStruct, GroupOperandsStruct, GroupSizeStruct
from ckgen.runtime.packed import fused_args, packed_args
from ckgen_emulator.gemm.memory import Buffers
from ckgen_emulator.gemm.moe_call import MoeCall
from ckgen_emulator.gemm.problem import GemmProblem, ScaleOrder, expected_of, operands_of

_Array = npt.NDArray[Any]
_SEEDS = 1009
"""Between the seeds of two problems, so that no two of their groups have the same data."""


def scale_orders(quant: Quant) -> tuple[ScaleOrder, ...]:
    """The orders there are."""
    if quant is Quant.BLOCKSCALE:
        return (ScaleOrder(), ScaleOrder(a_row_major=False))
    if quant is Quant.MX:
        return (ScaleOrder(mx_shuffled=True), ScaleOrder(), ScaleOrder(a_row_major=False, mx_shuffled=True))
    return (ScaleOrder(),)


class Call(Protocol):
    """One problem as a caller has it; any number of runs, one after the other."""

    def asked(self, library: RuntimeLibrary) -> ProblemStruct:
        """What the dispatcher is asked for."""
        ...

    def arguments(self, to: Buffers, order: ScaleOrder) -> Args:
        """Operands in `to`, a C that nobody has written, and the arguments that point to them."""
        ...

    def compared(self) -> Comparison:
        """What the last run's C is worth, once it is on the host."""
        ...

    def sensitivity(self) -> Sensitivity:
        """How small an error in C is seen."""
        ...

    def element(self, wrong: Wrong) -> tuple[_Array, int]:
        """The array of the last `arguments` that holds a wrong element, and the element's number in it."""
        ...


@dataclass(slots=True)
class GemmCall:
    """One GEMM, or a batch of them."""

    problem: GemmProblem
    operands: Operands
    expected: Expected
    c: _Array = field(default_factory=lambda: np.zeros(0))

    def asked(self, library: RuntimeLibrary) -> ProblemStruct:
        """See Call."""
        shape, signature = self.problem.shape, self.operands.signature
        return library.problem(signature.canonical(), shape.m, shape.n, shape.k, batch=self._batch())

    def arguments(self, to: Buffers, order: ScaleOrder) -> GemmArgsStruct:
        """See Call."""
        shape = self.problem.shape
        self.c = _unwritten((self._batch(), shape.m, shape.n), self.operands.signature.c)
        return arguments(self.operands, self.problem, to, to.result(self.c), order)

    def compared(self) -> Comparison:
        """See Call."""
        return compare(self.expected, self.c)

    def sensitivity(self) -> Sensitivity:
        """See Call."""
        return self.expected.sensitivity

    def element(self, wrong: Wrong) -> tuple[_Array, int]:
        """See Call."""
        return self.c, int(np.ravel_multi_index((wrong.batch, wrong.row, wrong.column), self.c.shape))

    def _batch(self) -> int:
        return self.problem.shape.batch if self.operands.signature.batched else 1


class GroupedCall:
    """Many GEMMs; their arrays are the device's where it alone knows the sizes."""

    def __init__(self, signature: GemmSignature, problem: GemmProblem) -> None:
        self.signature, self.problem = signature, problem
        self._groups = [
            _group_call(signature, replace(problem, shape=Shape(0, size.m, size.n, size.k), groups=(), seed=seed))
            if size.is_busy
            else None
            for seed, size in enumerate(problem.groups, problem.seed * _SEEDS)
        ]
        self._kept: tuple[Any, ...] = ()

    def asked(self, library: RuntimeLibrary) -> ProblemStruct:
        """See Call."""
        return library.grouped_problem(self.signature.canonical(), groups_of(self.problem))

    def arguments(self, to: Buffers, order: ScaleOrder) -> GroupedArgsStruct:
        """See Call."""
        count = len(self._groups)
        operands = (GroupOperandsStruct * count)(*(_group_operands(one, to, order) for one in self._groups))
        sizes = (GroupSizeStruct * count)(*(GroupSizeStruct(one.m, one.n, one.k) for one in self.problem.groups))
        self._kept = (operands, sizes)
        places = [ctypes.addressof(array) for array in self._kept]
        if self.problem.on_device:
            places = [to.give(np.frombuffer(bytes(array), np.uint8)) or 0 for array in self._kept]
        return GroupedArgsStruct(
            operands=places[0],
            sizes=places[1],
            count=count,
            a_scale_row_major=int(order.a_row_major),
            mx_scale_shuffled=int(order.mx_shuffled),
            alpha=next((one.operands.alpha for one in self._groups if one is not None), 1.0),
        )

    def compared(self) -> Comparison:
        """See Call; the first wrong element's batch is its group."""
        found = [(at, one.compared()) for at, one in enumerate(self._groups) if one is not None]
        first = next((replace(one.first, batch=at) for at, one in found if one.first is not None), None)
        each = [one for _, one in found]
        return Comparison(
            max_abs_err=max(one.max_abs_err for one in each),
            bound=max(one.bound for one in each),
            excess=max(one.excess for one in each),
            wrong=sum(one.wrong for one in each),
            first=first,
        )

    def element(self, wrong: Wrong) -> tuple[_Array, int]:
        """See Call."""
        group = self._groups[wrong.batch]
        assert group is not None
        return group.element(replace(wrong, batch=0))

    def sensitivity(self) -> Sensitivity:
        """See Call; the worst group's."""
        return Sensitivity.worst_of(one.sensitivity() for one in self._groups if one is not None)


def call_of(signature: GemmSignature, problem: GemmProblem) -> Call:
    """The problem with its data and the exact result."""
    if problem.groups:
        return GroupedCall(signature, problem)
    if signature.op is Op.MOE:
        return MoeCall(signature, problem)
    operands = operands_of(signature, problem)
    return GemmCall(problem, operands, expected_of(operands, problem))


def groups_of(problem: GemmProblem) -> Groups:
    """What the host knows of a problem's groups."""
    if not problem.on_device:
        return Groups.of(problem.groups)
    return Groups.on_device(len(problem.groups), problem.shape.m, problem.shape.n, problem.shape.k)


def _group_call(signature: GemmSignature, problem: GemmProblem) -> GemmCall:
    """One group, with the number that all groups share in place of its own."""
    operands = replace(operands_of(signature, problem), alpha=2.0)
    return GemmCall(problem, operands, expected_of(operands, problem))


def _group_operands(call: GemmCall | None, to: Buffers, order: ScaleOrder) -> GroupOperandsStruct:
    if call is None:
        return GroupOperandsStruct()
    one = call.arguments(to, order)
    names = ("a", "b", "c", "a_scale", "b_scale", "bias", "d", "lda", "ldb", "ldc", "ldd")
    return GroupOperandsStruct(**{name: getattr(one, name) for name in names})


def arguments(operands: Operands, problem: GemmProblem, to: Buffers, c: int, order: ScaleOrder) -> GemmArgsStruct:
    """Operands in `to`, without gaps between rows or batches, and the arguments that point to them."""
    signature = operands.signature
    a_scale, b_scale = (_scale(signature, values, order) for values in (operands.a_scale, operands.b_scale))
    if a_scale is not None and signature.quant is Quant.BLOCKSCALE and not order.a_row_major:
        a_scale = np.swapaxes(a_scale, -1, -2)
    bias = operands.bias.astype(np.float32) if operands.bias is not None else None
    return packed_args(
        signature.layout,
        problem.shape,
        a=to.give(store_a(operands)),
        b=to.give(store_b(operands)),
        c=c,
        a_scale=to.give(a_scale),
        b_scale=to.give(b_scale),
        bias=to.give(bias),
        **fused_args(operands, problem.shape, to.give),
        a_scale_row_major=int(order.a_row_major),
        mx_scale_shuffled=int(order.mx_shuffled),
    )


def _scale(signature: GemmSignature, values: npt.NDArray[np.float64] | None, order: ScaleOrder) -> _Array | None:
    if values is None or signature.scale is None:
        return None
    stored = encode(values, signature.scale)
    return shuffle_mx_scale(stored) if order.mx_shuffled else stored


def _unwritten(sizes: tuple[int, ...], dtype: DType) -> _Array:
    """Storage of ones only: NaN in every float type."""
    c = encode(np.zeros(sizes), dtype)
    c.view(np.uint8)[...] = 0xFF
    return c
