"""Schedules of splits for cases of attention: what the planner is asked, and the room that its answer has."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import lcm

from ckgen.families.fmha.constraints import FmhaConstraints
from ckgen.families.fmha.cost import takes_all_heads
from ckgen.families.fmha.operands import Lengths
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.fuzz.case import Case, Schedule
from ckgen.fuzz.fmha_sizes import are_drawn, lengths_of
from ckgen.fuzz.outcome import CaseFailure, FailureKind
from ckgen.model.fmha_shape import FmhaCorner, FmhaShape
from ckgen.model.target import Target
from ckgen.runtime import RuntimeFailure
from ckgen.runtime.fmha_split import FmhaSplitPlan, FmhaSplitPlanner, FmhaSplitProblem, FmhaSplitSizes

_MOST_SPLITS = 128
"""Of the planner, where nothing else is asked for."""
_NEVER_REFUSED = 1 << 30
"""Elements of all scores that the planner has a plan for, whatever else it is asked."""


@dataclass(frozen=True, slots=True)
class FmhaSchedule:
    """A plan that is counted: what was asked, for which lengths, and the room of its arrays and partial rows."""

    problem: FmhaSplitProblem
    lengths: Lengths
    room: FmhaSplitSizes

    def applied(self, problem: FmhaShape) -> FmhaShape:
        """The same problem with this schedule."""
        asked, room = self.problem, self.room
        return replace(
            problem, split_items=room.items, split_combines=room.combine_items, split_rows=room.partial_rows,
            split_m0=asked.m0, split_n0=asked.n0, split_merged=asked.merge_heads,
        )  # fmt: skip

    def plan(self, planner: FmhaSplitPlanner) -> FmhaSplitPlan:
        """The arrays; a CaseFailure where the room that was counted does not hold them."""
        try:
            return planner.plan(self.problem, self.lengths.q, self.lengths.k, self.room)
        except RuntimeFailure as failure:
            raise CaseFailure(FailureKind.REFUSAL, f"a plan in the room that was counted: {failure}") from failure


def schedule_of(
    case: Case,
    signature: FmhaSignature,
    shape: FmhaShape,
    target: Target,
    tiles: FmhaConstraints,
    planner: FmhaSplitPlanner,
) -> FmhaSchedule | None:
    """What the case asks for, of a legal shape and an instance of these tiles; None where nothing is asked, or where
    the shape is too large for a plan. A CaseFailure where the planner refuses others."""
    if case.schedule is Schedule.NONE or not are_drawn(case):
        return None
    problem, lengths = _problem(case, signature, shape, target, tiles), lengths_of(signature, case)
    try:
        room = planner.count(problem, lengths.q, lengths.k)
        if case.split_bound:
            room = planner.bound(problem, shape.batch, shape.seqlen_q, shape.seqlen_k, sum(lengths.q))
    except RuntimeFailure as failure:
        if shape.batch * shape.heads_q * max(shape.seqlen_q, 1) * max(shape.seqlen_k, 1) > _NEVER_REFUSED:
            return None
        raise CaseFailure(FailureKind.REFUSAL, f"the planner refuses a legal batch: {failure}") from failure
    spare = case.split_spare
    room = replace(
        room,
        items=room.items + spare,
        combine_items=room.combine_items + spare,
        partial_rows=room.partial_rows + spare,
    )
    return FmhaSchedule(problem, lengths, room)


def _problem(
    case: Case, signature: FmhaSignature, shape: FmhaShape, target: Target, tiles: FmhaConstraints
) -> FmhaSplitProblem:
    traits, n0 = signature.traits, case.split_n0 or tiles.n0
    page_size = shape.page_size if traits.is_paged else 0
    found = FmhaSplitProblem(
        shape.heads_q, shape.heads_k, shape.hdim_v, tiles.m0, n0, case.split_cu_num or target.cu_num,
        merge_heads=tiles.merge_heads, workgroup_heads=shape.heads_q if takes_all_heads(tiles, shape) else 1,
        page_size=page_size, max_splits=case.max_splits or None,
        no_split=case.schedule is Schedule.NO_SPLIT,
    )  # fmt: skip
    if traits.masked:
        found = replace(
            found, masked=True, top_left=shape.corner is FmhaCorner.TOP_LEFT, window_left=shape.window_left,
            window_right=shape.window_right, sink_tokens=shape.sink_tokens,
        )  # fmt: skip
    if case.schedule is not Schedule.FIXED:
        return found
    least = max(case.fixed_split_size, -(-shape.seqlen_k // (case.max_splits or _MOST_SPLITS)), 1)
    unit = lcm(n0, max(page_size, 1))
    return replace(found, fixed_split_size=-(-least // unit) * unit)
