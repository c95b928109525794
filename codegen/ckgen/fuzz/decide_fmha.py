"""What Python says of a case of attention; see `decide`."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ckgen.families.common.problem_finding import ProblemFinding, no_instance
from ckgen.families.fmha.append_problem import appends
from ckgen.families.fmha.query import FmhaQuery
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.fuzz.case import Case
from ckgen.fuzz.chosen import Chosen, choose
from ckgen.fuzz.fmha_schedule import FmhaSchedule, schedule_of
from ckgen.fuzz.fmha_sizes import shape_of
from ckgen.fuzz.space import Space
from ckgen.model.target import Target
from ckgen.plan.select import Selection, select
from ckgen.runtime.fmha_split import FmhaSplitPlanner


@dataclass(frozen=True, slots=True)
class FmhaDecision:
    """See Decision; the query's shape has the schedule, where there is one."""

    signature: FmhaSignature
    query: FmhaQuery
    selection: Selection
    chosen: Chosen
    schedule: FmhaSchedule | None = None

    @property
    def finding_of_force(self) -> ProblemFinding | None:
        """Why a dispatcher that forces the instance has none: where there is none at all, the signature says why."""
        finding = self.chosen.finding
        return self.query.untried() if finding == no_instance() else finding

    def refusal_of(self, text: str) -> str:
        """A plan's refusal without what follows it where nothing was built for the signature: the nearest that was."""
        finding = self.chosen.finding
        goes_on = finding is not None and finding == self.query.untried() and text.startswith(f"{finding.text}: ")
        return finding.text if finding is not None and goes_on else text


def decide_fmha(
    space: Space, case: Case, signature: FmhaSignature, target: Target, planner: FmhaSplitPlanner
) -> FmhaDecision:
    """The selection, and the verdict about what is forced; a schedule is made for the answer without one."""
    query = FmhaQuery(space.plan, target, signature, shape_of(signature, case), case.wishes)
    found = _decided(space, case, query)
    tiles = space.all_instances.get(found.chosen.instance)
    if tiles is None or query.illegal() is not None or appends(signature.traits):
        return found
    schedule = schedule_of(case, signature, query.shape, target, tiles.constraints, planner)
    if schedule is None:
        return found
    return replace(_decided(space, case, replace(query, shape=schedule.shape(query.shape))), schedule=schedule)


def _decided(space: Space, case: Case, query: FmhaQuery) -> FmhaDecision:
    selection = select(query)
    return FmhaDecision(query.signature, query, selection, choose(space, case, query, selection))
