"""What the checker asks of an operation: problems of its cases, what a run is given, what must come out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from ckgen.families.common.comparison import Expected
from ckgen.families.common.sensitivity import Sensitivity
from ckgen.families.common.storage import Values
from ckgen.fuzz.case import Case
from ckgen.fuzz.decision import Decision
from ckgen.fuzz.memory import Matrix
from ckgen.fuzz.sampling import Budget
from ckgen.fuzz.space import Space
from ckgen.runtime import ProblemStruct, RuntimeLibrary
from ckgen.runtime.fmha_split import FmhaSplitPlanner
from ckgen.runtime.functions import Args


@dataclass(frozen=True, slots=True)
class Result:
    """A tensor that was written, decoded, in the axes of what must come out."""

    expected: Expected
    found: Values


class Given(Protocol):
    """Operands in guarded memory, for one run; for more where all matrices are restored between them.

    What must come out is computed once.
    """

    @property
    def args(self) -> Args:
        """What is passed."""
        ...

    def wrong(self) -> str:
        """What no correct kernel gives; empty if there is nothing. Asked after the run."""
        ...

    def results(self) -> Iterator[Result]:
        """What came out beside what must, of every tensor that is written."""
        ...

    def sample(self, budget: Budget) -> None:
        """Lets only drawn rows count where all are beyond the budget. Asked before what must come out."""
        ...

    def matrices(self) -> Iterator[Matrix]:
        """All memory of the operands."""
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


class Schedule(Protocol):
    """What is planned for a problem before it is decided."""

    def applied(self, problem: Any) -> Any:
        """The problem with the schedule."""
        ...


@dataclass(frozen=True, slots=True)
class FuzzedOperation:
    """One operation. `problem` is what its Family's `query` takes; `work` the case with what was decided.

    `parts`: in how many parts an element of C is added up in C's own type, at most. `has_exact_data`: each case is also
    run on integers, as the bounds of other data are wide. `schedule`: made for the answer without one; None where the
    case has none. `bounds`: what of the chosen instance decides the bounds of its results, one word; mostly nothing.

    `asked`: a case with the sizes of a problem that a command line says. `flops`: multiplications and additions of its
    products, as if nothing were masked.
    """

    problem: Callable[[Case, Any], Any]
    work: Callable[[Case, Decision], Work]
    parts: Callable[[Space, Decision], int]
    asked: Callable[[Case, Any], Case]
    flops: Callable[[Case, Any], int]
    has_exact_data: bool = False
    schedule: Callable[[Space, Case, Decision, FmhaSplitPlanner], Schedule | None] = lambda *_: None
    bounds: Callable[[Decision], str] = lambda _: ""
