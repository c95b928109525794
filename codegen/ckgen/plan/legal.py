"""What kernel sets offer on the requested archs: rules judge each kernel once, whatever profiles and plans choose."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from ckgen.families.common.set_document import AnyCandidate, SetCandidate
from ckgen.families.common.signature import Signature, of_flavour
from ckgen.families.robust import robust
from ckgen.families.rules import judge
from ckgen.model.arch import ArchKind, ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.config import Config
from ckgen.model.diagnostic import Location
from ckgen.model.finding import RuleFinding
from ckgen.model.hash_once import HashOnce, hash_once
from ckgen.plan.filters import Filters

_NOWHERE = Location("")


@hash_once
@dataclass(frozen=True, slots=True)
class Kernel(HashOnce):
    """A kernel that must be built for one signature: what it is, under which table name, for which archs."""

    config: Config
    table_kernel: str
    archs: tuple[str, ...]

    @property
    def backend(self) -> Backend:
        """Its Config's."""
        return self.config.backend


@dataclass(slots=True, eq=False)
class LegalCandidate:
    """What a set's candidate is on one arch, if `findings` are none; `signature` has the arch's flavour.

    Threads may judge it at once, and find the same.
    """

    candidate: AnyCandidate
    arch: ArchSpec
    signature: Any
    config: Config
    _findings: tuple[RuleFinding, ...] | None = None
    _kernel: Kernel | None = None

    @property
    def kernel(self) -> Kernel:
        """What is built of it."""
        if self._kernel is None:
            self._kernel = Kernel(self.config, self.candidate.table_kernel, (self.arch.name,))
        return self._kernel

    @property
    def findings(self) -> tuple[RuleFinding, ...]:
        """What the rules have against it there."""
        if self._findings is None:
            self._findings = judge(self.signature, self.config, self.candidate.backend, self.arch)
        return self._findings


@dataclass(frozen=True, slots=True, eq=False)
class Offer:
    """The kernels of a set for one signature on one arch, in order of preference."""

    signature: Any
    source: str
    arch: str
    kernels: tuple[LegalCandidate, ...]


@dataclass(slots=True)
class Offers:
    """The offers of sets on `archs`, without what `filters` leave out, in the sets' order. Not thread-safe.

    Asked for a tuple of candidates again, or for robust kernels, it answers with the same offers.
    """

    archs: Sequence[ArchSpec]
    filters: Filters
    _known: dict[int, tuple[Sequence[AnyCandidate], tuple[Offer, ...]]] = field(default_factory=dict)
    _robust: dict[tuple[Any, str], Offer] = field(default_factory=dict)

    def of(self, candidates: tuple[AnyCandidate, ...]) -> tuple[Offer, ...]:
        """Those of a set."""
        if id(candidates) not in self._known:
            self._known[id(candidates)] = candidates, tuple(self._kept(_every_offer(candidates, tuple(self.archs))))
        return self._known[id(candidates)][1]

    def robust(self, signature: Signature, arch: ArchSpec, source: str) -> Offer:
        """The kernels of ckgen.families.robust for a signature of the arch's flavour, as of a set named `source`."""
        key = signature, arch.name
        if key not in self._robust:
            legal = (
                LegalCandidate(
                    SetCandidate(source, signature, config.backend, config, None, _NOWHERE), arch, signature, config
                )
                for config in robust(signature, arch.name).configs
                if self.filters.why_left_out((signature,), config) is None
            )
            self._robust[key] = Offer(signature, source, arch.name, tuple(legal))
        return self._robust[key]

    def _kept(self, offers: Iterable[Offer]) -> Iterator[Offer]:
        """What the filters leave of them."""
        if self.filters.keep_all:
            yield from offers
            return
        for offer in offers:
            kernels = tuple(
                one
                for one in offer.kernels
                if self.filters.why_left_out((offer.signature,), one.config, one.candidate.table_kernel) is None
            )
            if kernels:
                yield replace(offer, kernels=kernels)


_OFFERS: dict[tuple[int, tuple[ArchSpec, ...]], tuple[tuple[AnyCandidate, ...], tuple[Offer, ...]]] = {}
"""By the set itself, which is kept, so that no other has its id, and the archs."""


def _every_offer(candidates: tuple[AnyCandidate, ...], archs: tuple[ArchSpec, ...]) -> tuple[Offer, ...]:
    """The offers of a set, whatever filters leave out."""
    known = _OFFERS.get(key := (id(candidates), archs))
    if known is None:
        known = _OFFERS[key] = candidates, tuple(_offers(candidates, archs))
    return known[1]


def _offers(candidates: Iterable[AnyCandidate], archs: Sequence[ArchSpec]) -> Iterator[Offer]:
    found: dict[tuple[Signature, str], list[LegalCandidate]] = {}
    for candidate in candidates:
        for arch in archs:
            if _concerns(candidate, arch):
                signature = candidate.signature.resolved(arch.fp8_flavour)
                kernels = _kernels(candidate, arch, signature)
                found.setdefault((signature, arch.name), []).extend(kernels)
    for (signature, name), legal in found.items():
        for source, of_source in groupby(legal, key=lambda one: one.candidate.set_name):
            yield Offer(signature, source, name, tuple(of_source))


_KNOWN: dict[tuple[int, ArchSpec], tuple[LegalCandidate, ...]] = {}
"""By the candidate itself and the arch: sets that were read stay in memory, and so does what rules said of them."""


def _kernels(candidate: AnyCandidate, arch: ArchSpec, signature: Signature) -> tuple[LegalCandidate, ...]:
    """All that a candidate is on an arch, whose flavour `signature` has."""
    known = _KNOWN.get(key := (id(candidate), arch))
    if known is None:
        known = tuple(LegalCandidate(candidate, arch, signature, config) for config in candidate.configs(arch.name))
        if known:  # which keep the candidate, so that no other has its id
            _KNOWN[key] = known
    return known


def _concerns(candidate: AnyCandidate, arch: ArchSpec) -> bool:
    """Whether the candidate is asked for on the arch, and its fp8 is of the arch's flavour."""
    on_cpu = candidate.backend is Backend.HOST
    if not candidate.is_for(arch.name) or on_cpu != (arch.kind is ArchKind.CPU):
        return False
    return on_cpu or of_flavour(candidate.signature, arch.fp8_flavour)
