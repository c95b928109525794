"""What Python says of a case of attention; see `decide`."""

from __future__ import annotations

from dataclasses import dataclass

from ckgen.families.fmha.signature import FmhaSignature
from ckgen.families.gemm.problem_rules import ProblemFinding, no_instance
from ckgen.fuzz.case import Case
from ckgen.fuzz.chosen import Chosen, choose
from ckgen.fuzz.fmha_sizes import shape_of
from ckgen.fuzz.space import Space
from ckgen.model.target import Target
from ckgen.plan.fmha_select import FmhaQuery, FmhaSelection, select_fmha


@dataclass(frozen=True, slots=True)
class FmhaDecision:
    """See Decision."""

    signature: FmhaSignature
    query: FmhaQuery
    selection: FmhaSelection
    chosen: Chosen

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


def decide_fmha(space: Space, case: Case, signature: FmhaSignature, target: Target) -> FmhaDecision:
    """The selection, and the verdict about what is forced."""
    query = FmhaQuery(space.plan, target, signature, shape_of(signature, case), case.wishes)
    selection = select_fmha(query)
    return FmhaDecision(signature, query, selection, choose(space, case, query, selection))
