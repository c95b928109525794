"""What a case of any op is to the checker: what it asks for, what a run is given, what must come out."""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from ckgen.families.common.sensitivity import Sensitivity
from ckgen.families.gemm.enums import Op
from ckgen.fuzz.case import Case, Data
from ckgen.fuzz.decide import AnyDecision
from ckgen.fuzz.decide_fmha import FmhaDecision
from ckgen.fuzz.fmha import FmhaWork
from ckgen.fuzz.gemm import GemmWork
from ckgen.fuzz.grouped import GroupedWork
from ckgen.fuzz.moe import MoeWork
from ckgen.runtime import ProblemStruct, RuntimeLibrary
from ckgen.runtime.dispatcher import Args


class Given(Protocol):
    """Operands in guarded memory, for one run."""

    @property
    def args(self) -> Args:
        """What is passed."""
        ...

    def wrong(self) -> str:
        """What no correct kernel gives; empty if there is nothing. Asked after the run."""
        ...

    def sensitivity(self) -> Sensitivity:
        """How small an error is seen; as much work as `wrong`."""
        ...

    def out_of_bounds_writes(self) -> str:
        """What was written that is not the result's; ends the contents."""
        ...


class Work(Protocol):
    """A case with what Python decided about it."""

    def problem(self, library: RuntimeLibrary) -> ProblemStruct:
        """What the dispatcher is asked for."""
        ...

    def dense_refusal(self) -> str:
        """Why no plan is made of a legal problem: a matrix without gaps that cannot be counted; else empty."""
        ...

    def is_small(self, work: int, elements: int, extent: int) -> bool:
        """Whether a run multiplies at most so often, has matrices of so many elements, and in bytes of that extent."""
        ...

    def refusal(self) -> str:
        """Why the runtime refuses the strides; empty where it does not."""
        ...

    def null_args(self, address: int) -> Args:
        """Arguments of the case's strides that all point to one place."""
        ...

    def given(self, library: RuntimeLibrary, block_m: int, parts: int) -> Given:
        """Operands for a plan of that block_m, whose kernel adds up so many parts in C's type."""
        ...


def runs_of(case: Case, decision: AnyDecision) -> tuple[Case, ...]:
    """The case, and of experts and attention the same on exact data: the bounds of any other are wide."""
    has_own = isinstance(decision, FmhaDecision) or decision.signature.op is Op.MOE
    return tuple(dict.fromkeys((case, replace(case, data=Data.INTEGERS)))) if has_own else (case,)


def work_of(case: Case, decision: AnyDecision) -> Work:
    """By the signature's op."""
    if isinstance(decision, FmhaDecision):
        return FmhaWork(case, decision)
    kinds: dict[Op, type[GemmWork] | type[GroupedWork] | type[MoeWork]] = {
        Op.GROUPED_GEMM: GroupedWork,
        Op.MOE: MoeWork,
    }
    return kinds.get(decision.signature.op, GemmWork)(case, decision)
