"""Which kernel answers an attention problem: the least costly default that takes it, as C++ chooses."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from ckgen.families.common.problem_finding import ProblemFinding
from ckgen.families.fmha.cost import Split, best_split, weighed_splits
from ckgen.families.fmha.instance import FmhaInstance
from ckgen.families.fmha.measured import FmhaUnit
from ckgen.families.fmha.problem import check_problem, no_fmha_instance, supports
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.families.stream_k.partition import outweighs
from ckgen.model.fmha_row import FmhaRow
from ckgen.model.fmha_shape import FmhaShape
from ckgen.model.selection import NO_WISHES, Tier, Wishes
from ckgen.model.strategy import Strategy
from ckgen.model.target import Target
from ckgen.plan.model import GenerationPlan
from ckgen.plan.select import default_indices


@dataclass(frozen=True, slots=True)
class FmhaQuery:
    """An attention problem on a device, against a plan. The signature holds no plain fp8 or bf8."""

    plan: GenerationPlan
    target: Target
    signature: FmhaSignature
    shape: FmhaShape
    wishes: Wishes = NO_WISHES

    @property
    def unit(self) -> FmhaUnit | None:
        """The unit of the signature."""
        return self.plan.unit(self.signature)

    def illegal(self) -> ProblemFinding | None:
        """The first rule that makes the problem illegal."""
        return check_problem(self.signature, self.shape)

    def untried(self) -> ProblemFinding:
        """Why a legal problem is refused of which no instance was tried."""
        return no_fmha_instance(self.signature.traits, self.shape)

    def refusal(self, instance: FmhaInstance, k_batch: int = 1) -> ProblemFinding | None:
        """The first demand that the legal problem in `k_batch` splits fails; the strategy is that of all attention."""
        wish = self.wishes.strategy
        if wish not in (Strategy.ANY, Strategy.DATA_PARALLEL):
            return ProblemFinding("gemm.stream_k.strategy", Strategy.DATA_PARALLEL.number, wish.number)
        return supports(instance.constraints, self.signature.traits, self.shape, max(k_batch, 1))

    def best(self, instance: FmhaInstance) -> Split:
        """The instance's best splits of the legal problem's keys."""
        return best_split(instance.constraints, self.signature.traits, self.shape, self.target.cu_num)

    def weighed(self, instance: FmhaInstance) -> tuple[Split, ...]:
        """All splits that were weighed."""
        return tuple(weighed_splits(instance.constraints, self.signature.traits, self.shape, self.target.cu_num))


@dataclass(frozen=True, slots=True)
class FmhaCandidate:
    """One thing the walk tried; `finding` is the rule that rejected it, None where it was taken."""

    instance: FmhaInstance
    finding: ProblemFinding | None
    tier: Tier = Tier.DEFAULT
    k_batch: int = 1
    row: FmhaRow | None = None


@dataclass(frozen=True, slots=True)
class FmhaSelection:
    """The answer, or why there is none."""

    tier: Tier
    instance: FmhaInstance | None
    finding: ProblemFinding | None
    k_batch: int = 1
    row: FmhaRow | None = None

    @property
    def reason(self) -> str:
        """Why nothing was chosen, with the rule; empty where an instance was."""
        return self.finding.text if self.finding is not None and self.instance is None else ""


def select_fmha(query: FmhaQuery) -> FmhaSelection:
    """The first candidate of the walk that supports the problem."""
    illegal = query.illegal()
    if illegal is not None:
        return FmhaSelection(Tier.UNSUPPORTED, None, illegal)
    last: ProblemFinding | None = None
    for candidate in walk_fmha(query):
        if candidate.finding is None:
            return FmhaSelection(candidate.tier, candidate.instance, None, candidate.k_batch, candidate.row)
        if outweighs(candidate.finding, last):
            last = candidate.finding
    return FmhaSelection(Tier.UNSUPPORTED, None, last or query.untried())


def walk_fmha(query: FmhaQuery) -> Iterator[FmhaCandidate]:
    """Every candidate in order, taken or rejected; of equal costs the earlier is taken."""
    unit = query.unit
    if unit is None:
        return
    yield from _measured(query, unit)
    found = (unit.instances[index] for index in default_indices(query.target.gfx, unit.defaults))
    tried = [FmhaCandidate(instance, query.refusal(instance)) for instance in found]
    yield from (candidate for candidate in tried if candidate.finding is not None)
    taken = [(query.best(candidate.instance), candidate) for candidate in tried if candidate.finding is None]
    if taken:
        best, candidate = min(taken, key=lambda one: one[0].cost)
        yield replace(candidate, k_batch=best.splits)


def _measured(query: FmhaQuery, unit: FmhaUnit) -> Iterator[FmhaCandidate]:
    """The row of these lengths, or near them; where it says no splits, or a schedule does, the cheapest."""
    table = unit.table(query.target)
    rung = table.find(query.signature.traits, query.shape) if table is not None else None
    if rung is None:
        return
    instance, shape = unit.instances[rung.instance], query.shape
    said = None if shape.split_items else rung.k_batch
    k_batch = said or query.best(instance).splits
    is_exact = rung.key[-2:] == (shape.seqlen_q, shape.seqlen_k)
    finding = query.refusal(instance, k_batch)
    yield FmhaCandidate(instance, finding, Tier.EXACT if is_exact else Tier.NEAR, k_batch, rung.row)
