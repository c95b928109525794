"""An attention problem on a device: what the walk asks of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ckgen.families.common.order import OrderIn
from ckgen.families.common.problem_finding import ProblemFinding
from ckgen.families.common.query import Candidate, PlanView, Query, Weighed
from ckgen.families.fmha import explain
from ckgen.families.fmha.constraints import FmhaConstraints
from ckgen.families.fmha.cost import Split, best_split, weighed_splits
from ckgen.families.fmha.instance import FmhaInstance
from ckgen.families.fmha.measured import FmhaUnit
from ckgen.families.fmha.problem import check_order, check_problem, no_fmha_instance, supports
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.model.fmha_row import FmhaRow
from ckgen.model.fmha_shape import FmhaShape
from ckgen.model.selection import NO_WISHES, Tier, Wishes
from ckgen.model.strategy import Strategy
from ckgen.model.target import Target


@dataclass(frozen=True, slots=True)
class FmhaQuery(Query):
    """An attention problem on a device, against a plan. The signature holds no plain fp8 or bf8."""

    plan: PlanView
    target: Target
    signature: FmhaSignature
    shape: FmhaShape
    wishes: Wishes = NO_WISHES

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
            return ProblemFinding("gemm.stream_k.strategy", Strategy.DATA_PARALLEL.code, wish.code)
        asked, shape = instance.constraints, self.shape
        found = supports(asked, self.signature.traits, shape, max(k_batch, 1))
        return found or (check_order(asked, shape) if self.wishes.deterministic else None)

    def best(self, instance: FmhaInstance) -> Split:
        """The instance's best splits of the legal problem's keys."""
        return best_split(instance.constraints, self.signature.traits, self.shape, self.target.cu_num)

    def one_order(self) -> OrderIn:
        """That of the first default which takes every batch, whatever lengths are in it."""
        unit: FmhaUnit | None = self.unit
        defaults = [unit.instances[at] for at in unit.default_indices(self.target.gfx)] if unit is not None else []
        for instance in defaults:
            asked = instance.constraints
            limited = asked.max_keys or asked.max_rows or asked.cache_limit or asked.needs_keys
            takes = asked.pad_q and asked.pad_k and not limited and instance.order_in(1).number != 0
            if takes and self.refusal(instance, 1) is None:
                return instance.order_in(1)
        return OrderIn()

    def sizes_of_order(self) -> tuple[int, int]:
        """Keys and the head dim."""
        return self.shape.seqlen_k, self.shape.hdim_q

    def weighed(self, instance: FmhaInstance) -> Weighed:
        """Its best splits and their cost."""
        best = self.best(instance)
        return Weighed(best.cost, best.splits)

    def measured(self, unit: FmhaUnit) -> Iterator[Candidate]:
        """The row of these lengths, or near them; where it says no splits, or a schedule does, the cheapest."""
        found = (table.find(self.signature.traits, self.shape) for table in unit.tables_on(self.target))
        rung = next((one for one in found if one is not None), None)
        if rung is None:
            return
        instance = unit.instances[rung.instance]
        said = None if self.shape.split_items else rung.k_batch
        is_exact = rung.key[-2:] == (self.shape.seqlen_q, self.shape.seqlen_k)
        k_batch = said or self.best(instance).splits
        yield self.candidate(Tier.EXACT if is_exact else Tier.NEAR, instance, k_batch, rung.row)

    def sizes_text(self) -> str:
        """The sizes that the traits have a use for."""
        return explain.sizes_text(self.signature.traits, self.shape)

    def sizes_document(self) -> dict[str, Any]:
        """The same by key."""
        from ckgen.families.fmha.asked import sizes_document

        return sizes_document(self.signature.traits, self.shape)

    def absent(self) -> str:
        """The rule that forbids every kernel, or that no set asks for any."""
        from ckgen.families.fmha.absent import why_absent
        from ckgen.specs.archs import load_archs

        if self.illegal() is not None:
            return ""
        return why_absent(self.unit, self.signature, load_archs()[self.target.gfx]) or ""

    def measured_size(self, row: FmhaRow) -> int:
        """Its keys."""
        return row.shape.seqlen_k

    def measured_at(self, row: FmhaRow) -> str:
        """Its keys."""
        return f"seqlen_k={self.measured_size(row)}"

    def notes(self, candidate: Candidate) -> tuple[str, ...]:
        """The splits that were weighed."""
        asked: FmhaConstraints = candidate.instance.constraints
        if candidate.finding is not None or asked.max_splits == 1:
            return ()
        weighed = weighed_splits(asked, self.signature.traits, self.shape, self.target.cu_num)
        return (f"splits: {', '.join(f'{one.splits} costs {one.cost}' for one in weighed)}",)

    def demands(self, candidate: Candidate) -> str:
        """Head dims, tiles and limits."""
        return f" ({explain.demands(candidate.instance.constraints)})"

    def why_no_row(self, unit: FmhaUnit, tier: Tier) -> str:
        """Only tables of the device's own CU count are asked."""
        return explain.why_no_row(unit, self.target, tier)
