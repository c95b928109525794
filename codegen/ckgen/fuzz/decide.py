"""What Python says of a case before anything runs: its signature, its selection, and why it is refused."""

from __future__ import annotations

from dataclasses import dataclass

from ckgen.families.common.problem_finding import ProblemFinding
from ckgen.families.fmha import signature as fmha
from ckgen.families.fmha.query import FmhaQuery
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.families.gemm import partition
from ckgen.families.gemm.enums import Op
from ckgen.families.gemm.query import GemmQuery
from ckgen.families.gemm.signature import GemmSignature, parse_signature
from ckgen.fuzz.case import Case
from ckgen.fuzz.chosen import Chosen, choose
from ckgen.fuzz.decide_fmha import FmhaDecision, decide_fmha
from ckgen.fuzz.space import Space
from ckgen.model.errors import UsageError
from ckgen.model.groups import Groups, Routing
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape
from ckgen.plan.select import Selection, select
from ckgen.plan.trail import Trail, trail
from ckgen.runtime.fmha_split import FmhaSplitPlanner


@dataclass(frozen=True, slots=True)
class Decision:
    """`signature` holds no plain fp8; `chosen` is the forced instance or the selection's."""

    signature: GemmSignature
    query: GemmQuery
    selection: Selection
    chosen: Chosen

    @property
    def finding_of_force(self) -> ProblemFinding | None:
        """Why a dispatcher that forces the instance has none."""
        return self.chosen.finding


AnySignature = GemmSignature | FmhaSignature
AnyDecision = Decision | FmhaDecision
PLACE = "a table"


def target_of(case: Case) -> Target:
    """The case's target; UsageError for a text that is none."""
    gfx, _, count = case.target.partition(":")
    if not count.isdecimal() or int(count) < 1:
        raise UsageError(f"target={case.target}: a target is GFX:CU_NUM")
    return Target(gfx, int(count))


def signature_of(space: Space, case: Case) -> AnySignature | str:
    """The signature in the target's own fp8, or why it means nothing."""
    target = target_of(case)
    if target.gfx not in space.archs:
        raise UsageError(f"target={case.target}: unknown arch (known: {', '.join(space.archs)})")
    try:
        parse = fmha.parse_signature if case.signature.startswith(fmha.OP) else parse_signature
        return parse(case.signature, None).resolved(space.archs[target.gfx].fp8_flavour)
    except UsageError as error:
        return str(error)


def groups_of(case: Case) -> Groups | None:
    """What the host knows of a grouped GEMM's groups; None where the problem has none."""
    if case.groups is None:
        return None
    if not case.on_device:
        return Groups.of(case.groups)
    return Groups.on_device(len(case.groups), case.m, case.n, case.k)


def routing_of(case: Case) -> Routing:
    """Of an MoE problem."""
    return Routing(case.experts, case.top_k)


def decide(space: Space, case: Case, signature: AnySignature, planner: FmhaSplitPlanner) -> AnyDecision:
    """The walk of docs/selection.md, and the verdict about what is forced; `planner`: of schedules of attention."""
    target = target_of(case)
    if isinstance(signature, FmhaSignature):
        return decide_fmha(space, case, signature, target, planner)
    shape = Shape(case.batch, case.m, case.n, case.k)
    query = GemmQuery(
        space.plan, space.archs, target, signature, shape, case.wishes,
        groups_of(case) if signature.op is Op.GROUPED_GEMM else None, routing_of(case), case.block_m,
    )  # fmt: skip
    selection = select(query)
    return Decision(signature, query, selection, choose(space, case, query, selection))


def answer(decision: AnyDecision) -> dict[str, object]:
    """What both languages must say alike."""
    selection = decision.selection
    found, external = selection.instance is not None, selection.external
    return {
        "tier": str(selection.tier),
        "instance": selection.instance.name if selection.instance is not None else None,
        "k_batch": selection.k_batch if found else 1,
        "table_m": decision.query.measured_size(selection.row) if selection.row is not None and found else 0,
        "external": (external.library, external.name) if external is not None else None,
        "reason": selection.reason,
    }


def trail_of(query: GemmQuery | FmhaQuery) -> Trail:
    """With one place for every row."""
    return trail(query, lambda row: PLACE)


def parts_of(space: Space, decision: AnyDecision) -> int:
    """How many parts an element of C is added up from in C's own type, at most."""
    if isinstance(decision, FmhaDecision):
        return 1
    config, query = space.instances[decision.chosen.instance].config, decision.query
    return partition.parts_of(config, query.shape, decision.chosen.k_batch, query.target.cu_num)
