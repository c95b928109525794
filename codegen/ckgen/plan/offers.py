"""What kernel sets offer on the requested archs: rules judge each kernel once, however many profiles then choose."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby
from typing import Generic, Protocol, TypeVar

from ckgen.families.fmha.grammar import AnyFmhaConfig
from ckgen.families.fmha.kernel_set import FmhaCandidate
from ckgen.families.fmha.signature import FmhaSignature
from ckgen.families.gemm.config import GemmConfig
from ckgen.families.gemm.kernel_set import KernelCandidate
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.registry import Signature
from ckgen.families.rules import judge
from ckgen.model.arch import ArchKind, ArchSpec
from ckgen.model.backend import Backend
from ckgen.model.dtype import DType, Fp8Flavour
from ckgen.model.finding import Finding
from ckgen.plan.profile_fmha import signature_words


class Named(Protocol):
    """A Config, whose name is made when it is asked for."""

    def text(self) -> str:
        """The name."""
        ...


Keep = Callable[[Iterable[Signature], str | Named, Backend], str | None]
"""Why a kernel, by its name or its Config, is filtered out for all of these signatures, or None."""

K = TypeVar("K", KernelCandidate, FmhaCandidate)
S = TypeVar("S", GemmSignature, FmhaSignature)
C = TypeVar("C", GemmConfig, AnyFmhaConfig)


@dataclass(slots=True, eq=False)
class Offer(Generic[K, S, C]):
    """What a set's candidate is on one arch; `signature` has the arch's flavour. Not thread-safe."""

    candidate: K
    arch: ArchSpec
    signature: S
    config: C
    _findings: tuple[Finding, ...] | None = None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the rules have against it there."""
        if self._findings is None:
            self._findings = judge(self.signature, self.config, self.candidate.backend, self.arch)
        return self._findings


GemmOffer = Offer[KernelCandidate, GemmSignature, GemmConfig]
FmhaOffer = Offer[FmhaCandidate, FmhaSignature, AnyFmhaConfig]


@dataclass(slots=True, eq=False)
class GemmOffers:
    """What a set offers of one signature and backend on an arch. Not thread-safe."""

    signature: GemmSignature
    backend: Backend
    source: str
    arch: str
    offers: tuple[GemmOffer, ...]
    _valid: tuple[GemmOffer, ...] | None = None

    @property
    def valid(self) -> tuple[GemmOffer, ...]:
        """Those that the rules have nothing against."""
        if self._valid is None:
            self._valid = tuple(offer for offer in self.offers if not offer.findings)
        return self._valid


@dataclass(frozen=True, slots=True, eq=False)
class FmhaOffers:
    """What a set offers of a signature on one arch; `words` are those of the signature, as profiles name them."""

    signature: FmhaSignature
    source: str
    arch: str
    words: Mapping[str, str]
    offers: tuple[FmhaOffer, ...]


@dataclass(slots=True)
class Offers:
    """The offers of sets on `archs`, without what `keep` filters out, in the sets' order. Not thread-safe.

    Asked for a tuple of candidates again, it answers with the same offers.
    """

    archs: Sequence[ArchSpec]
    keep: Keep
    _gemm: dict[int, tuple[Sequence[KernelCandidate], tuple[GemmOffers, ...]]] = field(default_factory=dict)
    _fmha: dict[int, tuple[Sequence[FmhaCandidate], tuple[FmhaOffers, ...]]] = field(default_factory=dict)

    def gemm(self, candidates: tuple[KernelCandidate, ...]) -> tuple[GemmOffers, ...]:
        """Of kernels of GEMMs and what is made of them."""
        if id(candidates) not in self._gemm:
            self._gemm[id(candidates)] = candidates, tuple(self._of_gemm(candidates))
        return self._gemm[id(candidates)][1]

    def fmha(self, candidates: tuple[FmhaCandidate, ...]) -> tuple[FmhaOffers, ...]:
        """Of kernels of attention."""
        if id(candidates) not in self._fmha:
            self._fmha[id(candidates)] = candidates, tuple(self._of_fmha(candidates))
        return self._fmha[id(candidates)][1]

    def _of_gemm(self, candidates: Iterable[KernelCandidate]) -> Iterator[GemmOffers]:
        for (plain, backend, source), run in groupby(candidates, key=lambda c: (c.signature, c.backend, c.set_name)):
            alike = tuple(run)
            for arch in self.archs:
                signature = plain.resolved(arch.fp8_flavour)
                offers = tuple(
                    Offer(candidate, arch, signature, candidate.config)
                    for candidate in alike
                    if _concerns(candidate, arch)
                    and self.keep((signature,), candidate.table_kernel or candidate.config, backend) is None
                )
                if offers:
                    yield GemmOffers(signature, backend, source, arch.name, offers)

    def _of_fmha(self, candidates: Iterable[FmhaCandidate]) -> Iterator[FmhaOffers]:
        found: dict[tuple[FmhaSignature, str], list[FmhaOffer]] = {}
        for candidate in candidates:
            for arch in self.archs:
                if not _concerns(candidate, arch):
                    continue
                signature = candidate.signature.resolved(arch.fp8_flavour)
                found.setdefault((signature, arch.name), []).extend(
                    Offer(candidate, arch, signature, config)
                    for config in candidate.configs(arch.name)
                    if self.keep((signature,), config, candidate.backend) is None
                )
        for (signature, name), offers in found.items():
            words = signature_words(signature)
            for source, of_source in groupby(offers, key=lambda offer: offer.candidate.set_name):
                yield FmhaOffers(signature, source, name, words, tuple(of_source))


def of_flavour(signature: GemmSignature | FmhaSignature, flavour: Fp8Flavour | None) -> bool:
    """Whether the operands hold no 8-bit float of another flavour; a plain fp8 is of any."""
    others = _other_flavours(flavour)
    return signature.a not in others and signature.b not in others


@cache
def _other_flavours(flavour: Fp8Flavour | None) -> frozenset[DType]:
    others = [other for other in Fp8Flavour if other is not flavour]
    return frozenset(dtype.resolve(other) for dtype in (DType.FP8, DType.BF8) for other in others)


def _concerns(candidate: KernelCandidate | FmhaCandidate, arch: ArchSpec) -> bool:
    """Whether the candidate is asked for on the arch, and its fp8 is of the arch's flavour."""
    on_cpu = candidate.backend is Backend.HOST
    if not candidate.is_for(arch.name) or on_cpu != (arch.kind is ArchKind.CPU):
        return False
    return on_cpu or of_flavour(candidate.signature, arch.fp8_flavour)
