"""The plan of what is asked for from Python, in which nothing that was said is left out in silence."""

from __future__ import annotations

from ckgen.families.kernel_sets import shipped_set_files
from ckgen.model.errors import UsageError
from ckgen.plan.model import GenerationPlan
from ckgen.plan.options import PlanOptions
from ckgen.plan.planner import demand_right, make_plan
from ckgen.specs import load_archs

_UNFIT = "P005"


def planned(options: PlanOptions) -> GenerationPlan:
    """UsageError for patterns that fit nothing, by name; InputError for tables and kernel sets that are wrong."""
    plan = make_plan(options, load_archs())
    if unfit := [one.message for one in plan.diagnostics if one.code == _UNFIT]:
        raise UsageError("\n".join(unfit))
    demand_right(plan, frozenset(map(str, shipped_set_files(options.ops))))
    if not plan.instances and not options.backends and (asked := [*options.signatures, *options.kernels]):
        raise UsageError(f"no kernel of these operations and targets fits {', '.join(asked)}")
    return plan
