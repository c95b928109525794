"""A row before any profile is asked, and what a run asks of the rows of one family."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ckgen.families.common.problem_finding import ProblemFinding
from ckgen.families.common.rows import Identified, RowMeanings, SignatureGroup
from ckgen.families.common.signature import Signature
from ckgen.families.rules import judge
from ckgen.model.arch import ArchSpec
from ckgen.model.diagnostic import Diagnostic, Location
from ckgen.model.fate import Fate
from ckgen.model.finding import RuleFinding
from ckgen.model.row import Row
from ckgen.model.target import Target
from ckgen.plan.filters import Filters

MOST_TEXTS = 10_000
"""That are shared."""

Signatures = tuple[Any, ...]
FullKey = tuple[Hashable, ...]
"""Target, number of the group of signatures, sizes: two rows of one layer with equal keys must agree."""


@dataclass(slots=True, eq=False)
class Entry:
    """A row and what the predicates ask of it, each answered once.

    `by_default`: the row says that kernels of ckgen's answer as they do without it. `keys` has one for each of
    `groups` until the best rows are found; the row answers for `answered_parts` of them. `best` is what answers
    instead, or the row. `early_outcome` is the fate of a row that answers for nothing, `late_outcome` that of another
    once a profile keeps it.
    """

    row: Row
    signatures: Signatures
    number: int
    generated: bool
    kernel: Identified | None
    by_default: bool = False
    table_kernel: str = ""
    refused: str | None = None
    invalid: str | None = None
    groups: tuple[SignatureGroup[Any], ...] = ()
    keys: tuple[FullKey, ...] = ()
    answered_parts: tuple[SignatureGroup[Any], ...] = ()
    best: Entry | None = None
    overrider: Entry | None = None
    early_outcome: Fate | None = None
    late_outcome: Fate | None = None


@dataclass(slots=True)
class RowContext:
    """What a run asks of rows of one family. `targets` None means all; of one without a product rows of all of its
    products are asked for, of one with a product those of the others are not.

    `place` is where the user can find a row.
    """

    meanings: RowMeanings[Any, Any]
    archs: Mapping[str, ArchSpec]
    targets: frozenset[Target] | None
    filters: Filters
    place: Callable[[Row], Location]
    findings: list[Diagnostic] = field(default_factory=list)
    _peaks: dict[tuple[Target, int], float | None] = field(default_factory=dict)
    _texts: dict[str, str] = field(default_factory=dict)
    _judged: dict[tuple[int, str, str, str], tuple[RuleFinding, ...]] = field(default_factory=dict)
    _left_out: dict[tuple[int, str, str], str | None] = field(default_factory=dict)
    _asked: dict[Target, bool] = field(default_factory=dict)

    def is_asked(self, target: Target) -> bool:
        """Whether rows of the target answer on one of `targets`."""
        if self.targets is None:
            return True
        if target not in self._asked:
            self._asked[target] = any(one.concerns(target) for one in self.targets)
        return self._asked[target]

    def is_wanted(self, entry: Entry) -> bool:
        """Whether its target is asked for."""
        return entry.row.target is not None and self.is_asked(entry.row.target)

    def shared(self, text: str) -> str:
        """The text, one object for equal ones while few differ: most reasons are those of many rows."""
        return self._texts.setdefault(text, text) if len(self._texts) < MOST_TEXTS else self._texts.get(text, text)

    def peak(self, entry: Entry) -> float | None:
        """The dense peak rate of the row's target for its types, in operations per second; None where not known."""
        target = entry.row.target
        arch = self.archs.get(target.gfx) if target is not None else None
        if arch is None or target is None or not entry.signatures:
            return None
        key = (target, entry.number)
        if key not in self._peaks:
            signature: Signature = entry.signatures[0]
            self._peaks[key] = arch.peak_ops(signature.a, signature.b, target.cu_num)
        return self._peaks[key]

    def rule_findings(self, entry: Entry) -> tuple[RuleFinding, ...]:
        """The rules of the kernel's backend on the row's arch; none where either is not known."""
        row = entry.row
        arch = self.archs.get(row.target.gfx) if row.target is not None else None
        if arch is None or entry.kernel is None:
            return ()
        key = (entry.number, row.library, row.kernel, arch.name)
        if key not in self._judged:
            self._judged[key] = tuple(judge(entry.signatures[0], entry.kernel.config, entry.kernel.backend, arch))
        return self._judged[key]

    def why_left_out(self, entry: Entry) -> str | None:
        """Why the filters leave the row's kernel out, or None."""
        assert entry.kernel is not None
        key = (entry.number, entry.row.library, entry.row.kernel)
        if key not in self._left_out:
            config = entry.kernel.config
            self._left_out[key] = self.filters.why_left_out(entry.signatures, config, entry.table_kernel)
        return self._left_out[key]

    def broken(self, entry: Entry, kernel: Identified) -> ProblemFinding | None:
        """What the row's sizes fail of what its signature and its kernel ask."""
        return self.meanings.broken(entry.row, entry.number, entry.signatures[0], kernel)
