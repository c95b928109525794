"""What is said of GEMMs in a selection's trail: demands, and why ladders have no rung."""

from __future__ import annotations

from bisect import bisect_left

from ckgen.families.common.ladder import Ladder
from ckgen.families.common.m_policy import kernel_sizes
from ckgen.families.common.policy import MPolicy, near_gap
from ckgen.families.common.query import PlanView
from ckgen.families.gemm.measured import GemmUnit, GroupPlan, ladder_on, tables_of_other_cus
from ckgen.families.gemm.problem_rules import Constraints
from ckgen.families.gemm.row_key import RowKey
from ckgen.model.selection import Tier
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape

_SHOWN_BELOW, _SHOWN_ABOVE = 2, 3


def demands(constraints: Constraints, k_batch: int) -> str:
    """What an instance asks of sizes, in parentheses; empty where nothing."""
    multiples = (("M", constraints.m_multiple), ("N", constraints.n_multiple), ("K", constraints.k_multiple))
    texts = [f"{size} % {multiple} = 0" for size, multiple in multiples if multiple > 1]
    if k_batch > 1 and constraints.split_grain and not constraints.k_multiple_per_split:
        texts.append(f"splits of whole {constraints.split_grain}")
    elif k_batch > 1 and constraints.k_multiple_per_split:
        like = " or parts that one main loop fits" if constraints.split_grain else ""
        texts.append(f"K % ({k_batch} · {constraints.k_multiple_per_split}) = 0{like}")
    if constraints.min_k:
        texts.append(f"K / k_batch ≥ {constraints.min_k}")
    return f" ({', '.join(texts)})" if texts else ""


def why_no_row(plan: PlanView, unit: GemmUnit, target: Target, shape: Shape, key: RowKey, tier: Tier) -> str:
    """Why tables offer nothing at one of the tiers exact, near, far, other_cu; `key` is of the shape's batch."""
    if tier is Tier.OTHER_CU:
        return _why_no_other_cu(unit, target, key.text(shape.n, shape.k))
    ladder = ladder_on(unit, target, shape)
    if ladder is None and not unit.tables_on(target):
        return f"no table for {target}"
    if ladder is None:
        return f"no rows for {key.text(shape.n, shape.k)}"
    _, group = ladder
    if plan.policy_of(unit.module) is not MPolicy.AITER or tier is Tier.FAR:
        return _why_no_rung(group, shape.m, tier)
    if tier is Tier.EXACT:
        return f"no row that can run at M={shape.m}"
    sizes = kernel_sizes(plan.rounded(unit.module), shape.m, shape.n)
    return f"no row that can run at AITER's roundings of M: {', '.join(map(str, sizes))}"


def _why_no_other_cu(unit: GemmUnit, target: Target, key: str) -> str:
    others = tables_of_other_cus(unit, target)
    if not others:
        return f"no table of {target.gfx} at another CU count"
    counts = ", ".join(str(table.target.cu_num) for table in others)
    return f"no rows that can run for {key} at {counts} CUs"


def _why_no_rung(group: GroupPlan, m: int, tier: Tier) -> str:
    if tier is Tier.EXACT:
        return f"no row for M={m}{_measured(group, m)}"
    if tier is Tier.FAR:
        return "no other measured size"
    above = group.runnable.at_or_above(m)
    if above is None:
        return f"no measured size above M={m}"
    if above[0] == m:
        return "M itself was measured"
    gap = near_gap()
    return f"M={above[0]} is beyond max(M + {gap.add}, {gap.factor} · M) = {max(m + gap.add, m * gap.factor)}"


def _measured(group: GroupPlan, m: int) -> str:
    """The sizes around m that were measured, of kernels that can run and of others."""
    texts = []
    for ladder, kind in ((group.runnable, "ladder"), (group.external, "external")):
        sizes = _sizes(ladder)
        if sizes:
            at = bisect_left(sizes, m)
            first, last = max(at - _SHOWN_BELOW, 0), min(at + _SHOWN_ABOVE, len(sizes))
            shown = ["…"] * (first > 0) + [str(size) for size in sizes[first:last]] + ["…"] * (last < len(sizes))
            texts.append(f"{kind} {', '.join(shown)} of {len(sizes)}")
    return f" ({'; '.join(texts)})" if texts else ""


def _sizes(ladder: Ladder) -> list[int]:
    return [size for rung in ladder.rungs for size in range(rung.first, rung.last + 1, rung.step)]
