"""What a case runs: an instance, or why none."""

from __future__ import annotations

from dataclasses import dataclass

from ckgen.families.common.problem_finding import ProblemFinding, no_instance
from ckgen.families.common.query import Query
from ckgen.fuzz.case import Case
from ckgen.fuzz.space import Space, runs_on
from ckgen.model.errors import UsageError
from ckgen.plan.model import AnyInstance
from ckgen.plan.select import Selection


@dataclass(frozen=True, slots=True)
class Chosen:
    """An instance and its splits, or the rule that forbids it."""

    instance: str
    k_batch: int
    finding: ProblemFinding | None


def choose(space: Space, case: Case, query: Query, selection: Selection) -> Chosen:
    """What the case forces, else the selection's."""
    if case.instance:
        return Chosen(case.instance, case.k_batch, _forced(space, case, query))
    if selection.instance is None:
        return Chosen("", selection.k_batch, selection.finding)
    return Chosen(selection.instance.name, selection.k_batch, None)


def supporting(query: Query) -> frozenset[str]:
    """The names of all instances that can run the problem unsplit."""
    if query.unit is None or query.illegal() is not None:
        return frozenset()
    return frozenset(one.name for one in query.unit.instances if _refusal(query, one, 1) is None)


def _forced(space: Space, case: Case, query: Query) -> ProblemFinding | None:
    instance = space.all_instances.get(case.instance)
    if instance is None:
        raise UsageError(f"instance={case.instance}: no such instance was built")
    return query.illegal() or _refusal(query, instance, case.k_batch)


def _refusal(query: Query, instance: AnyInstance, k_batch: int) -> ProblemFinding | None:
    """Why the instance does not run the legal problem; None where it does."""
    if instance.signature == query.signature and runs_on(instance, query.target.gfx):
        return query.refusal(instance, k_batch)
    return no_instance()
