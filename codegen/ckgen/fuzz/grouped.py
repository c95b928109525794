"""Cases of grouped GEMMs, for the checker: each group is a GEMM's case of its own."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from ckgen.families.common.sensitivity import Sensitivity
from ckgen.families.gemm.enums import Op
from ckgen.families.gemm.signature import GemmSignature
from ckgen.fuzz.arguments import arguments
from ckgen.fuzz.case import Case
from ckgen.fuzz.data import operands_of
from ckgen.fuzz.decision import Decision
from ckgen.fuzz.gemm import GemmGiven, GemmWork, first_refusal, fit, null_args, parts_of, shape_of
from ckgen.fuzz.layout import Placed, dense_refusal, placed
from ckgen.fuzz.memory import Matrix
from ckgen.fuzz.operation import FuzzedOperation, Result
from ckgen.fuzz.sampling import Budget
from ckgen.model.groups import Groups, GroupSize
from ckgen.model.tuned_row import Shape
from ckgen.runtime import GemmArgsStruct, ProblemStruct, RuntimeLibrary
from ckgen.runtime.grouped import GroupedArgsStruct, GroupOperandsStruct, GroupSizeStruct

_POINTERS = ("a", "b", "c", "a_scale", "b_scale", "bias", "d", "lda", "ldb", "ldc", "ldd")


@dataclass(frozen=True, slots=True)
class GroupedGiven:
    """See Given. `arrays` are what `args` points to, `before` their bytes."""

    groups: dict[int, GemmGiven]
    args: GroupedArgsStruct
    arrays: tuple[ctypes.Array[Any], ...]
    before: tuple[bytes, ...]

    def wrong(self) -> str:
        """See Given."""
        return next((f"group {at}: {text}" for at, one in self.groups.items() if (text := one.wrong())), "")

    def results(self) -> Iterator[Result]:
        """See Given; of each group."""
        for one in self.groups.values():
            yield from one.results()

    def sample(self, budget: Budget) -> None:
        """See Given; each group has an equal part."""
        for one in self.groups.values():
            one.sample(budget.part(len(self.groups)))

    def matrices(self) -> Iterator[Matrix]:
        """See Given."""
        for one in self.groups.values():
            yield from one.matrices()

    def sensitivity(self) -> Sensitivity:
        """See Given; of the group where it is worst."""
        return Sensitivity.worst_of(one.sensitivity() for one in self.groups.values())

    def out_of_bounds_writes(self) -> str:
        """See Given."""
        if tuple(map(bytes, self.arrays)) != self.before:
            return "the arrays of groups were written"
        return next(
            (f"group {at}: {text}" for at, one in self.groups.items() if (text := one.out_of_bounds_writes())), ""
        )


@dataclass(frozen=True, slots=True)
class GroupedWork:
    """See Work."""

    case: Case
    decision: Decision

    def problem(self, library: RuntimeLibrary) -> ProblemStruct:
        """See Work."""
        case, groups = self.case, groups_of(self.case)
        if groups is None:
            return GemmWork(case, self.decision).problem(library)
        return library.grouped_problem(
            case.signature,
            groups,
            deterministic=case.deterministic,
            batch_invariant=case.batch_invariant,
            strategy=case.strategy,
        )

    def dense_refusal(self) -> str:
        """See Work; of the largest sizes."""
        largest = self.decision.query.shape
        return dense_refusal(self._alone, replace(self.case, m=largest.m, n=largest.n, k=largest.k))

    def is_small(self, work: int, elements: int, extent: int) -> bool:
        """See Work."""
        sizes = [size for size in _real_sizes(self.case) if size.is_busy]
        most = max((max(one.m * one.k, one.n * one.k, one.m * one.n) for one in sizes), default=0)
        is_few = sum(one.m * one.n * one.k for one in sizes) <= work and most <= elements
        return is_few and all(fit(self._placed(at), extent) for at in self._busy())

    def refusal(self) -> str:
        """See Work."""
        found = ((at, first_refusal(self._placed(at))) for at in self._busy())
        return next((f"{text} (group {at})" for at, text in found if text), "")

    def null_args(self, address: int) -> GroupedArgsStruct:
        """See Work."""
        each = {at: null_args(self._alone, case, address) for at, case in self.each().items()}
        args, _ = self._args(each, 1.0)
        return args

    def given(self, library: RuntimeLibrary, block_m: int, parts: int) -> GroupedGiven:
        """See Work."""
        found: dict[int, GemmGiven] = {}
        alpha: float | None = None
        for at, case in self.each().items():
            operands = operands_of(self._alone, case, Shape(0, case.m, case.n, case.k), parts)
            alpha = operands.alpha if alpha is None else alpha
            operands = replace(operands, alpha=alpha)
            found[at] = GemmGiven(case, operands, arguments(self._alone, case, operands), parts)
        args, arrays = self._args({at: one.args for at, one in found.items()}, 1.0 if alpha is None else alpha)
        return GroupedGiven(found, args, arrays, tuple(map(bytes, arrays)))

    def each(self) -> dict[int, Case]:
        """The GEMMs of the groups that do something."""
        return {at: self._group(at) for at in self._busy()}

    @property
    def _alone(self) -> GemmSignature:
        signature: GemmSignature = self.decision.signature
        return replace(signature, op=Op.GEMM)

    def _busy(self) -> list[int]:
        return [at for at, size in enumerate(_real_sizes(self.case)) if size.is_busy]

    def _group(self, at: int) -> Case:
        """A GEMM with data of its own. Strides that the host cannot see are legal ones."""
        case, size = self.case, _real_sizes(self.case)[at]
        gap = self._scale_stride() - self._scale_line(size) if case.gap_scale else 0
        case = replace(case, m=size.m, n=size.n, k=size.k, batch=1, groups=None, seed=case.seed + at, gap_scale=gap)
        if not case.on_device:
            return case
        gaps = {name: max(getattr(case, name), 0) for name in ("gap_a", "gap_b", "gap_c", "gap_d")}
        return replace(case, **gaps)

    def _scale_line(self, size: GroupSize) -> int:
        """Block scales of A in a line of memory."""
        signature: GemmSignature = self.decision.signature
        return size.m if self.case.scale_columns else -(-size.k // signature.scale_block.k)

    def _scale_stride(self) -> int:
        """From line to line, of all groups and of what the host knows of them; 0: no gaps."""
        if not self.case.gap_scale:
            return 0
        bound = self.decision.query.shape
        sizes = (GroupSize(bound.m, bound.n, bound.k), *_real_sizes(self.case))
        return max(0, *map(self._scale_line, sizes)) + self.case.gap_scale

    def _placed(self, at: int) -> tuple[Placed, ...]:
        """A group without K has no A and no B."""
        case = self._group(at)
        return placed(self._alone, case)[0 if case.k else 2 :]

    def _args(
        self, each: dict[int, GemmArgsStruct], alpha: float
    ) -> tuple[GroupedArgsStruct, tuple[ctypes.Array[Any], ...]]:
        """The arguments, and the arrays that they point to; groups that do nothing have no operands."""
        real = _real_sizes(self.case)
        count, case = len(real), self.case
        operands = (GroupOperandsStruct * count)()
        for at, one in each.items():
            operands[at] = GroupOperandsStruct(**{name: getattr(one, name) for name in _POINTERS})
        sizes = (GroupSizeStruct * count)(*(GroupSizeStruct(one.m, one.n, one.k) for one in real))
        args = GroupedArgsStruct(
            operands=ctypes.addressof(operands),
            sizes=ctypes.addressof(sizes),
            count=count,
            a_scale_row_major=int(not case.scale_columns),
            mx_scale_shuffled=int(case.scale_shuffled),
            alpha=alpha,
            a_scale_stride=self._scale_stride(),
        )
        args.kept_arrays = (operands, sizes)
        return args, (operands, sizes)


def _real_sizes(case: Case) -> tuple[GroupSize, ...]:
    """Those that a run has: on the device rows within the bound, and N and K of all."""
    sizes = case.groups or ()
    if not case.on_device:
        return sizes
    return tuple(GroupSize(max(min(size.m, case.m), 0), case.n, case.k) for size in sizes)


def groups_of(case: Case) -> Groups | None:
    """What the host knows of a grouped GEMM's groups; None where the problem has none."""
    if case.groups is None:
        return None
    if not case.on_device:
        return Groups.of(case.groups)
    return Groups.on_device(len(case.groups), case.m, case.n, case.k)


def problem_of(case: Case, signature: GemmSignature) -> Groups | Shape:
    """Its groups, or one GEMM's sizes where it has none."""
    return groups_of(case) or shape_of(case, signature)


def asked(case: Case, problem: Groups) -> Case:
    """The case with groups; those whose rows only the device knows all have the most."""
    if not problem.are_on_device:
        return replace(case, groups=problem.sizes)
    (most,) = problem.sizes
    return replace(case, groups=problem.sizes * problem.count, on_device=True, m=most.m, n=most.n, k=most.k)


def flops(case: Case, signature: GemmSignature) -> int:
    """Of all groups."""
    return sum(2 * one.m * one.n * one.k for one in _real_sizes(case))


OPERATION = FuzzedOperation(problem_of, GroupedWork, parts_of, asked, flops)
