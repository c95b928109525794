"""The walk of docs/selection.md, in Python: what `lookup` and `explain` answer, and what C++ must equal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ckgen.families.common.problem_finding import ProblemFinding, no_instance, outweighs
from ckgen.families.common.query import AnyInstance, AnyUnit, Candidate, ExternalKernel, Query
from ckgen.model.selection import Tier


@dataclass(frozen=True, slots=True)
class Selection:
    """The answer. `external` is the other library's kernel that the table's winner (`winner`) names."""

    tier: Tier
    instance: AnyInstance | None
    finding: ProblemFinding | None
    k_batch: int = 1
    row: Any = None
    winner: Any = None
    external: ExternalKernel | None = None

    @property
    def reason(self) -> str:
        """Why nothing was chosen, with the rule; empty where an instance was."""
        return self.finding.text if self.finding is not None and self.instance is None else ""


def select(query: Query) -> Selection:
    """The first candidate of the walk that supports the problem."""
    illegal = query.illegal()
    if illegal is not None:
        return Selection(Tier.UNSUPPORTED, None, illegal)
    winner = query.named_by_table()
    row, external = (winner.row, winner.external) if winner is not None else (None, None)
    last: ProblemFinding | None = None
    for one in walk(query):
        if one.finding is None:
            return Selection(one.tier, one.instance, None, one.k_batch, one.row, row, external)
        if outweighs(one.finding, last):
            last = one.finding
    told = last if last is not None and last != no_instance() else query.untried()
    return Selection(Tier.UNSUPPORTED, None, told, winner=row, external=external)


def walk(query: Query) -> Iterator[Candidate]:
    """Every candidate in order, taken or rejected; a consumer stops at the first that was taken."""
    unit = query.unit
    if unit is None:
        return
    yield from query.measured(unit)
    yield from query.ruled(unit)
    yield from query.predicted(unit)
    yield from query.beyond(unit)
    yield from query.of_other_cus(unit)
    yield from _from_defaults(query, unit)


def _from_defaults(query: Query, unit: AnyUnit) -> Iterator[Candidate]:
    """Those that refuse the problem, then the cheapest of the others; of equal costs the earlier."""
    taken: list[AnyInstance] = []
    for index in unit.default_indices(query.target.gfx):
        instance = unit.instances[index]
        finding = query.refusal_by_default(instance)
        if finding is None:
            taken.append(instance)
        else:
            yield Candidate(Tier.DEFAULT, instance, query.default_splits, None, finding)
    weighed = [(query.weighed(instance), instance) for instance in taken]
    if weighed:
        best, instance = min(weighed, key=lambda one: one[0].cost)
        splits = query.default_splits if query.wishes.batch_invariant else best.k_batch
        yield Candidate(Tier.DEFAULT, instance, splits, None, None)
