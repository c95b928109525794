"""Cases of GEMMs, for the checker."""

from __future__ import annotations

from collections.abc import Iterator
from ctypes import c_void_p
from dataclasses import dataclass, field, fields, replace

from ckgen.families.common.comparison import Expected
from ckgen.families.common.sensitivity import Sensitivity
from ckgen.families.common.storage import Storage, decode
from ckgen.families.gemm import partition
from ckgen.families.gemm.enums import MAX_D
from ckgen.families.gemm.query import GemmQuery
from ckgen.families.gemm.reference import Operands, of_rows
from ckgen.families.gemm.signature import GemmSignature
from ckgen.fuzz.arguments import Arguments, arguments, sizes_of
from ckgen.fuzz.case import Case
from ckgen.fuzz.data import expected_of, operands_of, wrong
from ckgen.fuzz.decision import Decision
from ckgen.fuzz.layout import Placed, dense_refusal, placed
from ckgen.fuzz.memory import Matrix
from ckgen.fuzz.once import Once
from ckgen.fuzz.operation import FuzzedOperation, Result
from ckgen.fuzz.sampling import Budget, Rows
from ckgen.fuzz.space import Space
from ckgen.model.selection import Wishes
from ckgen.model.tuned_row import Shape
from ckgen.runtime import GemmArgsStruct, ProblemStruct, RuntimeLibrary


@dataclass(frozen=True, slots=True)
class GemmGiven:
    """See Given."""

    case: Case
    operands: Operands
    placed: Arguments
    parts: int
    expected: Once[Expected] = field(default_factory=Once)
    rows: Once[Rows] = field(default_factory=Once)

    @property
    def args(self) -> GemmArgsStruct:
        """See Given."""
        return self.placed.args

    def wrong(self) -> str:
        """See Given."""
        text, rows = wrong(self._expected(), self._result()), self.rows.known
        return text if not text or rows is None else f"{text}, counting {len(rows)} drawn rows"

    def sensitivity(self) -> Sensitivity:
        """See Given."""
        return self._expected().sensitivity

    def out_of_bounds_writes(self) -> str:
        """See Given."""
        return self.placed.out_of_bounds_writes()

    def results(self) -> Iterator[Result]:
        """See Given."""
        expected = self._expected()
        yield Result(expected, decode(self._result()).reshape(expected.c.shape))

    def sample(self, budget: Budget) -> None:
        """See Given."""
        case = self.case
        own = case.n * case.entries
        rows = budget.rows(case.m, own * case.k, own, case.seed)
        if rows is not None:
            self.rows.of(lambda: rows)

    def matrices(self) -> Iterator[Matrix]:
        """See Given."""
        yield from (self.placed.c, *self.placed.inputs.values())

    def _expected(self) -> Expected:
        rows = self.rows.known
        operands = self.operands if rows is None else of_rows(self.operands, rows)
        return self.expected.of(lambda: expected_of(operands, self.case, self.parts))

    def _result(self) -> Storage:
        """C, [batch, rows, N]."""
        found, rows = self.placed.result(), self.rows.known
        return found if rows is None else found.reshape(-1, self.case.m, self.case.n)[:, rows]


@dataclass(frozen=True, slots=True)
class GemmWork:
    """See Work."""

    case: Case
    decision: Decision

    def problem(self, library: RuntimeLibrary) -> ProblemStruct:
        """See Work."""
        case = self.case
        wishes = {one.name: getattr(case, one.name) for one in fields(Wishes)}
        return library.problem(case.signature, case.m, case.n, case.k, batch=case.batch, **wishes)

    def dense_refusal(self) -> str:
        """See Work."""
        return dense_refusal(self.decision.signature, self.case)

    def is_small(self, work: int, elements: int, extent: int) -> bool:
        """See Work."""
        case = self.case
        most = max(case.m * case.k, case.n * case.k, case.m * case.n) * case.entries
        is_few = case.m * case.n * case.k * case.entries <= work and most <= elements
        return is_few and fit(placed(self.decision.signature, case), extent)

    def refusal(self) -> str:
        """See Work."""
        return first_refusal(placed(self.decision.signature, self.case))

    def null_args(self, address: int) -> GemmArgsStruct:
        """See Work."""
        return null_args(self.decision.signature, self.case, address)

    def given(self, library: RuntimeLibrary, block_m: int, parts: int) -> GemmGiven:
        """See Work."""
        signature = self.decision.signature
        operands = operands_of(signature, self.case, self.decision.query.shape, parts)
        return GemmGiven(self.case, operands, arguments(signature, self.case, operands), parts)


def fit(matrices: tuple[Placed, ...], extent: int) -> bool:
    """Whether those that can be counted are at most so many bytes from end to end."""
    return all(not one.is_countable or one.one * one.dtype.bits // 8 <= extent for one in matrices)


def first_refusal(matrices: tuple[Placed, ...]) -> str:
    """The first of the runtime's refusals; empty for none."""
    return next((text for one in matrices if (text := one.refusal())), "")


def null_args(signature: GemmSignature, case: Case, address: int) -> GemmArgsStruct:
    """Arguments of the case's strides that all point to one place."""
    names = ("a", "b", "c", "a_scale", "b_scale", "bias", "a1", "b1")
    d_tensors = (c_void_p * MAX_D)(*[address] * MAX_D)
    return GemmArgsStruct(**dict.fromkeys(names, address), d=d_tensors, **sizes_of(signature, case))


def parts_of(space: Space, decision: Decision) -> int:
    """Those of split K and of stream-K."""
    instance, query = space.instances[decision.chosen.instance], decision.query
    assert isinstance(query, GemmQuery)
    return partition.parts_of(instance, query.shape, decision.chosen.k_batch, query.target.cu_num)


def shape_of(case: Case, signature: GemmSignature) -> Shape:
    """Batch, M, N and K."""
    return Shape(case.batch, case.m, case.n, case.k)


def asked(case: Case, problem: Shape) -> Case:
    """The case with a GEMM's sizes."""
    return replace(case, m=problem.m, n=problem.n, k=problem.k, batch=problem.batch or 1)


def flops(case: Case, signature: GemmSignature) -> int:
    """Of all batches."""
    return 2 * case.m * case.n * case.k * (case.batch if signature.batched else 1)


OPERATION = FuzzedOperation(shape_of, GemmWork, parts_of, asked, flops)
