"""Which fate a row of a tuned table gets: small predicates in order, the first that answers wins."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, islice

from ckgen.families.gemm.constraints import constraints_of
from ckgen.families.gemm.grammar import Identified
from ckgen.families.gemm.problem_rules import Constraints, Limits, first_broken, limits_of, supports
from ckgen.families.moe.module import moe_module
from ckgen.families.moe.tables import operations_of, why_unavailable
from ckgen.model.arch import ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.diagnostic import Diagnostic, Location, Severity
from ckgen.model.errors import UsageError
from ckgen.model.fate import Fate, FateKind
from ckgen.model.finding import Finding
from ckgen.model.fmha_row import FmhaRow
from ckgen.model.moe_row import MoeRow
from ckgen.model.target import Target
from ckgen.model.tuned_row import TunedRow
from ckgen.plan.identify import Identifier, Part, Signatures, is_printable, meaningless, unparsable, unprintable
from ckgen.plan.row_findings import beyond_peak, no_time
from ckgen.rules import judge
from ckgen.tables.repair import winner

MAX_ERROR_RATIO = 0.05
"""The peer's GEMM tuners accept a kernel whose share of mismatching elements is at most this."""

AMBIGUOUS = "ambiguous_target"
"""The reason of a row that does not tell its target."""

MOST_PAIRS = 100
"""Contradicting pairs of one key that are listed; every row is in one of the first pairs."""

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


LeftOut = Callable[[Entry], str | None]
"""Why no profile keeps the row's kernel for any of its signatures, or None."""


def examined(context: RowContext, rows: Iterable[TunedRow]) -> list[Entry]:
    """All that is known of the rows together, in the order given; errors are added to `context.findings`."""
    entries = [examine(context, row) for row in rows]
    set_keys(context, entries)
    _find_invalid(context, entries)
    _find_best(entries)
    for entry in entries:
        entry.settled = _first(context, entry, SETTLING)
    return entries


def resolve(context: RowContext, entries: Sequence[Entry], left_out: LeftOut) -> list[tuple[Entry, Fate]]:
    """Every row with its fate, in the order given."""
    return [(entry, entry.settled or _fate(context, entry, left_out)) for entry in entries]


def examine(context: RowContext, row: TunedRow) -> Entry:
    """What is known about a row by itself; types that mean nothing are added to `context.findings`."""
    identifier = context.identifier
    generated = identifier.is_generated(row)
    kernel = identifier.kernel(row) if generated else None
    if row.target is None:
        return Entry(row, (), -1, generated, kernel)
    try:
        number, signatures = identifier.signatures(row)
    except UsageError as error:
        context.findings.append(meaningless(row, context.place(row), error))
        return Entry(row, (), -1, generated, kernel, invalid="T015")
    entry = Entry(row, signatures, number, generated, kernel)
    entry.refused = _refusal(context, entry)
    return entry


def set_keys(context: RowContext, entries: Iterable[Entry]) -> None:
    """Says what each row answers for; all rows must have been examined."""
    parts = context.identifier.parts()
    for entry in entries:
        target, shape = entry.row.target, entry.row.shape
        if target is not None and entry.signatures:
            entry.parts = parts[entry.number]
            entry.keys = tuple((target, part, shape.batch, shape.m, shape.n, shape.k) for part, _ in entry.parts)


def _find_invalid(context: RowContext, entries: Sequence[Entry]) -> None:
    """Names that do not parse or cannot be emitted, and rows of one layer that contradict each other."""
    groups: dict[tuple[int, FullKey], list[Entry]] = defaultdict(list)
    for entry in entries:
        if entry.generated and entry.kernel is None:
            context.findings.append(unparsable(entry.row, context.place(entry.row)))
            entry.invalid = "T012"
        elif not is_printable(entry.row):
            context.findings.append(unprintable(entry.row, context.place(entry.row)))
            entry.invalid = "T016"
        else:
            for key in entry.keys:
                groups[entry.row.layer, key].append(entry)
    listed: dict[tuple[int, int], Diagnostic] = {}
    for group in groups.values():
        if len(group) > 1 and len({winner(entry.row) for entry in group}) > 1:
            for entry in group:
                entry.invalid = "T007"
            pairs = (pair for pair in combinations(group, 2) if winner(pair[0].row) != winner(pair[1].row))
            for a, b in islice(pairs, MOST_PAIRS):
                listed.setdefault((id(a), id(b)), _contradiction(context, a.row, b.row))
    context.findings += listed.values()


def _find_best(entries: Sequence[Entry]) -> None:
    """Per key the row that answers: the last layer's, and of equal rows there the lowest valid time."""
    best: dict[FullKey, Entry] = {}
    for entry in entries:
        if entry.invalid is not None or entry.refused is not None:
            continue
        for key in entry.keys:
            known = best.get(key)
            if known is None or _rank(entry.row) < _rank(known.row):
                best[key] = entry
    for entry in entries:
        rivals = [best[key] for key in entry.keys if key in best]
        entry.won = tuple(part for part, key in zip(entry.parts, entry.keys, strict=True) if best.get(key) is entry)
        latest = max(rivals, key=lambda rival: rival.row.layer, default=None)
        entry.best = entry if entry.won else latest
        entry.overrider = latest if latest is not None and latest.row.layer > entry.row.layer else None


