"""A problem on a device against a plan, as the walk of docs/selection.md asks its family about it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from ckgen.families.common.instance import Instance
from ckgen.families.common.m_policy import Rounded
from ckgen.families.common.order import OrderIn
from ckgen.families.common.policy import MPolicy
from ckgen.families.common.problem_finding import ProblemFinding, no_instance
from ckgen.families.common.signature import Signature
from ckgen.families.common.unit import UnitPlan
from ckgen.model.row import Row
from ckgen.model.selection import Tier, Wishes
from ckgen.model.target import Target

AnyUnit = UnitPlan[Any, Any, Any, Any]
AnyInstance = Instance[Any, Any, Any]


class PlanView(Protocol):
    """What queries ask of a plan."""

    def policy_of(self, module: str) -> MPolicy:
        """How sizes between the measured ones are answered by tables of a module; empty: of none of the peer's."""
        ...

    def unit(self, signature: Signature) -> AnyUnit | None:
        """The unit of exactly that signature."""
        ...

    def why_absent(self, signature: Signature, gfx: str) -> str:
        """Why a library has no kernel of a signature on an arch, whoever asks for it; empty where one can be had."""
        ...

    def place(self, row: Row) -> str:
        """`file:line` where the user finds a row."""
        ...

    def rounded(self, module: str) -> Rounded:
        """How the peer rounds M for tables of a module."""
        ...


@dataclass(frozen=True, slots=True, order=True)
class ExternalKernel:
    """A kernel of a library that ckgen does not generate, under that library's name for it."""

    library: str
    name: str


@dataclass(frozen=True, slots=True)
class TableWinner:
    """The row that the table would answer with if its external kernels could run."""

    row: Any
    tier: Tier
    external: ExternalKernel | None


@dataclass(frozen=True, slots=True)
class Candidate:
    """One thing the walk tried; `finding` is the rule that rejected it, None where it was taken."""

    tier: Tier
    instance: AnyInstance
    k_batch: int
    row: Any
    finding: ProblemFinding | None


@dataclass(frozen=True, slots=True)
class Weighed:
    """What an instance costs, and in how many splits."""

    cost: int
    k_batch: int


class Query(ABC):
    """A problem on a device, against a plan. The signature holds no plain fp8 or bf8.

    `unit` below is that of the signature; tiers that a family does not have offer nothing.
    """

    plan: PlanView
    target: Target
    signature: Any
    shape: Any
    wishes: Wishes

    @property
    def unit(self) -> Any:
        """The unit of the signature; None where there is none."""
        return self.plan.unit(self.signature)

    @abstractmethod
    def illegal(self) -> ProblemFinding | None:
        """The first rule that makes the problem illegal."""

    def untried(self) -> ProblemFinding:
        """Why a legal problem is refused of which no instance was tried."""
        return no_instance()

    @abstractmethod
    def refusal(self, instance: Any, k_batch: int) -> ProblemFinding | None:
        """The first demand of the instance that the legal problem in so many splits fails on its device."""

    def refusal_by_default(self, instance: Any) -> ProblemFinding | None:
        """The same where no table says that the instance is to answer."""
        return self.candidate(Tier.DEFAULT, instance, self.default_splits).finding

    @abstractmethod
    def one_order(self) -> OrderIn:
        """The order of additions of all M of the problem's other sizes; of attention, of all batches."""

    def out_of_order(self, instance: AnyInstance, k_batch: int) -> ProblemFinding | None:
        """Why an instance in so many splits is not in that order, where a batch-invariant result is asked for."""
        if not self.wishes.batch_invariant:
            return None
        own, asked = instance.order_in(k_batch), self.one_order()
        if not own.number:
            return ProblemFinding("gemm.instance.no-order", k_batch, 0)
        if not asked.number:
            return ProblemFinding("gemm.instance.no-class", *self.sizes_of_order())
        if own.k_batch != asked.k_batch:
            return ProblemFinding("gemm.instance.order-splits", own.k_batch, asked.k_batch)
        if own != asked:
            return ProblemFinding("gemm.instance.order", own.number, asked.number)
        return None

    @abstractmethod
    def sizes_of_order(self) -> tuple[int, int]:
        """N and K."""

    @property
    def default_splits(self) -> int:
        """In how many splits defaults are asked whether they take the problem."""
        return self.one_order().k_batch if self.wishes.batch_invariant else 1

    @abstractmethod
    def weighed(self, instance: Any) -> Weighed:
        """What the instance costs for the legal problem, split as is best."""

    @abstractmethod
    def measured(self, unit: Any) -> Iterator[Candidate]:
        """Tiers exact and near: by the target's own table."""

    def ruled(self, unit: Any) -> Iterator[Candidate]:
        """Tier heuristic: by decision rules."""
        yield from ()

    def predicted(self, unit: Any) -> Iterator[Candidate]:
        """Tier predicted: of what takes the problem, that of the least predicted time."""
        yield from ()

    def beyond(self, unit: Any) -> Iterator[Candidate]:
        """Tier far: by the target's own table, beyond the near gap."""
        yield from ()

    def of_other_cus(self, unit: Any) -> Iterator[Candidate]:
        """Tier other_cu: by tables of the arch at other CU counts."""
        yield from ()

    def named_by_table(self) -> TableWinner | None:
        """The row of the target's own table that answers, were all its kernels at hand."""
        return None

    def candidate(self, tier: Tier, instance: AnyInstance, k_batch: int, row: Row | None = None) -> Candidate:
        """The instance with what it refuses."""
        finding = self.refusal(instance, k_batch) or self.out_of_order(instance, k_batch)
        return Candidate(tier, instance, k_batch, row, finding)

    def subject(self) -> str:
        """What is computed, for people."""
        text: str = self.signature.describe()
        return text

    @abstractmethod
    def sizes_text(self) -> str:
        """The sizes as people read them."""

    @abstractmethod
    def sizes_document(self) -> dict[str, Any]:
        """The sizes of a legal problem as JSON."""

    def absent(self) -> str:
        """Why nothing is built for the signature on the device; empty where something is, or nobody knows."""
        return ""

    @abstractmethod
    def measured_size(self, row: Any) -> int:
        """The size by which the row's table rounds up; it tells a measured row from its neighbours."""

    @abstractmethod
    def measured_at(self, row: Any) -> str:
        """That size as people read it, as in `M=16`."""

    def notes(self, candidate: Candidate) -> tuple[str, ...]:
        """What is said of a candidate beside its demands."""
        return ()

    @abstractmethod
    def demands(self, candidate: Candidate) -> str:
        """What a candidate asks of problems, in parentheses behind a space; empty where nothing."""

    @abstractmethod
    def why_no_row(self, unit: Any, tier: Tier) -> str:
        """Why tables offer nothing at one of the tiers exact, near, far, other_cu."""
