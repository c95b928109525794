"""Kernels that no table row names: the shipped defaults, the leaves of decision rules, users' kernel sets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from ckgen.families.common.decision_rule import DecisionRule, Leaf, in_order
from ckgen.families.common.set_document import AnyCandidate
from ckgen.families.common.signature import Signature, of_flavour
from ckgen.families.kernel_sets import SHIPPED, read_kernel_set, shipped_name, shipped_set
from ckgen.families.registry import FAMILIES, family_of
from ckgen.families.rules import judge
from ckgen.model.arch import ArchKind, ArchSpec, levels_of
from ckgen.model.diagnostic import Diagnostic, Severity
from ckgen.model.dtype import Fp8Flavour
from ckgen.model.errors import InputError
from ckgen.model.finding import RuleFinding
from ckgen.model.target import Target
from ckgen.plan.filters import Filters
from ckgen.plan.legal import Kernel, Offer, Offers
from ckgen.plan.profile import HEURISTICS, Admission, Profile, admission, admitting, clauses_about, named_sources

DEFAULT = SHIPPED[0]
NOTHING_LEFT = "K009"
"""The code of what is said of a set that has no kernel for the targets."""
"""Of a kernel that no set's file names."""


Defaults = Mapping[str, tuple[Kernel, ...]]
"""The kernels of one signature that answer where no table does, per arch in order of preference."""


@dataclass(frozen=True, slots=True)
class SignatureHeuristic:
    """A decision rule and the kernels of its leaves, in order; None where nothing of a leaf is built."""

    rule: DecisionRule
    leaves: tuple[Kernel | None, ...]


@dataclass(slots=True)
class Profiled:
    """The profiles, and how many kernels they left out so far, by source."""

    profiles: tuple[Profile, ...] = ()
    left_out: Counter[str] = field(default_factory=Counter)


def kernel_defaults(
    offers: Offers,
    sets: Sequence[Path],
    profiled: Profiled,
    ops: Iterable[str],
    by_name: Sequence[Signature] = (),
    *,
    searched: bool = False,
) -> tuple[dict[Any, Defaults], tuple[Diagnostic, ...]]:
    """By signature the shipped defaults of these ops and, after them, the users' own kernels; and what is wrong.

    Signatures that every library answers, and those asked for `by_name`, have a robust kernel where no shipped set has
    any.

    Sets that profiles name are read too, of the families that ask for it. Of a user's set counts what has signatures of
    the kinds that these ops have; one that gives nothing is an error, but for a shipped one where sets are `searched`
    for kernels that are named. A shipped set of several ops is one set.
    """
    gathered = _Gathered(profiled)
    findings: list[Diagnostic] = []
    families = [FAMILIES[op] for op in FAMILIES if op in ops]
    kinds = {family.signature_type for family in families}
    for family in families:
        named = named_sources(profiled.profiles, family) if family.reads_named_sets else ()
        for name in SHIPPED:
            if name == DEFAULT or name in named:
                gathered.add(offers.of(shipped_set(name, family.name)), asked=name == DEFAULT)
    for family in families:
        of_family = [signature for signature in by_name if family_of(signature) is family]
        gathered.add_robust(offers, (*family.answered, *of_family))
    fruitful: set[str] = set()
    empty: dict[str, Diagnostic] = {}
    for path in sets:
        try:
            candidates = read_kernel_set(path)
        except InputError as error:
            findings += error.diagnostics
            continue
        rejected = gathered.add(offer for offer in offers.of(candidates) if type(offer.signature) in kinds)
        name, ours = shipped_name(path) or str(path), [one for one in candidates if type(one.signature) in kinds]
        if rejected is None:
            fruitful.add(name)
        elif ours:
            empty.setdefault(name, _yields_nothing(path, ours, rejected))
    excused = fruitful | {*SHIPPED} if searched else fruitful
    findings += (finding for name, finding in empty.items() if name not in excused)
    return gathered.needed(), tuple(findings)


def heuristics_for(
    signature: Signature,
    module: str,
    targets: Sequence[Target],
    archs: Mapping[str, ArchSpec],
    filters: Filters,
    profiled: Profiled,
    defaults: Defaults,
) -> tuple[SignatureHeuristic, ...]:
    """The decision rules of the signature or its module on the requested archs, with the kernel of every leaf.

    One serves a signature that all of these kernels are legal for, or has all of them as `defaults` where its family
    says that rules choose among these. What filters and profiles leave out gives way to the next choice of its leaf.
    Those of single products are there where one of these or no product is asked for, and come first.
    """
    found = []
    asked = sorted({target.gfx for target in targets})
    for rule in (rule for arch in asked for rule in _rules_of(signature, module, arch)):
        arch = rule.arch
        if not any(map(rule.concerns, targets)) or not of_flavour(signature, archs[arch].fp8_flavour):
            continue
        kernels = _choices(rule, signature)
        leaves = [kernels[leaf] for leaf in rule.leaves]
        if family_of(signature).rules_choose_defaults and not {*leaves} <= {*defaults.get(arch, ())}:
            continue
        if not _are_legal(rule, signature, archs[arch]):
            continue

        def is_kept(choice: Leaf, kernels: Mapping[Leaf, Kernel] = kernels) -> bool:
            one = kernels[choice]
            if filters.why_left_out((signature,), one.config, one.table_kernel) is not None:
                return False
            return bool(admission(profiled.profiles, signature, one.config, HEURISTICS))

        chosen = rule.among(is_kept)
        profiled.left_out[HEURISTICS] += sum(
            not admission(profiled.profiles, signature, one.config, HEURISTICS) for one in dict.fromkeys(leaves)
        )
        if any(chosen):
            built = tuple(kernels[one] if one is not None else None for one in chosen)
            found.append(SignatureHeuristic(rule.choosing(chosen), built))
    return tuple(found)


