"""What Python says of a case: whether its signature means something, and the walk of docs/selection.md."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ckgen.families.common.query import Query
from ckgen.families.common.signature import Signature
from ckgen.families.registry import family_of, family_of_name
from ckgen.fuzz.case import Case
from ckgen.fuzz.chosen import choose
from ckgen.fuzz.decision import Decision, target_of
from ckgen.fuzz.operations import operation_of
from ckgen.fuzz.space import Space
from ckgen.model.errors import UsageError
from ckgen.plan.select import select
from ckgen.plan.trail import Trail, trail
from ckgen.runtime.fmha_split import FmhaSplitPlanner

PLACE = "a table"


def signature_of(space: Space, case: Case) -> Signature | str:
    """The signature in the target's own fp8, or why it means nothing."""
    target = target_of(case)
    if target.gfx not in space.archs:
        raise UsageError(f"target={case.target}: unknown arch (known: {', '.join(space.archs)})")
    try:
        signature: Signature = family_of_name(case.signature).parse_signature(case.signature, None)
        return signature.resolved(space.archs[target.gfx].fp8_flavour)
    except UsageError as error:
        return str(error)


def decide(space: Space, case: Case, signature: Signature, planner: FmhaSplitPlanner) -> Decision:
    """The selection, and the verdict about what is forced; `planner`: of schedules of attention."""
    operation = operation_of(signature)
    problem = operation.problem(case, signature)
    found = _decided(space, case, signature, problem)
    schedule = operation.schedule(space, case, found, planner)
    if schedule is None:
        return found
    return replace(_decided(space, case, signature, schedule.applied(problem)), schedule=schedule)


def _decided(space: Space, case: Case, signature: Signature, problem: Any) -> Decision:
    query = family_of(signature).query(space.plan, target_of(case), signature, problem, case.wishes)
    selection = select(query)
    return Decision(signature, query, selection, choose(space, case, query, selection))


def answer(decision: Decision) -> dict[str, object]:
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


def trail_of(query: Query) -> Trail:
    """With one place for every row."""
    return trail(query, lambda row: PLACE)
