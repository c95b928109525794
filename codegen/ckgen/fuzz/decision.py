"""What Python says of a case before anything runs: its selection, and why it is refused."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ckgen.families.common.problem_finding import ProblemFinding, no_instance
from ckgen.families.common.query import Query
from ckgen.fuzz.case import Case
from ckgen.fuzz.chosen import Chosen
from ckgen.model.errors import UsageError
from ckgen.model.target import Target
from ckgen.plan.select import Selection


@dataclass(frozen=True, slots=True)
class Decision:
    """`signature` holds no plain fp8; `chosen` is the forced instance or the selection's.

    `schedule` is what the operation planned for the query before it was decided; None where there is none.
    """

    signature: Any
    query: Query
    selection: Selection
    chosen: Chosen
    schedule: Any = None

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


def target_of(case: Case) -> Target:
    """The case's target; UsageError for a text that is none."""
    return target_named(case.target)


def target_named(text: str) -> Target:
    """The target of its own text; UsageError for a text that is none."""
    gfx, count, sku, *more = [*text.split(":"), "", ""][: max(3, text.count(":") + 1)]
    if more or not count.isdecimal() or int(count) < 1:
        raise UsageError(f"target={text}: a target is GFX:CU_NUM, or GFX:CU_NUM:SKU")
    return Target(gfx, int(count), sku)
