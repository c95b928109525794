"""The layers of a model on each number of ranks, with the tiers that answer them, as documents and problems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from ckgen.workload.coverage import Coverage
from ckgen.workload.layer import Attention, Experts, Layer, Product
from ckgen.workload.shape_list import AskedShape

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
        return {
            "tp": self.tp,
            "layer": self.layer.name,
            "layers": self.layer.count,
            "kind": _WORDS[type(work)],
            "signature": self.signature or None,
            "sizes": asdict(work),
            "tiers": {str(tier): count for tier, count in self.coverage.tiers.items()} if self.coverage else None,
            "reason": (self.coverage.reason or None) if self.coverage else None,
        }

    def cells(self) -> tuple[str, ...]:
        """A line of the table for people."""
        told = self.coverage.text if self.coverage is not None else ""
        return (str(self.tp), self.layer.name, str(self.layer.count), self.signature, self.layer.work.text, told)


def asked_shapes(lines: Iterable[Line], ladder: Sequence[int]) -> Counter[AskedShape]:
    """Each problem of the lines for every M, as often as layers of one step ask it; attention has none."""
    found = Counter[AskedShape]()
    for line in lines:
        work = line.layer.work
        if not line.signature or isinstance(work, Attention):
            continue
        for m in ladder:
            found[_asked(line.signature, work, m)] += line.layer.count
    return found


def _asked(signature: str, work: Product | Experts, m: int) -> AskedShape:
    if isinstance(work, Experts):
        return AskedShape(signature, 0, m, work.inter, work.hidden, work.experts, work.top_k)
    return AskedShape(signature, work.batch, m, work.n, work.k)


def totals(lines: Iterable[Line]) -> Mapping[str, int]:
    """Problems by the tier that answers them, over all lines; those of one signature and sizes count once."""
    found = Counter[str]()
    for coverage in {(line.signature, line.layer.work): line.coverage for line in lines}.values():
        if coverage is not None:
            found.update({str(tier): count for tier, count in coverage.tiers.items()})
    return found