def _fate(context: RowContext, entry: Entry, left_out: LeftOut) -> Fate:
    """Of a row that answers for something."""
    reason = left_out(entry)
    if reason is not None:
        return Fate(FateKind.LEFT_OUT, entry.row.location, reason)
    if entry.kept is None:
        entry.kept = _first(context, entry, ANSWERING) or Fate(FateKind.SELECTED, entry.row.location)
    return entry.kept


def _first(context: RowContext, entry: Entry, predicates: Iterable[tuple[FateKind, Predicate]]) -> Fate | None:
    for kind, predicate in predicates:
        reason = predicate(context, entry)
        if reason is not None:
            return Fate(kind, entry.row.location, reason)
    return None


def _is_invalid(_: RowContext, entry: Entry) -> str | None:
    return entry.invalid


def _is_ambiguous(_: RowContext, entry: Entry) -> str | None:
    return AMBIGUOUS if entry.row.target is None else None


def _is_of_other_target(context: RowContext, entry: Entry) -> str | None:
    other = context.targets is not None and entry.row.target not in context.targets
    return str(entry.row.target) if other else None


def _is_refused(_: RowContext, entry: Entry) -> str | None:
    return entry.refused


def _is_overridden(context: RowContext, entry: Entry) -> str | None:
    best = entry.best
    return str(context.place(best.row)) if best is not None and best.row.layer > entry.row.layer else None


def _is_duplicate(context: RowContext, entry: Entry) -> str | None:
    best = entry.best
    return str(context.place(best.row)) if best is not None and best is not entry else None


def _is_external(_: RowContext, entry: Entry) -> str | None:
    return None if entry.generated else entry.row.library


def _is_unavailable(context: RowContext, entry: Entry) -> str | None:
    assert entry.kernel is not None and entry.row.target is not None
    if entry.row.target.gfx not in context.archs:
        return f"no spec of {entry.row.target.gfx}"
    if isinstance(entry.row, MoeRow) and (reason := why_unavailable(entry.row, entry.signatures)) is not None:
        return reason
    filtered = context.keep(entry.signatures, entry.row.kernel, entry.kernel.backend)
    if filtered is not None:
        return filtered
    findings = context.judged(entry)
    if findings:
        return str(findings[0])
    limits, constraints = context.demands(entry, entry.kernel)
    shape = replace(entry.row.shape, batch=0) if isinstance(entry.row, MoeRow) else entry.row.shape
    problem = first_broken(limits, shape) or supports(constraints, shape, entry.row.k_batch or 0)
    return problem.text if problem is not None else None


Predicate = Callable[[RowContext, Entry], str | None]

SETTLING: tuple[tuple[FateKind, Predicate], ...] = (
    (FateKind.INVALID, _is_invalid),
    (FateKind.UNAVAILABLE, _is_ambiguous),
    (FateKind.OTHER_TARGET, _is_of_other_target),
    (FateKind.REFUSED_MEASUREMENT, _is_refused),
    (FateKind.OVERRIDDEN, _is_overridden),
    (FateKind.DUPLICATE_IDENTICAL, _is_duplicate),
)
"""Asked first: what makes a row answer for nothing. Whether profiles leave it out is asked next."""

ANSWERING: tuple[tuple[FateKind, Predicate], ...] = (
    (FateKind.EXTERNAL, _is_external),
    (FateKind.UNAVAILABLE, _is_unavailable),
)


def _refusal(context: RowContext, entry: Entry) -> str | None:
    """Why a measurement is not believed: not a time, too many wrong elements, or faster than the chip."""
    row = entry.row
    refused = no_time(row.us)
    if refused is not None:
        return refused
    most = moe_module().max_error_ratio if isinstance(row, MoeRow) else MAX_ERROR_RATIO
    if row.error_ratio is not None and not row.error_ratio <= most:
        bound = f" > {most}" if row.error_ratio > most else ""
        return f"errRatio = {row.error_ratio:g}{bound}"
    return beyond_peak(_operations(row), row.us, context.peak(entry))


def _operations(row: TunedRow) -> int:
    if isinstance(row, MoeRow):
        return operations_of(row)
    return 2 * max(row.shape.batch, 1) * row.shape.m * row.shape.n * row.shape.k


def _rank(row: TunedRow) -> tuple[int, float]:
    return (-row.layer, row.us if row.us is not None else math.inf)


def _contradiction(context: RowContext, first: TunedRow, second: TunedRow) -> Diagnostic:
    def said(row: TunedRow) -> str:
        time = f" ({row.us:g} us)" if row.us is not None else ""
        splits = f" k_batch {row.k_batch}" if row.k_batch != 1 else ""
        return f"{row.library} {row.kernel or '-'}{splits}{time}"

    return Diagnostic(
        code="T007",
        message="same key, different kernels",
        location=context.place(first),
        related=(context.place(second),),
        detail=(f"{first.target} {first.module} {first.sizes}: {said(first)} / {said(second)}",),
        hint="keep one: ckgen tables dedupe PATH --keep fastest --write",
        severity=Severity.ERROR,
    )
