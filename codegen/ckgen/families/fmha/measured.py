"""Measured attention problems of one signature and target, and which of them answers a problem."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ckgen.families.common.device.unit import Use
from ckgen.families.common.policy import near_gap
from ckgen.families.common.unit import Measured, UnitPlan
from ckgen.families.fmha.constraints import FmhaConstraints
from ckgen.families.fmha.enums import FmhaTraits
from ckgen.families.fmha.grammar import AnyFmhaConfig
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.model.fmha_row import FmhaRow
from ckgen.model.fmha_shape import FmhaShape
from ckgen.model.target import Target

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

    def measured(self) -> Iterator[Measured]:
        """Of every rung."""
        return (Measured(rung.row.shape, rung.instance, rung.k_batch) for rung in self.rungs)

    def uses(self) -> Iterator[tuple[int, Use]]:
        """None: all variants of a kernel are built."""
        yield from ()


FmhaUnit = UnitPlan[FmhaSignature, AnyFmhaConfig, FmhaConstraints, FmhaTable]


def table_of(target: Target, selected: Iterable[tuple[FmhaRow, FmhaTraits, int]]) -> FmhaTable:
    """The table of these rows, each with its signature's traits and the number of its instance."""
    rungs = (FmhaRung(fmha_key(traits, row.shape), number, row.k_batch, row) for row, traits, number in selected)
    return FmhaTable(target, tuple(sorted(rungs, key=lambda rung: rung.key)))


def fmha_context(traits: FmhaTraits, shape: FmhaShape) -> tuple[int, ...]:
    """All of a problem that a rung must equal; 0 what the signature has no use for. As fmha_context() of C++."""
    sizes = (shape.batch, shape.heads_q, shape.heads_k, shape.hdim_q, shape.hdim_v)
    page = shape.page_size if traits.is_paged else 0
    if not traits.masked:
        return (*sizes, page, 0, 0, 0, 0)
    corner = shape.corner.code
    return (*sizes, page, corner, shape.window_left, shape.window_right, shape.sink_tokens)


def fmha_key(traits: FmhaTraits, shape: FmhaShape) -> FmhaKey:
    """Where the problem stands among rungs."""
    return (*fmha_context(traits, shape), shape.seqlen_q, shape.seqlen_k)
