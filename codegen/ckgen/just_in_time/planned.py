"""The plan of what is asked for from Python, in which nothing that was said is left out in silence."""

from __future__ import annotations

from ckgen.model.diagnostic import Severity
from ckgen.model.errors import InputError, UsageError
from ckgen.plan.model import GenerationPlan
from ckgen.plan.options import PlanOptions
from ckgen.plan.planner import make_plan
from ckgen.specs import load_archs

_OF_OTHER_TARGETS = "K009"
"""A shipped set that has no kernel for the targets: it is searched all the same."""
_UNFIT = "P005"


def planned(options: PlanOptions) -> GenerationPlan:
    """UsageError for patterns that fit nothing, each by name; InputError for tables and kernel sets that are wrong."""
    plan = make_plan(options, load_archs())
    if unfit := [one.message for one in plan.diagnostics if one.code == _UNFIT]:
        raise UsageError("\n".join(unfit))
    wrong = [one for one in plan.diagnostics if one.severity is Severity.ERROR and one.code != _OF_OTHER_TARGETS]
    if wrong:
        raise InputError(wrong)
    return plan
