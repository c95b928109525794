"""A GEMM, groups of them or a layer of experts on a device: what the walk asks of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ckgen.families.common.policy import MPolicy, near_gap
from ckgen.families.common.problem_finding import ProblemFinding
from ckgen.families.common.query import Candidate, PlanView, Query, TableWinner, Weighed
from ckgen.families.gemm import explain
from ckgen.families.gemm.candidates import (
    RungHit,
    aiter_k_batch,
    aiter_winner,
    default_cost,
    far_rungs,
    group_of,
    recomputed_k_batch,
    rounded_up,
    table_winner,
)
from ckgen.families.gemm.config import strategy_of
from ckgen.families.gemm.decode_dialect import CALLER
from ckgen.families.gemm.enums import MoePart, Op
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.measured import GemmUnit, GroupPlan, TablePlan
from ckgen.families.gemm.op_rules import (
    alike_experts,
    alike_groups,
    check_groups,
    check_routing,
    supports_groups,
    supports_routing,
)
from ckgen.families.gemm.partition import describe, strategy_finding
from ckgen.families.gemm.problem_rules import check, supports
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.arch import ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.groups import NO_ROUTING, Groups, Routing
from ckgen.model.selection import NO_WISHES, Tier, Wishes
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape, TunedRow


@dataclass(frozen=True, slots=True)
class GemmQuery(Query):
    """A problem on a device, against a plan. The signature holds no plain fp8 or bf8.

    `groups` are those of a grouped GEMM, `routing` is an MoE problem's, whose tokens are sorted with `block_m`, or any
    where that is 0. `shape` is as in keys: a batch of a signature that is not batched becomes 0, groups become their
    largest sizes, and a routing the batch.
    """

    plan: PlanView
    archs: Mapping[str, ArchSpec]
    target: Target
    signature: GemmSignature
    shape: Shape
    wishes: Wishes = NO_WISHES
    groups: Groups | None = None
    routing: Routing = NO_ROUTING
    block_m: int = 0

    def __post_init__(self) -> None:
        shape = self.shape
        if self.groups is not None:
            largest = self.groups.largest
            shape = Shape(0, largest.m, largest.n, largest.k)
        elif self.signature.op is Op.MOE:
            shape = replace(shape, batch=self.routing.lookup_key)
        elif not self.signature.batched and shape.batch <= 1:
            shape = replace(shape, batch=0)
        object.__setattr__(self, "shape", shape)

    def illegal(self) -> ProblemFinding | None:
        """The first rule that makes the problem illegal."""
        if self.signature.op is Op.GROUPED_GEMM:
            return check_groups(self.signature, self.groups)
        if self.signature.op is Op.MOE:
            return check_routing(self.signature, self.shape, self.routing)
        return check(self.signature, self.shape)

    def refusal(self, instance: Instance, k_batch: int) -> ProblemFinding | None:
        """The first demand of the instance that the legal problem fails on its device."""
        finding = strategy_finding(instance.config, self.shape, self.target.cu_num, self.wishes)
        if finding is not None:
            return finding
        if self.groups is not None:
            return supports_groups(instance.constraints, self.groups, k_batch, self.wishes)
        if self.signature.op is Op.MOE:
            return supports_routing(instance, self.shape, self.routing, self.block_m, k_batch, self.wishes)
        return supports(instance.constraints, self.shape, k_batch, self.wishes)

    @property
    def cost_shape(self) -> Shape:
        """What costs are counted with: of groups and experts a batch that is alike."""
        if self.groups is not None:
            return alike_groups(self.groups)
        if self.signature.op is Op.MOE:
            return alike_experts(self.signature, self.shape, self.routing)
        return self.shape

    def weighed(self, instance: Instance) -> Weighed:
        """Unsplit."""
        return Weighed(default_cost(instance, self.cost_shape, self.target.cu_num), 1)

    def refusal_by_default(self, instance: Instance) -> ProblemFinding | None:
        """A kernel of ckgen's own is also rejected where a row leaves its work to the caller's."""
        return self.refusal(instance, 1) or self._declined(instance)

    def named_by_table(self) -> TableWinner | None:
        """The row of the target's own table that answers, were all its kernels at hand."""
        unit: GemmUnit | None = self.unit
        table = unit.table(self.target) if unit is not None else None
        group = group_of(table, self.shape)
        if unit is None or table is None or group is None:
            return None
        if self.plan.m_policy is MPolicy.AITER:
            found = aiter_winner(self.plan.rounded(unit.module), group, table, self.shape)
            if found is not None:
                return found[0]
        return table_winner(group, table, self.shape.m, near_gap())

    def measured(self, unit: GemmUnit) -> Iterator[Candidate]:
        """The rung of this M, or a near one above it; or the row that AITER finds."""
        table = unit.table(self.target)
        group = group_of(table, self.shape)
        if table is None or group is None:
            return
        if self.plan.m_policy is MPolicy.AITER:
            yield from self._as_aiter(unit, table, group)
            return
        hit = rounded_up(group.runnable, self.shape.m, near_gap())
        if hit is not None:
            yield self._rung(unit, table, group, hit)

    def ruled(self, unit: GemmUnit) -> Iterator[Candidate]:
        """The first arm that holds."""
        for heuristic in unit.heuristics:
            if heuristic.arch != self.target.gfx:
                continue
            arm = heuristic.rule.evaluate(self.shape.m, self.shape.n, self.shape.k)
            if arm is not None:
                yield self.candidate(Tier.HEURISTIC, unit.instances[heuristic.leaves[arm]], 1)

    def beyond(self, unit: GemmUnit) -> Iterator[Candidate]:
        """The rungs beyond the near gap."""
        table = unit.table(self.target)
        group = group_of(table, self.shape)
        if table is not None and group is not None:
            for hit in far_rungs(group.runnable, self.shape.m, near_gap()):
                yield self._rung(unit, table, group, hit)

    def of_other_cus(self, unit: GemmUnit) -> Iterator[Candidate]:
        """The nearest CU counts first, with splits counted anew."""
        cu_num = self.target.cu_num
        others = [t for t in unit.tables if t.target.gfx == self.target.gfx and t.target.cu_num != cu_num]
        for table in sorted(others, key=lambda t: (abs(t.target.cu_num - cu_num), -t.target.cu_num)):
            group = group_of(table, self.shape)
            if group is None:
                continue
            up = rounded_up(group.runnable, self.shape.m, near_gap())
            hits = ([up] if up is not None else []) + list(far_rungs(group.runnable, self.shape.m, near_gap()))
            for hit in hits:
                instance = unit.instances[table.choices[hit.choice].instance]
                k_batch = recomputed_k_batch(instance, self.cost_shape, cu_num)
                found = self.candidate(Tier.OTHER_CU, instance, k_batch, group.rows[hit.m])
                while found.finding is not None and found.k_batch > 1:
                    found = self.candidate(Tier.OTHER_CU, instance, found.k_batch // 2, group.rows[hit.m])
                yield replace(found, finding=found.finding or self._declined(instance))

    def subject(self) -> str:
        """With the op where no other word tells it."""
        return f"{'gemm ' if self.signature.op is Op.GEMM else ''}{self.signature.describe()}"

    def sizes_text(self) -> str:
        """Sizes, groups or routing."""
        if self.groups is not None:
            return str(self.groups)
        if self.signature.op is Op.MOE:
            blocks = f" block_m={self.block_m}" if self.block_m else ""
            return f"{replace(self.shape, batch=0)} {self.routing}{blocks}"
        return str(self.shape)

    def measured_at(self, row: TunedRow) -> str:
        """Its M."""
        return f"M={row.shape.m}"

    def notes(self, candidate: Candidate) -> tuple[str, ...]:
        """How stream-K shares the work."""
        config = candidate.instance.config
        return (describe(config, self.shape, self.target.cu_num),) if strategy_of(config).is_stream_k else ()

    def demands(self, candidate: Candidate) -> str:
        """Multiples and least sizes."""
        return explain.demands(candidate.instance.constraints, candidate.k_batch)

    def why_no_row(self, unit: GemmUnit, tier: Tier) -> str:
        """By ladders of M."""
        return explain.why_no_row(self.plan, unit, self.target, self.shape, tier)

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

    def _declined(self, instance: Instance) -> ProblemFinding | None:
        """Whether a row leaves the work of a kernel of ckgen's own to the caller's."""
        if instance.backend is not Backend.HIP:
            return None
        declined = self._declined_product if self.signature.op is Op.MOE else self._declined_rows
        return declined(instance)

    def _declined_rows(self, instance: Instance) -> ProblemFinding | None:
        """By the row of exactly this M."""
        table = self._own_table(instance.signature)
        group = group_of(table, self.shape)
        found = group.external.at_or_above(self.shape.m) if group is not None else None
        if table is None or found is None or found[0] != self.shape.m or table.externals[found[1]].library != CALLER:
            return None
        return ProblemFinding("gemm.instance.declined", self.shape.m, 0)

    def _declined_product(self, instance: Instance) -> ProblemFinding | None:
        """Of experts: by the row of a product's rows of B and K, whatever M and the routing; of a layer by either."""
        shape = self.shape
        for part in instance.parts or (instance,):
            moe, is_turned = part.signature.moe, bool(instance.parts) and part.signature.moe.part is MoePart.DOWN
            n, k = (shape.k, shape.n) if is_turned else (shape.n, shape.k)
            rows = n * (2 if moe.gated else 1)
            table = self._own_table(part.signature)
            group = group_of(table, Shape(0, 1, rows, k))
            found = group.external.at_or_above(1) if group is not None else None
            if table is not None and found is not None and table.externals[found[1]].library == CALLER:
                return ProblemFinding("moe.declined", rows, k)
        return None

    def _own_table(self, signature: GemmSignature) -> TablePlan | None:
        unit: GemmUnit | None = self.plan.unit(signature)
        return unit.table(self.target) if unit is not None else None
