"""The walk of docs/selection.md, in Python: what `lookup` and `explain` answer, and what C++ must equal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ckgen.families.common.policy import MPolicy, near_gap
from ckgen.families.common.problem_finding import ProblemFinding, no_instance
from ckgen.families.gemm.candidates import (
    RungHit,
    TableWinner,
    aiter_k_batch,
    aiter_winner,
    default_cost,
    far_rungs,
    group_of,
    recomputed_k_batch,
    rounded_up,
    table_winner,
)
from ckgen.families.gemm.enums import MoePart, Op
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.measured import ExternalKernel, GemmUnit, GroupPlan, TablePlan
from ckgen.families.gemm.op_rules import (
    alike_experts,
    alike_groups,
    check_groups,
    check_routing,
    supports_groups,
    supports_routing,
)
from ckgen.families.gemm.problem_rules import check, supports
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.stream_k.partition import outweighs, strategy_finding
from ckgen.model.arch import CPU_LEVELS, ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.groups import NO_ROUTING, Groups, Routing
from ckgen.model.selection import NO_WISHES, Tier, Wishes
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape, TunedRow
from ckgen.plan.model import GenerationPlan
from ckgen.tables.decode_dialect import CALLER


@dataclass(frozen=True, slots=True)
class Candidate:
    """One thing the walk tried; `finding` is the rule that rejected it, None where it was taken."""

    tier: Tier
    instance: Instance
    k_batch: int
    row: TunedRow | None
    finding: ProblemFinding | None


@dataclass(frozen=True, slots=True)
class Selection:
    """The answer. `external` is the other library's kernel that the table's winner (`winner`) names."""

    tier: Tier
    instance: Instance | None
    k_batch: int
    row: TunedRow | None
    winner: TunedRow | None
    external: ExternalKernel | None
    finding: ProblemFinding | None

    @property
    def reason(self) -> str:
        """Why nothing was chosen, with the rule; empty where an instance was."""
        return self.finding.text if self.finding is not None and self.instance is None else ""


@dataclass(frozen=True, slots=True)
class Query:
    """A problem on a device, against a plan. The signature holds no plain fp8 or bf8.

    `groups` are those of a grouped GEMM, `routing` is an MoE problem's, whose tokens are sorted with `block_m`, or any
    where that is 0. `shape` is as in keys: a batch of a signature that is not batched becomes 0, groups become their
    largest sizes, and a routing the batch.
    """

    plan: GenerationPlan
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
            shape = replace(shape, batch=self.routing.key)
        elif not self.signature.batched and shape.batch <= 1:
            shape = replace(shape, batch=0)
        object.__setattr__(self, "shape", shape)

    @property
    def unit(self) -> GemmUnit | None:
        """The unit of the signature."""
        return self.plan.unit(self.signature)

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


def select(query: Query) -> Selection:
    """The first candidate of the walk that supports the problem."""
    illegal = query.illegal()
    if illegal is not None:
        return Selection(Tier.UNSUPPORTED, None, 1, None, None, None, illegal)
    winner = named_by_table(query)
    row, external = (winner.row, winner.external) if winner is not None else (None, None)
    last: ProblemFinding | None = None
    for candidate in walk(query):
        if candidate.finding is None:
            return Selection(candidate.tier, candidate.instance, candidate.k_batch, candidate.row, row, external, None)
        if outweighs(candidate.finding, last):
            last = candidate.finding
    return Selection(Tier.UNSUPPORTED, None, 1, None, row, external, last or no_instance())


def walk(query: Query) -> Iterator[Candidate]:
    """Every candidate in order, taken or rejected; a consumer stops at the first that was taken."""
    unit = query.unit
    if unit is None:
        return
    table = unit.table(query.target)
    yield from _from_table(query, unit, table)
    yield from _from_heuristic(query, unit)
    yield from _from_far(query, unit, table)
    yield from _from_other_cu(query, unit)
    yield from _from_defaults(query, unit)


def named_by_table(query: Query) -> TableWinner | None:
    """The row of the target's own table that answers, were all its kernels at hand."""
    unit = query.unit
    table = unit.table(query.target) if unit is not None else None
    group = group_of(table, query.shape)
    if unit is None or table is None or group is None:
        return None
    if query.plan.m_policy is MPolicy.AITER:
        found = aiter_winner(unit, group, table, query.shape)
        if found is not None:
            return found[0]
    return table_winner(group, table, query.shape.m, near_gap())


def _from_table(query: Query, unit: GemmUnit, table: TablePlan | None) -> Iterator[Candidate]:
    group = group_of(table, query.shape)
    if table is None or group is None:
        return
    if query.plan.m_policy is MPolicy.AITER:
        yield from _from_aiter(query, unit, table, group)
        return
    hit = rounded_up(group.runnable, query.shape.m, near_gap())
    if hit is not None:
        yield _rung(query, unit, table, group, hit)


def _from_aiter(query: Query, unit: GemmUnit, table: TablePlan, group: GroupPlan) -> Iterator[Candidate]:
    found = aiter_winner(unit, group, table, query.shape)
    if found is None or found[0].external is not None:
        return
    candidate = _rung(query, unit, table, group, found[1])
    k_batch = aiter_k_batch(unit, group, table, query.shape)
    if k_batch is None or k_batch == candidate.k_batch:
        yield candidate
    else:
        yield _candidate(query, candidate.tier, candidate.instance, k_batch, candidate.row)