def _rules_of(signature: Signature, module: str, arch: str) -> tuple[DecisionRule, ...]:
    """Of a product the signature's own in place of its module's."""
    family = family_of(signature)
    subjects = family.ruled_module(signature, module), signature.canonical()
    return in_order({rule.sku: rule for subject in subjects for rule in family.rules(subject, arch)}.values())


@cache
def _choices(rule: DecisionRule, signature: Any) -> Mapping[Leaf, Kernel]:
    """The kernel of every choice of the rule's leaves."""
    return {choice: _kernel_of(rule, choice, signature) for choice in rule.every_choice}


@cache
def _are_legal(rule: DecisionRule, signature: Any, arch: ArchSpec) -> bool:
    """Whether all choices are, for the signature on the arch."""
    kernels = _choices(rule, signature).values()
    return not any(judge(signature, one.config, one.backend, arch) for one in kernels)


def _kernel_of(rule: DecisionRule, leaf: Leaf, signature: Signature) -> Kernel:
    family = family_of(signature)
    kernel = family.leaf(rule, leaf, signature)
    if kernel is None:
        raise ValueError(f"the rule of {rule.module} on {rule.arch}: '{leaf.kernel}' does not parse")
    is_named = not family.rules_choose_defaults and rule.module != signature.canonical()
    return Kernel(kernel.config, leaf.kernel if is_named else "", (rule.arch,))


@dataclass(slots=True)
class _Kept:
    """The set that asked first for a kernel, and whether it may give way to one that takes its problems."""

    source: str
    admission: Admission


_Kernels = dict[Kernel, _Kept]


@dataclass(slots=True)
class _Gathered:
    """By signature and arch, the kernels in order of preference."""

    profiled: Profiled
    found: dict[Any, dict[str, _Kernels]] = field(default_factory=dict)

    def add(self, offers: Iterable[Offer], *, asked: bool = True) -> list[RuleFinding] | None:
        """Adds what is legal on the archs; the findings that refused all of it, None where anything was legal.

        Of a set that nobody `asked` for but profiles, what they leave out is not looked at.
        """
        rejected: list[RuleFinding] = []
        is_fruitful = False
        for offer in offers:
            clauses = clauses_about(self.profiled.profiles, offer.signature, offer.source)
            if not asked and not clauses:
                continue
            kept: _Kernels | None = None
            admitted_of = admitting(clauses, offer.signature)
            for one in offer.kernels:
                admitted = admitted_of(one.config)
                if admitted is Admission.OUT and not asked:
                    continue
                if findings := one.findings:
                    rejected += findings
                    continue
                is_fruitful = True
                if admitted is Admission.OUT:
                    self.profiled.left_out[offer.source] += 1
                    continue
                if kept is None:
                    kept = self.found.setdefault(offer.signature, {}).setdefault(offer.arch, {})
                known = kept.get(one.kernel)
                if known is None:
                    kept[one.kernel] = _Kept(offer.source, admitted)
                else:
                    known.admission = max(known.admission, admitted)
        return None if is_fruitful else rejected

    def add_robust(self, offers: Offers, signatures: Iterable[Signature]) -> None:
        """Adds the robust kernel of each signature on each arch that has none so far and can have it."""
        for signature in signatures:
            for arch in offers.archs:
                for resolved in _flavours(signature, arch):
                    if not self._answers(resolved, arch.name):
                        self.add([offers.robust(resolved, arch, DEFAULT)])

    def _answers(self, signature: Signature, arch: str) -> bool:
        return any(self.found.get(signature, {}).get(level) for level in levels_of(arch))

    def needed(self) -> dict[Any, Defaults]:
        """By signature and arch what is kept, in order of preference."""
        return {
            signature: {arch: self._needed(signature, kernels) for arch, kernels in sorted(by_arch.items())}
            for signature, by_arch in self.found.items()
        }

    def _needed(self, signature: Signature, kernels: _Kernels) -> tuple[Kernel, ...]:
        """All that are kept as they are, and of the others those that no other of them replaces."""
        giving = [kernel for kernel, kept in kernels.items() if kept.admission is Admission.COVER]
        covering = family_of(signature).covering(signature, [kernel.config for kernel in giving]) if giving else ()
        needed = {giving[at] for at in covering}
        for kernel in giving:
            self.profiled.left_out[kernels[kernel].source] += kernel not in needed
        return tuple(kernel for kernel, kept in kernels.items() if kept.admission is Admission.IN or kernel in needed)


def _flavours(signature: Signature, arch: ArchSpec) -> tuple[Signature, ...]:
    """The signature with plain 8-bit floats as the arch has them; a CPU has both flavours."""
    flavours = (arch.fp8_flavour,) if arch.kind is ArchKind.GPU else tuple(Fp8Flavour)
    return tuple(dict.fromkeys(signature.resolved(flavour) for flavour in flavours))


def _yields_nothing(path: Path, candidates: Sequence[AnyCandidate], rejected: Iterable[RuleFinding]) -> Diagnostic:
    reasons = tuple(dict.fromkeys(str(finding) for finding in rejected))
    return Diagnostic(
        NOTHING_LEFT,
        f"none of the {len(candidates)} kernels of this set is valid on the requested targets",
        candidates[0].location,
        detail=reasons[:8] or ("its targets and backends fit none of --targets",),
        hint=f"see `ckgen list rules`; the set is {path}",
        severity=Severity.ERROR,
    )
