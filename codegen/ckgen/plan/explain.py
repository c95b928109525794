"""The trail of a selection of GEMMs and what is made of them: sizes, rows, demands, and why a tier has nothing."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import replace

from ckgen.families.common.ladder import Ladder
from ckgen.families.common.m_policy import kernel_sizes
from ckgen.families.common.policy import MPolicy, near_gap
from ckgen.families.common.problem_finding import no_instance
from ckgen.families.gemm.candidates import group_of
from ckgen.families.gemm.config import strategy_of
from ckgen.families.gemm.enums import Op
from ckgen.families.gemm.measured import GemmUnit, GroupPlan, TablePlan
from ckgen.families.gemm.problem_rules import Constraints
from ckgen.families.stream_k.partition import describe
from ckgen.families.tables import rounded_module
from ckgen.model.selection import Tier
from ckgen.model.tuned_row import TunedRow
from ckgen.plan.select import Candidate, Query, named_by_table, walk
from ckgen.plan.trail import Status, Step, Trail, assembled, measured_text, wishes_text

Place = Callable[[TunedRow], str]

_SHOWN_BELOW, _SHOWN_ABOVE = 2, 3


def title(query: Query) -> str:
    """The problem and the device in a line."""
    op = "gemm " if query.signature.op is Op.GEMM else ""
    return f"{op}{query.signature.describe()}  {sizes_text(query)}{wishes_text(query.wishes)}  on {query.target}"


def sizes_text(query: Query) -> str:
    """The sizes as people read them."""
    if query.groups is not None:
        return str(query.groups)
    if query.signature.op is Op.MOE:
        blocks = f" block_m={query.block_m}" if query.block_m else ""
        return f"{replace(query.shape, batch=0)} {query.routing}{blocks}"
    return str(query.shape)


def trail(query: Query, place: Place) -> Trail:
    """What `select` goes through, up to what it takes; `place` is where the user finds a row."""
    return assembled(
        title(query),
        query.illegal(),
        walk(query),
        step=lambda candidate: _step(query, candidate, place),
        absent=lambda tier: _why_absent(query, tier),
        untried=no_instance(),
        external=lambda: _external(query, place),
    )


def _step(query: Query, candidate: Candidate, place: Place) -> Step:
    row, finding = candidate.row, candidate.finding
    detail = []
    head = ""
    if row is not None:
        head = f"M={row.shape.m} → "
        other = f" on {row.target}" if row.target != query.target else ""
        detail.append(measured_text(place(row), row.us, f"M={row.shape.m}{other}"))
    if strategy_of(candidate.instance.config).is_stream_k:
        detail.append(describe(candidate.instance.config, query.shape, query.target.cu_num))
    if finding is None:
        detail.append(f"supports: ok{_demands(candidate.instance.constraints, candidate.k_batch)}")
    else:
        detail.append(f"rejected: {finding.text}")
    return Step(
        candidate.tier,
        Status.TAKEN if finding is None else Status.REJECTED,
        f"{head}{candidate.instance.name}   k_batch {candidate.k_batch or 'as the kernel decides'}",
        tuple(detail),
        candidate.instance,
        candidate.k_batch,
        place(row) if row is not None else None,
        finding.rule if finding is not None else None,
    )


def _demands(constraints: Constraints, k_batch: int) -> str:
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


def _external(query: Query, place: Place) -> str:
    winner = named_by_table(query)
    if winner is None or winner.external is None:
        return ""
    kernel = f"{winner.external.library} {winner.external.name or '-'}"
    return f"{winner.tier} M={winner.row.shape.m}: {kernel}  {place(winner.row)}"


def _why_absent(query: Query, tier: Tier) -> str:
    if tier in (Tier.FORCED, Tier.OVERRIDE):
        return "–"
    unit = query.unit
    if unit is None:
        return "no instance of this signature"
    if tier is Tier.HEURISTIC:
        ruled = any(heuristic.arch == query.target.gfx for heuristic in unit.heuristics)
        return "no arm of the decision rule holds" if ruled else f"no decision rule on {query.target.gfx}"
    if tier is Tier.OTHER_CU:
        return _why_no_other_cu(query, unit)
    if tier is Tier.DEFAULT:
        return f"none on {query.target.gfx}"
    return _why_no_rung(query, unit.table(query.target), tier)


def _why_no_other_cu(query: Query, unit: GemmUnit) -> str:
    gfx = query.target.gfx
    others = [t for t in unit.tables if t.target.gfx == gfx and t.target != query.target]
    if not others:
        return f"no table of {gfx} at another CU count"
    counts = ", ".join(str(table.target.cu_num) for table in others)
    return f"no rows that can run for {_group_text(query)} at {counts} CUs"


def _why_no_rung(query: Query, table: TablePlan | None, tier: Tier) -> str:
    if table is None:
        return f"no table for {query.target}"
    group = group_of(table, query.shape)
    if group is None:
        return f"no rows for {_group_text(query)}"
    m = query.shape.m
    if query.plan.m_policy is MPolicy.AITER and tier is not Tier.FAR:
        return f"no row that can run at M={m}" if tier is Tier.EXACT else _why_no_rounding(query)
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


def _why_no_rounding(query: Query) -> str:
    unit = query.unit
    sizes = kernel_sizes(rounded_module(unit.module), query.shape.m, query.shape.n) if unit is not None else ()
    return f"no row that can run at AITER's roundings of M: {', '.join(map(str, sizes))}"


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


def _group_text(query: Query) -> str:
    batch = f"B={query.shape.batch} " if query.shape.batch else ""
    return f"{batch}N={query.shape.n} K={query.shape.k}"
