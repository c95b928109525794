"""Measured attention problems of one signature and target, and which of them answers a problem."""

from __future__ import annotations

from dataclasses import dataclass

from ckgen.families.fmha.enums import FmhaTraits
from ckgen.model.fmha_row import FmhaRow
from ckgen.model.fmha_shape import FmhaCorner, FmhaShape
from ckgen.model.target import Target
from ckgen.plan.policy import near_gap

FmhaKey = tuple[int, ...]
"""A measured problem: its context, seqlen_q, seqlen_k; rungs ascend in it."""


@dataclass(frozen=True, slots=True)
class FmhaRung:
    """Sizes that were measured and what won: an instance of the unit by number, None splits being the cheapest."""

    key: FmhaKey
    instance: int
    k_batch: int | None
    row: FmhaRow


@dataclass(frozen=True, slots=True)
class FmhaTable:
    """All rungs of one (signature, target), ascending."""

    target: Target
    rungs: tuple[FmhaRung, ...]

    def find(self, traits: FmhaTraits, shape: FmhaShape) -> FmhaRung | None:
        """The first rung of the context whose lengths are those or near ones above, as C++'s find_rung() finds it."""
        context = fmha_context(traits, shape)
        gap = near_gap()
        for rung in self.rungs:
            *of_rung, seqlen_q, seqlen_k = rung.key
            if tuple(of_rung) != context or seqlen_q < shape.seqlen_q or seqlen_k < shape.seqlen_k:
                continue
            if gap.holds(shape.seqlen_q, seqlen_q) and gap.holds(shape.seqlen_k, seqlen_k):
                return rung
        return None


def fmha_context(traits: FmhaTraits, shape: FmhaShape) -> tuple[int, ...]:
    """All of a problem that a rung must equal; 0 what the signature has no use for. As fmha_context() of C++."""
    sizes = (shape.batch, shape.heads_q, shape.heads_k, shape.hdim_q, shape.hdim_v)
    page = shape.page_size if traits.is_paged else 0
    if not traits.masked:
        return (*sizes, page, 0, 0, 0, 0)
    corner = list(FmhaCorner).index(shape.corner)
    return (*sizes, page, corner, shape.window_left, shape.window_right, shape.sink_tokens)


def fmha_key(traits: FmhaTraits, shape: FmhaShape) -> FmhaKey:
    """Where the problem stands among rungs."""
    return (*fmha_context(traits, shape), shape.seqlen_q, shape.seqlen_k)
