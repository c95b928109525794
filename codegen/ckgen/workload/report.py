"""The layers of a model on each number of ranks, with the tiers that answer them, as documents and shape lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ckgen.workload.coverage import Coverage
from ckgen.workload.layer import Attention, Experts, Layer, Product

COLUMNS = ("signature", "B", "M", "N", "K", "experts", "top_k")
"""Of a shape list; experts and top_k are 0 but for MoE, whose N and K are those of its first product."""

_WORDS = {Product: "product", Experts: "experts", Attention: "attention"}


@dataclass(frozen=True, slots=True)
class Line:
    """A layer on a rank of `tp`; no signature and no coverage where it is attention, no coverage where not asked."""

    tp: int
    layer: Layer
    signature: str
    coverage: Coverage | None

    def document(self) -> dict[str, Any]:
        """As JSON."""
        work = self.layer.work
        sizes = {name: getattr(work, name) for name in work.__dataclass_fields__}
        return {
            "tp": self.tp,
            "layer": self.layer.name,
            "layers": self.layer.count,
            "kind": _WORDS[type(work)],
            "signature": self.signature or None,
            "sizes": sizes,
            "tiers": {str(tier): count for tier, count in self.coverage.tiers.items()} if self.coverage else None,
            "reason": (self.coverage.reason or None) if self.coverage else None,
        }

    def cells(self) -> tuple[str, ...]:
        """A line of the table for people."""
        told = self.coverage.text if self.coverage is not None else ""
        return (str(self.tp), self.layer.name, str(self.layer.count), self.signature, self.layer.work.text, told)


def shape_list(lines: Iterable[Line], ladder: Sequence[int]) -> list[tuple[str, ...]]:
    """Each distinct problem of the lines once, for every M, under COLUMNS; attention has none."""
    rows = {
        (line.signature, *_sizes(line.layer.work), m)
        for line in lines
        if line.signature and not isinstance(line.layer.work, Attention)
        for m in ladder
    }
    return [
        tuple(map(str, (signature, batch, m, n, k, experts, top_k)))
        for signature, batch, n, k, experts, top_k, m in sorted(rows)
    ]


def _sizes(work: Product | Experts) -> tuple[int, int, int, int, int]:
    if isinstance(work, Experts):
        return 0, work.inter, work.hidden, work.experts, work.top_k
    return work.batch, work.n, work.k, 0, 0


def totals(lines: Iterable[Line]) -> Mapping[str, int]:
    """Problems by the tier that answers them, over all lines; those of one signature and sizes count once."""
    found: dict[str, int] = {}
    seen = set()
    for line in lines:
        if line.coverage is None or (line.signature, line.layer.work) in seen:
            continue
        seen.add((line.signature, line.layer.work))
        for tier, count in line.coverage.tiers.items():
            found[str(tier)] = found.get(str(tier), 0) + count
    return found