def _from_heuristic(query: Query, unit: GemmUnit) -> Iterator[Candidate]:
    for heuristic in unit.heuristics:
        if heuristic.arch != query.target.gfx:
            continue
        arm = heuristic.rule.evaluate(query.shape.m, query.shape.n, query.shape.k)
        if arm is not None:
            yield _candidate(query, Tier.HEURISTIC, unit.instances[heuristic.leaves[arm]], 1, None)


def _from_far(query: Query, unit: GemmUnit, table: TablePlan | None) -> Iterator[Candidate]:
    group = group_of(table, query.shape)
    if table is None or group is None:
        return
    for hit in far_rungs(group.runnable, query.shape.m, near_gap()):
        yield _rung(query, unit, table, group, hit)


def _from_other_cu(query: Query, unit: GemmUnit) -> Iterator[Candidate]:
    cu_num = query.target.cu_num
    others = [t for t in unit.tables if t.target.gfx == query.target.gfx and t.target.cu_num != cu_num]
    for table in sorted(others, key=lambda t: (abs(t.target.cu_num - cu_num), -t.target.cu_num)):
        group = group_of(table, query.shape)
        if group is None:
            continue
        up = rounded_up(group.runnable, query.shape.m, near_gap())
        hits = ([up] if up is not None else []) + list(far_rungs(group.runnable, query.shape.m, near_gap()))
        for hit in hits:
            instance = unit.instances[table.choices[hit.choice].instance]
            k_batch = recomputed_k_batch(instance, query.cost_shape, cu_num)
            candidate = _candidate(query, Tier.OTHER_CU, instance, k_batch, group.rows[hit.m])
            while candidate.finding is not None and candidate.k_batch > 1:
                candidate = _candidate(query, Tier.OTHER_CU, instance, candidate.k_batch // 2, candidate.row)
            yield _unless_declined(query, candidate)


def _from_defaults(query: Query, unit: GemmUnit) -> Iterator[Candidate]:
    rejected: list[Candidate] = []
    shape = query.cost_shape
    best: tuple[int, Candidate] | None = None
    for index in default_indices(query.target.gfx, unit.defaults):
        candidate = _unless_declined(query, _candidate(query, Tier.DEFAULT, unit.instances[index], 1, None))
        if candidate.finding is not None:
            rejected.append(candidate)
            continue
        cost = default_cost(candidate.instance, shape, query.target.cu_num)
        if best is None or cost < best[0]:
            best = (cost, candidate)
    yield from rejected
    if best is not None:
        yield best[1]


def _unless_declined(query: Query, candidate: Candidate) -> Candidate:
    """A kernel of ckgen's own is rejected where a row leaves its work to the caller's."""
    if candidate.finding is not None or candidate.instance.backend is not Backend.HIP:
        return candidate
    declined = _declined_product if query.signature.op is Op.MOE else _declined_rows
    return replace(candidate, finding=declined(query, candidate.instance))


def _declined_rows(query: Query, instance: Instance) -> ProblemFinding | None:
    """By the row of exactly this M."""
    table = _own_table(query, instance.signature)
    group = group_of(table, query.shape)
    found = group.external.at_or_above(query.shape.m) if group is not None else None
    if table is None or found is None or found[0] != query.shape.m or table.externals[found[1]].library != CALLER:
        return None
    return ProblemFinding("gemm.instance.declined", query.shape.m, 0)


def _declined_product(query: Query, instance: Instance) -> ProblemFinding | None:
    """Of experts: by the row of a product's rows of B and K, whatever M and the routing; of a layer by either one's."""
    for part in instance.parts or (instance,):
        moe, is_turned = part.signature.moe, bool(instance.parts) and part.signature.moe.part is MoePart.DOWN
        n, k = (query.shape.k, query.shape.n) if is_turned else (query.shape.n, query.shape.k)
        rows = n * (2 if moe.gated else 1)
        table = _own_table(query, part.signature)
        group = group_of(table, Shape(0, 1, rows, k))
        found = group.external.at_or_above(1) if group is not None else None
        if table is not None and found is not None and table.externals[found[1]].library == CALLER:
            return ProblemFinding("moe.declined", rows, k)
    return None


def _own_table(query: Query, signature: GemmSignature) -> TablePlan | None:
    unit = query.plan.unit(signature)
    return unit.table(query.target) if unit is not None else None


def default_indices(gfx: str, defaults: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """The arch's own defaults; on a CPU those of the highest level at or below it that has any."""
    levels = CPU_LEVELS[: CPU_LEVELS.index(gfx) + 1] if gfx in CPU_LEVELS else (gfx,)
    return next((defaults[arch] for arch in reversed(levels) if defaults.get(arch)), ())


def _rung(query: Query, unit: GemmUnit, table: TablePlan, group: GroupPlan, hit: RungHit) -> Candidate:
    choice = table.choices[hit.choice]
    return _candidate(query, hit.tier, unit.instances[choice.instance], choice.k_batch, group.rows[hit.m])


def _candidate(query: Query, tier: Tier, instance: Instance, k_batch: int, row: TunedRow | None) -> Candidate:
    return Candidate(tier, instance, k_batch, row, query.refusal(instance, k_batch))
