"""The trail of a selection: what every tier offered, what was rejected by which rule, and what was not tried."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum

from ckgen.families.gemm.config import strategy_of
from ckgen.families.gemm.enums import Op
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.m_policy import aiter_kernel_m
from ckgen.families.gemm.problem_rules import Constraints, ProblemFinding, no_instance
from ckgen.families.stream_k.partition import describe, outweighs
from ckgen.model.selection import Tier
from ckgen.model.strategy import Strategy
from ckgen.model.tuned_row import TunedRow
from ckgen.plan.candidates import group_of
from ckgen.plan.ladder import Ladder
from ckgen.plan.model import GroupPlan, TablePlan, UnitPlan
from ckgen.plan.policy import MPolicy, near_gap
from ckgen.plan.select import Candidate, Query, named_by_table, walk

Place = Callable[[TunedRow], str]

TIERS = tuple(tier for tier in Tier if tier is not Tier.UNSUPPORTED)
_SHOWN_BELOW, _SHOWN_ABOVE = 2, 3
_INDENT = " " * 15


class Status(Enum):
    """What became of a tier, or of one of its candidates."""

    TAKEN = "taken"
    REJECTED = "rejected"
    ABSENT = "absent"
    NOT_TRIED = "not_tried"


@dataclass(frozen=True, slots=True)
class Step:
    """One candidate, or a tier without any; `text` is its line, `detail` the lines below it."""

    tier: Tier
    status: Status
    text: str
    detail: tuple[str, ...] = ()
    instance: Instance | None = None
    k_batch: int | None = None
    source: str | None = None
    rule: str | None = None

    def to_json(self) -> dict[str, object]:
        """The step as a JSON object; null for what there is none of."""
        return {
            "tier": self.tier.value,
            "status": self.status.value,
            "instance": self.instance.name if self.instance is not None else None,
            "k_batch": self.k_batch,
            "source": self.source,
            "rule": self.rule,
            "text": self.text,
        }


@dataclass(frozen=True, slots=True)
class Trail:
    """The problem, every step in order, the table's external winner, and why nothing was chosen; empty where not so."""

    title: str
    steps: tuple[Step, ...]
    external: str
    reason: str

    def text(self) -> str:
        """The trail as people read it."""
        lines = [self.title]
        for step in self.steps:
            if step.status is Status.NOT_TRIED:
                continue
            mark = {Status.TAKEN: "✔", Status.REJECTED: "✘"}.get(step.status, " ")
            lines.append(f"  {step.tier.value:<10} {mark} {step.text}")
            lines += [f"{_INDENT}{line}" for line in step.detail]
        left = [step.tier.value for step in self.steps if step.status is Status.NOT_TRIED]
        lines += [f"  not tried    {', '.join(left)}"] if left else []
        lines += [f"  external     {self.external}"] if self.external else []
        lines += [f"  unsupported  {self.reason}"] if self.reason else []
        return "\n".join(lines)


def title(query: Query) -> str:
    """The problem and the device in a line."""
    wish = " deterministic" if query.wishes.deterministic else ""
    if query.wishes.strategy is not Strategy.ANY:
        wish += f" strategy {query.wishes.strategy}"
    op = "gemm " if query.signature.op is Op.GEMM else ""
    return f"{op}{query.signature.describe()}  {sizes_text(query)}{wish}  on {query.target}"


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
    illegal = query.illegal()
    if illegal is not None:
        steps = tuple(Step(tier, Status.NOT_TRIED, "") for tier in TIERS)
        return Trail(title(query), steps, "", illegal.text)
    tried: list[Candidate] = []
    for candidate in walk(query):
        tried.append(candidate)
        if candidate.finding is None:
            break
    taken = tried[-1].tier if tried and tried[-1].finding is None else None
    found: list[Step] = []
    for tier in TIERS:
        of_tier = [candidate for candidate in tried if candidate.tier is tier]
        if taken is not None and TIERS.index(tier) > TIERS.index(taken):
            found.append(Step(tier, Status.NOT_TRIED, ""))
        elif of_tier:
            found += [_step(query, candidate, place) for candidate in of_tier]
        else:
            found.append(Step(tier, Status.ABSENT, _why_absent(query, tier)))
    last: ProblemFinding | None = None
    for candidate in tried:
        if candidate.finding is None or outweighs(candidate.finding, last):
            last = candidate.finding
    if not tried:
        last = no_instance()
    return Trail(title(query), tuple(found), _external(query, place), last.text if last is not None else "")


def _step(query: Query, candidate: Candidate, place: Place) -> Step:
    row, finding = candidate.row, candidate.finding
    detail = []
    head = ""
    if row is not None:
        head = f"M={row.shape.m} → "
        time = f"  {row.us:g} us" if row.us is not None else ""
        other = f" on {row.target}" if row.target != query.target else ""
        detail.append(f"{place(row)}{time} measured at M={row.shape.m}{other}")
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
    unit = query.plan.unit(query.signature)
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


def _why_no_other_cu(query: Query, unit: UnitPlan) -> str:
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
    unit = query.plan.unit(query.signature)
    sizes = aiter_kernel_m(unit.module, query.shape.m, query.shape.n, query.shape.k) if unit is not None else ()
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
