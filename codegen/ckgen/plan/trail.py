"""A selection's trail: what every tier offered, what was rejected by which rule, and what was not tried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from ckgen.families.common.problem_finding import no_instance, outweighs
from ckgen.families.common.providers import assumption
from ckgen.families.common.query import AnyInstance, Candidate, Query
from ckgen.model.selection import Tier, Wishes
from ckgen.model.strategy import Strategy
from ckgen.plan.select import walk

Place = Callable[[Any], str]
"""Where the user finds a row."""

TIERS = tuple(tier for tier in Tier if tier is not Tier.UNSUPPORTED)
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
    instance: AnyInstance | None = None
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
    """The problem, every step in order, the table's external winner, and why nothing was chosen; empty where not so.

    `assumed` is what is taken for granted of that winner where a program may have it.
    `nearest` is the instance that `reason` is of, `others` counts what the other candidates said.
    """

    title: str
    steps: tuple[Step, ...]
    external: str
    reason: str
    nearest: str = ""
    others: str = ""
    assumed: str = ""

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
        lines += [f"{_INDENT}assumed {self.assumed}"] if self.assumed else []
        lines += [f"  unsupported  {self.reason}"] if self.reason else []
        lines += [f"  nearest      {self.nearest}"] if self.nearest else []
        lines += [f"  others       {self.others}"] if self.others else []
        return "\n".join(lines)


def trail(query: Query, place: Place) -> Trail:
    """What `select` goes through, up to what it takes; `place` is where the user finds a row.

    Nothing is walked for an illegal problem.
    """
    head, illegal = title(query), query.illegal()
    if illegal is not None:
        return Trail(head, tuple(Step(tier, Status.NOT_TRIED, "") for tier in TIERS), "", illegal.text)
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
    external, assumed = _external(query, place), assumed_of(query, tried[-1].instance.name if taken else "")
    if taken is not None:
        return Trail(head, tuple(found), external, "", assumed=assumed)
    nearest = _nearest(tried)
    if nearest is None:
        return Trail(head, tuple(found), external, query.untried().text, assumed=assumed)
    reason = nearest.finding if nearest.finding != no_instance() else query.untried()
    assert reason is not None
    others = _others(tried, nearest)
    return Trail(head, tuple(found), external, reason.text, nearest.instance.name, others, assumed)


def _nearest(refusing: Sequence[Candidate]) -> Candidate | None:
    """The candidate that the problem is nearest to."""
    nearest: Candidate | None = None
    for candidate in refusing:
        assert candidate.finding is not None
        if nearest is None or outweighs(candidate.finding, nearest.finding):
            nearest = candidate
    return nearest


def _others(refusing: Sequence[Candidate], nearest: Candidate) -> str:
    """How many other candidates said which rule, in the order in which they came."""
    said = Counter(one.finding.rule for one in refusing if one is not nearest and one.finding is not None)
    counts = ", ".join(f"{rule} {count}" for rule, count in said.items())
    return f"{said.total()}: {counts}" if said else ""


def title(query: Query) -> str:
    """The problem and the device in a line."""
    return f"{query.subject()}  {query.sizes_text()}{wishes_text(query.wishes)}  on {query.target}"


def _step(query: Query, candidate: Candidate, place: Place) -> Step:
    row, finding, instance = candidate.row, candidate.finding, candidate.instance
    head, source, detail = "", None, []
    if row is not None:
        measured = query.measured_at(row)
        head, source = f"{measured} → ", place(row)
        other = f" on {row.target}" if row.target != query.target else ""
        detail.append(measured_text(source, row.us, f"{measured}{other}"))
    detail += query.notes(candidate)
    detail.append(f"supports: ok{query.demands(candidate)}" if finding is None else f"rejected: {finding.text}")
    return Step(
        candidate.tier,
        Status.TAKEN if finding is None else Status.REJECTED,
        f"{head}{instance.name}   k_batch {candidate.k_batch or 'as the kernel decides'}",
        tuple(detail),
        instance,
        candidate.k_batch,
        source,
        finding.rule if finding is not None else None,
    )


def _external(query: Query, place: Place) -> str:
    winner = query.named_by_table()
    if winner is None or winner.external is None:
        return ""
    kernel = f"{winner.external.library} {winner.external.name or '-'}"
    return f"{winner.tier} {query.measured_at(winner.row)}: {kernel}  {place(winner.row)}"


def assumed_of(query: Query, instead: str) -> str:
    """What is taken for granted of the table's winner, where a program may have its library; `instead` answers."""
    winner = query.named_by_table()
    if winner is None or winner.external is None:
        return ""
    return assumption(winner.external.library, winner.external.name, winner.row.us, instead)


def _why_absent(query: Query, tier: Tier) -> str:
    gfx, unit = query.target.gfx, query.unit
    if tier in (Tier.FORCED, Tier.OVERRIDE):
        return "–"
    if unit is None:
        return "no instance of this signature"
    if tier is Tier.HEURISTIC:
        ruled = any(heuristic.rule.is_for(query.target) for heuristic in unit.heuristics)
        return "the decision rule leads to no kernel" if ruled else f"no decision rule on {gfx}"
    if tier is Tier.PREDICTED:
        return "no predicted kernel takes it" if unit.predicted.get(gfx) else f"no predicted times on {gfx}"
    return f"none on {gfx}" if tier is Tier.DEFAULT else query.why_no_row(unit, tier)


def measured_text(place: str, us: float | None, what: str) -> str:
    """Where a row stands, its time if it has one, and what was measured."""
    time = f"  {us:g} us" if us is not None else ""
    return f"{place}{time} measured at {what}"


def wishes_text(wishes: Wishes) -> str:
    """What a caller asks beyond the sizes; empty where nothing."""
    strategy = f" strategy {wishes.strategy}" if wishes.strategy is not Strategy.ANY else ""
    order = "batch_invariant" if wishes.batch_invariant else "deterministic" if wishes.deterministic else ""
    return f"{f' {order}' if order else ''}{strategy}"
