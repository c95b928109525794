"""A row of a tuned table, what is known of it, and what a run asks of its tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ckgen.families.gemm.constraints import constraints_of
from ckgen.families.gemm.grammar import Identified
from ckgen.families.gemm.problem_rules import Constraints, Limits, limits_of
from ckgen.families.rules import judge
from ckgen.model.arch import ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.fate import Fate
from ckgen.model.finding import Finding
from ckgen.model.fmha_row import FmhaRow
from ckgen.model.target import Target
from ckgen.model.tuned_row import TunedRow
from ckgen.plan.identify import Identifier, Part, Signatures

FullKey = tuple[Target, int, int, int, int, int]
"""Target, number of the part of the signatures, batch, M, N, K: two rows of one layer with equal keys must agree."""


@dataclass(slots=True, eq=False)
class Entry:
    """A row and what the predicates ask of it, each answered once.

    `keys` has one for each of `parts`; the row answers for those of `won`. `best` is what answers instead, or the row.
    `settled` is the fate of a row that answers for nothing, `kept` that of another once a profile keeps it.
    """

    row: TunedRow
    signatures: Signatures
    number: int
    generated: bool
    kernel: Identified | None
    refused: str | None = None
    invalid: str | None = None
    parts: tuple[Part, ...] = ()
    keys: tuple[FullKey, ...] = ()
    won: tuple[Part, ...] = ()
    best: Entry | None = None
    overrider: Entry | None = None
    settled: Fate | None = None
    kept: Fate | None = None


@dataclass(slots=True)
class RowContext:
    """What a run asks for. `keep` answers why a kernel is filtered out, or None; `targets` None means all.

    `place` is where the user can find a row.
    """

    identifier: Identifier
    archs: Mapping[str, ArchSpec]
    targets: frozenset[Target] | None
    keep: Callable[[Signatures, str, Backend], str | None]
    place: Callable[[TunedRow | FmhaRow], Location]
    findings: list[Diagnostic] = field(default_factory=list)
    _peaks: dict[tuple[Target, int], float | None] = field(default_factory=dict)
    _demands: dict[tuple[int, int], tuple[Limits, Constraints]] = field(default_factory=dict)
    _judged: dict[tuple[int, str, str, str], tuple[Finding, ...]] = field(default_factory=dict)

    def peak(self, entry: Entry) -> float | None:
        """The dense peak rate of the row's target for its types, in operations per second; None where not known."""
        target = entry.row.target
        arch = self.archs.get(target.gfx) if target is not None else None
        if arch is None or target is None or not entry.signatures:
            return None
        key = (target, entry.number)
        if key not in self._peaks:
            signature = entry.signatures[0]
            self._peaks[key] = arch.peak_ops(signature.a, signature.b, target.cu_num)
        return self._peaks[key]

    def demands(self, entry: Entry, kernel: Identified) -> tuple[Limits, Constraints]:
        """What the row's signature and its kernel ask of a shape. Identified kernels are made once: `id` tells them."""
        key = (entry.number, id(kernel))
        if key not in self._demands:
            signature = entry.signatures[0]
            self._demands[key] = (limits_of(signature), constraints_of(signature, kernel.config))
        return self._demands[key]

    def judged(self, entry: Entry) -> tuple[Finding, ...]:
        """The rules of the kernel's backend on the row's arch; none where either is not known."""
        row = entry.row
        arch = self.archs.get(row.target.gfx) if row.target is not None else None
        if arch is None or entry.kernel is None:
            return ()
        key = (entry.number, row.library, row.kernel, arch.name)
        if key not in self._judged:
            self._judged[key] = tuple(judge(entry.signatures[0], entry.kernel.config, entry.kernel.backend, arch))
        return self._judged[key]
