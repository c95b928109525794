"""A selection's trail: what every tier offered, what was rejected by which rule, and what was not tried."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, TypeVar

from ckgen.families.common.problem_finding import ProblemFinding
from ckgen.families.stream_k.partition import outweighs
from ckgen.model.selection import Tier, Wishes
from ckgen.model.strategy import Strategy
from ckgen.plan.model import AnyInstance

T = TypeVar("T", bound="Tried")

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


class Tried(Protocol):
    """A candidate of a walk."""

    @property
    def tier(self) -> Tier:
        """The tier that offered it."""
        ...

    @property
    def finding(self) -> ProblemFinding | None:
        """The rule that rejected it; None where it was taken."""
        ...


def assembled(
    head: str,
    illegal: ProblemFinding | None,
    walked: Iterable[T],
    *,
    step: Callable[[T], Step],
    absent: Callable[[Tier], str],
    untried: ProblemFinding,
    external: Callable[[], str],
) -> Trail:
    """The trail of a walk up to what it takes; nothing is walked for an illegal problem. `untried`: why nothing was."""
    if illegal is not None:
        return Trail(head, tuple(Step(tier, Status.NOT_TRIED, "") for tier in TIERS), "", illegal.text)
    tried: list[T] = []
    for candidate in walked:
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
            found += [step(candidate) for candidate in of_tier]
        else:
            found.append(Step(tier, Status.ABSENT, absent(tier)))
    last: ProblemFinding | None = None
    for candidate in tried:
        if candidate.finding is None or outweighs(candidate.finding, last):
            last = candidate.finding
    last = last if tried else untried
    return Trail(head, tuple(found), external(), last.text if last is not None else "")


def measured_text(place: str, us: float | None, what: str) -> str:
    """Where a row stands, its time if it has one, and what was measured."""
    time = f"  {us:g} us" if us is not None else ""
    return f"{place}{time} measured at {what}"


def wishes_text(wishes: Wishes) -> str:
    """What a caller asks beyond the sizes; empty where nothing."""
    strategy = f" strategy {wishes.strategy}" if wishes.strategy is not Strategy.ANY else ""
    return f"{' deterministic' if wishes.deterministic else ''}{strategy}"
