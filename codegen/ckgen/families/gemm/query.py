"""A GEMM on a device: what the walk asks of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ckgen.families.common.order import OrderIn
from ckgen.families.common.policy import MPolicy, near_gap
from ckgen.families.common.problem_finding import ProblemFinding
from ckgen.families.common.query import Candidate, ExternalKernel, PlanView, Query, TableWinner, Weighed
from ckgen.families.gemm import explain
from ckgen.families.gemm.candidates import (
    RungHit,
    aiter_k_batch,
    aiter_winner,
    default_cost,
    far_hits,
    far_rungs,
    recomputed_k_batch,
    rounded_up,
    table_winner,
)
from ckgen.families.gemm.config import strategy_of
from ckgen.families.gemm.decode_dialect import CALLER
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.measured import (
    GemmUnit,
    GroupPlan,
    TablePlan,
    key_of,
    ladder_on,
    tables_of_other_cus,
)
from ckgen.families.gemm.one_order import order_in, order_of_ladder, reference_shape, takes_every_batch
from ckgen.families.gemm.partition import describe, strategy_finding
from ckgen.families.gemm.predicted.ticks import predicted_ticks, work_on
from ckgen.families.gemm.problem_rules import check, supports
from ckgen.families.gemm.row_key import RowKey, batch_key
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.backend import Backend
from ckgen.model.row import Row
from ckgen.model.selection import NO_WISHES, Tier, Wishes
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape, TunedRow


@dataclass(frozen=True, slots=True)
class GemmQuery(Query):
    """A GEMM on a device, against a plan, and what groups and experts share with it.

    The signature holds no plain fp8 or bf8. `shape` is as in keys: the batch of a signature that is not batched is 0.
    """

    plan: PlanView
    target: Target
    signature: GemmSignature
    shape: Shape
    wishes: Wishes = NO_WISHES

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", self.key_shape())

    def key_shape(self) -> Shape:
        """The sizes as keys of tables have them."""
        is_one = not self.signature.batched and self.shape.batch <= 1
        return replace(self.shape, batch=0) if is_one else self.shape

    @property
    def row_key(self) -> RowKey:
        """What tells its ladder from others of N and K."""
        return batch_key(self.shape.batch)

    def illegal(self) -> ProblemFinding | None:
        """The first rule that makes the problem illegal."""
        return check(self.signature, self.shape)

    def supported(self, instance: Instance, k_batch: int) -> ProblemFinding | None:
        """The first demand of the instance on the legal problem's sizes that fails."""
        return supports(instance.constraints, self.shape, k_batch, self.wishes)

    def refusal(self, instance: Instance, k_batch: int) -> ProblemFinding | None:
        """The first demand of the instance that the legal problem fails on its device."""
        finding = strategy_finding(instance.config, self.shape, self.target.cu_num, self.wishes)
        return finding or self.supported(instance, k_batch)

    @property
    def cost_shape(self) -> Shape:
        """What costs are counted with."""
        return self.shape

    def weighed(self, instance: Instance) -> Weighed:
        """Unsplit."""
        return Weighed(default_cost(instance, self.cost_shape, self.target.cu_num), 1)

    def refusal_by_default(self, instance: Instance) -> ProblemFinding | None:
        """Some kernels answer only where a row chose them."""
        found = self.candidate(Tier.DEFAULT, instance, self.default_splits).finding
        if found is None and instance.constraints.measured_only:
            return ProblemFinding("gemm.instance.untuned", self.shape.m, 0)
        return found

    def candidate(self, tier: Tier, instance: Instance, k_batch: int, row: Row | None = None) -> Candidate:
        """A kernel of ckgen's own is also rejected where a row leaves its work to the caller's."""
        finding = self.refusal(instance, k_batch)
        if finding is None and tier is not Tier.EXACT and instance.backend is Backend.HIP:
            finding = self.declined(instance)
        if finding is None:
            finding = self.out_of_order(instance, k_batch)
        return Candidate(tier, instance, k_batch, row, finding)

    def named_by_table(self) -> TableWinner | None:
        """The row of the target's own table that answers, were all its kernels at hand."""
        unit: GemmUnit | None = self.unit
        ladder = ladder_on(unit, self.target, self.shape)
        if unit is None or ladder is None:
            return None
        table, group = ladder
        if self.plan.policy_of(unit.module) is MPolicy.AITER:
            found = aiter_winner(self.plan.rounded(unit.module), group, table, self.shape)
            if found is not None:
                return found[0]
        return table_winner(group, table, self.shape.m, near_gap())

    def measured(self, unit: GemmUnit) -> Iterator[Candidate]:
        """The rung of this M, or a near one above it; or the row that AITER finds."""
        ladder = ladder_on(unit, self.target, self.shape)
        if ladder is None:
            return
        table, group = ladder
        if self.plan.policy_of(unit.module) is MPolicy.AITER:
            yield from self._as_aiter(unit, table, group)
            return
        hit = rounded_up(group.runnable, self.shape.m, near_gap())
        if hit is not None:
            yield self._rung(unit, table, group, hit)

    def ruled(self, unit: GemmUnit) -> Iterator[Candidate]:
        """What each rule leads to, a product's first; whole where its splits are refused."""
        for heuristic in unit.heuristics:
            if not heuristic.rule.is_for(self.target):
                continue
            shape, rows = self.shape, self.cost_shape.m
            leaf = heuristic.rule.evaluate(shape.m, shape.n, shape.k, rows=rows, cu_num=self.target.cu_num)
            index = heuristic.leaves[leaf] if leaf is not None else None
            if leaf is not None and index is not None:
                splits = dict.fromkeys((heuristic.rule.leaves[leaf].k_batch, 1))
                instance = unit.instances[index]
                yield from (self.candidate(Tier.HEURISTIC, instance, k_batch) for k_batch in splits)

    def predicted(self, unit: GemmUnit) -> Iterator[Candidate]:
        """Unsplit; of equal times the first by number. What refuses the problem is no candidate."""
        gfx, cu_num = self.target.gfx, self.target.cu_num
        every = [unit.instances[at] for at in unit.predicted.get(gfx, ())]
        for one in sorted(every, key=lambda one: predicted_ticks(work_on(one, gfx), self.cost_shape, cu_num)):
            if self.refusal_by_default(one) is None:
                yield self.candidate(Tier.PREDICTED, one, self.default_splits)
                return

    def beyond(self, unit: GemmUnit) -> Iterator[Candidate]:
        """The rungs beyond the near gap."""
        ladder = ladder_on(unit, self.target, self.shape)
        if ladder is None:
            return
        for hit in self._far(unit, *ladder):
            yield self._rung(unit, *ladder, hit)

    def of_other_cus(self, unit: GemmUnit) -> Iterator[Candidate]:
        """The nearest CU counts first, with splits counted anew."""
        cu_num = self.target.cu_num
        others = tables_of_other_cus(unit, self.target)
        for table in sorted(others, key=lambda t: (abs(t.target.cu_num - cu_num), -t.target.cu_num)):
            group = table.groups.get(key_of(self.shape))
            if group is None:
                continue
            up = rounded_up(group.runnable, self.shape.m, near_gap())
            hits = ([up] if up is not None else []) + list(far_rungs(group.runnable, self.shape.m, near_gap()))
            for hit in hits:
                instance = unit.instances[table.choices[hit.choice].instance]
                if self.wishes.batch_invariant:  # splits that M decides have no one order
                    yield self.candidate(Tier.OTHER_CU, instance, self.default_splits, group.rows[hit.m])
                    continue
                k_batch = recomputed_k_batch(instance, self.cost_shape, cu_num)
                found = self.candidate(Tier.OTHER_CU, instance, k_batch, group.rows[hit.m])
                while found.finding is not None and found.k_batch > 1:
                    found = self.candidate(Tier.OTHER_CU, instance, found.k_batch // 2, group.rows[hit.m])
                yield found

    def absent(self) -> str:
        """What the rules have against every kernel that takes almost any problem."""
        is_there = self.unit is not None and bool(self.unit.default_indices(self.target.gfx))
        if is_there or self.illegal() is not None:
            return ""
        return self.plan.why_absent(self.signature, self.target.gfx)

    def subject(self) -> str:
        """With the op, which no other word tells."""
        return f"gemm {self.signature.describe()}"

    def sizes_text(self) -> str:
        """As in `M=128 N=1024 K=2048`."""
        return str(self.shape)

    def sizes_document(self) -> dict[str, Any]:
        """M, N and K; of a batched signature also B."""
        shape = self.shape
        found = {"M": shape.m, "N": shape.n, "K": shape.k}
        return {"B": shape.batch, **found} if self.signature.batched else found

    def measured_size(self, row: TunedRow) -> int:
        """Its M."""
        return row.shape.m

    def measured_at(self, row: TunedRow) -> str:
        """Its M."""
        return f"M={self.measured_size(row)}"

    def notes(self, candidate: Candidate) -> tuple[str, ...]:
        """How stream-K shares the work."""
        config = candidate.instance.config
        return (describe(config, self.shape, self.target.cu_num),) if strategy_of(config).is_stream_k else ()

    def demands(self, candidate: Candidate) -> str:
        """Multiples and least sizes."""
        return explain.demands(candidate.instance.constraints, candidate.k_batch)

    def why_no_row(self, unit: GemmUnit, tier: Tier) -> str:
        """By ladders of M."""
        return explain.why_no_row(self.plan, unit, self.target, self.shape, self.row_key, tier)

    def one_order(self) -> OrderIn:
        """That of the ladder in the target's own table; else of the default that costs least at ORDER_M."""
        return self._order

    def sizes_of_order(self) -> tuple[int, int]:
        """N and K."""
        return self.shape.n, self.shape.k

    @cached_property
    def _order(self) -> OrderIn:
        found = order_of_ladder(self.unit, self.target, self.shape)
        return found if found.number else self._order_of_defaults()

    def _order_of_defaults(self) -> OrderIn:
        unit: GemmUnit | None = self.unit
        if unit is None:
            return OrderIn()
        taking = [one for at in unit.default_indices(self.target.gfx) if self._takes_every_m(one := unit.instances[at])]
        batch = self.cost_shape.batch if self.signature.batched else 1
        sizes = reference_shape(self.cost_shape, batch)
        best = min(taking, key=lambda one: default_cost(one, sizes, self.target.cu_num), default=None)
        return best.order_in(1) if best is not None else OrderIn()

    def _takes_every_m(self, instance: Instance) -> bool:
        """What M makes a matrix too large for is not looked at."""
        unbounded = replace(instance, constraints=replace(instance.constraints, max_ab=0, max_c=0))
        takes = takes_every_batch(instance.constraints) and instance.order_in(1).number != 0
        return takes and self.refusal(unbounded, 1) is None

    def _far(self, unit: GemmUnit, table: TablePlan, group: GroupPlan) -> Iterator[RungHit]:
        """Beyond the near gap; in one order the next rungs that have it, whatever stands between."""
        if not self.wishes.batch_invariant:
            yield from far_rungs(group.runnable, self.shape.m, near_gap())
            return
        order = self.one_order()
        sizes = [(m, at) for m, at in group.runnable.sizes() if order_in(unit.instances, table.choices[at]) == order]
        yield from far_hits(
            next((one for one in sizes if one[0] >= self.shape.m), None),
            next((one for one in reversed(sizes) if one[0] < self.shape.m), None),
            self.shape.m,
        )

    def _as_aiter(self, unit: GemmUnit, table: TablePlan, group: GroupPlan) -> Iterator[Candidate]:
        module = self.plan.rounded(unit.module)
        found = aiter_winner(module, group, table, self.shape)
        if found is None or found[0].external is not None:
            return
        candidate = self._rung(unit, table, group, found[1])
        k_batch = aiter_k_batch(module, group, table, self.shape)
        if k_batch is None or k_batch == candidate.k_batch:
            yield candidate
        else:
            yield self.candidate(candidate.tier, candidate.instance, k_batch, candidate.row)

    def _rung(self, unit: GemmUnit, table: TablePlan, group: GroupPlan, hit: RungHit) -> Candidate:
        choice = table.choices[hit.choice]
        return self.candidate(hit.tier, unit.instances[choice.instance], choice.k_batch, group.rows[hit.m])

    def declined(self, instance: Instance) -> ProblemFinding | None:
        """Of a kernel of ckgen's own: by the row of exactly this M."""
        found = self.external_of(instance.signature, self.shape)
        if found is None or found[0] != self.shape.m or found[1].library != CALLER:
            return None
        return ProblemFinding("gemm.instance.declined", self.shape.m, 0)

    def external_of(self, signature: GemmSignature, shape: Shape) -> tuple[int, ExternalKernel] | None:
        """The other library's kernel that a signature's own ladder has at M or next above, and its M."""
        ladder = ladder_on(self.plan.unit(signature), self.target, shape)
        found = ladder[1].external.at_or_above(shape.m) if ladder is not None else None
        return (found[0], ladder[0].externals[found[1]]) if ladder is not None and found is not None else None
