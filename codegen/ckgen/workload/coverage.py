"""Which tiers of selection answer the problems of a model on a target: what tables cover, and what they do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ckgen.families.common.asked import Asked
from ckgen.families.registry import FAMILIES, AnyFamily
from ckgen.model.arch import ArchSpec
from ckgen.model.selection import Tier, Wishes
from ckgen.model.target import Target
from ckgen.plan.model import GenerationPlan
from ckgen.plan.select import select
from ckgen.workload.layer import Attention, Experts, Work


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many M each tier answers, and why the first of them is unsupported, if any is."""

    tiers: Mapping[Tier, int]
    reason: str = ""

    @property
    def asked(self) -> int:
        """All of them."""
        return sum(self.tiers.values())

    @property
    def tuned(self) -> int:
        """Those that a measured row of exactly that size answers."""
        return self.tiers.get(Tier.EXACT, 0)

    @property
    def text(self) -> str:
        """What people read."""
        others = ", ".join(f"{tier} {count:,}" for tier, count in self.tiers.items() if tier is not Tier.EXACT)
        return f"exact {self.tuned:,} of {self.asked:,}{f' ({others})' if others else ''}"


def family_of_work(work: Work) -> AnyFamily:
    """Who answers it."""
    return FAMILIES["moe" if isinstance(work, Experts) else "gemm"]


def asked_of(work: Work, signature: str, m: int) -> Asked:
    """The problem of M tokens as a command line says it; not of attention."""
    assert not isinstance(work, Attention)
    if isinstance(work, Experts):
        shape = f"{m},{work.inter},{work.hidden}"
        return Asked("moe", signature, shape, experts=work.experts, top_k=work.top_k)
    return Asked("gemm", signature, f"{m},{work.n},{work.k}", batch=str(work.batch) if work.batch else None)


def canonical_of(work: Work, signature: str, arch: ArchSpec) -> str:
    """The signature with the arch's own flavour of fp8; UsageError for one that is unknown."""
    name: str = family_of_work(work).asked_signature(asked_of(work, signature, 1), arch.fp8_flavour).canonical()
    return name


def coverage_of(plan: GenerationPlan, target: Target, arch: ArchSpec, work: Work, signature: str,
                ladder: Sequence[int]) -> Coverage:  # fmt: skip
    """How the plan's library answers each M of the ladder on the target."""
    family = family_of_work(work)
    parsed = family.asked_signature(asked_of(work, signature, 1), arch.fp8_flavour)
    tiers, reason = Counter[Tier](), ""
    for m in ladder:
        problem = family.asked_problem(parsed, asked_of(work, signature, m))
        found = select(family.query(plan, target, parsed, problem, Wishes()))
        tiers[found.tier] += 1
        reason = reason or found.reason
    return Coverage({tier: tiers[tier] for tier in Tier if tier in tiers}, reason)


def planned_ops(works: Iterable[Work]) -> frozenset[str]:
    """The words of `--ops` whose kernels answer them."""
    families = [family_of_work(work) for work in works if not isinstance(work, Attention)]
    return frozenset(op for family in families for op in family.planned_with)
