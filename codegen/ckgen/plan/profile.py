"""Profiles: named filters over signatures, backends and where a kernel comes from; several together are their union."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from ckgen.families.common.naming import instance_name
from ckgen.families.common.signature import Signature
from ckgen.families.registry import AnyFamily, family_of
from ckgen.model.arch import CPU_LEVELS
from ckgen.model.backend import Backend
from ckgen.model.config import Config
from ckgen.model.dtype import DType, Fp8Flavour

TABLES = "tables"
"""The source of kernels that rows of tuning tables select."""
HEURISTICS = "heuristics"
"""The source of kernels that the arms of decision rules name."""

Asked = tuple[tuple[str, frozenset[str]], ...]
"""Names that a family has words for, each with the words that it may have."""


class Admission(IntEnum):
    """OUT: left out. COVER: kept unless another kernel takes all of its problems. IN: kept."""

    OUT = 0
    COVER = 1
    IN = 2


@dataclass(frozen=True, slots=True)
class Clause:
    """All that is named must fit; None names nothing.

    `asked` is what a clause asks of kernels, by the `profile_key` of the families that have the words: it is about
    those families alone, or about all where it is empty. `sources` are TABLES, HEURISTICS and names of kernel sets.
    `cover` keeps of the kernels of a signature on an arch only what it needs. `without` are names of instances that do
    not fit. `batch_invariant` are kernels with an order of additions: what problems with that wish may take.
    """

    asked: Mapping[str, Asked] = field(default_factory=dict)
    backends: frozenset[Backend] | None = None
    sources: frozenset[str] | None = None
    cover: bool = False
    without: frozenset[str] = frozenset()
    batch_invariant: bool = False

    def names_backend(self, backend: Backend) -> bool:
        """Whether kernels of the backend are meant."""
        return self.backends is None or backend in self.backends

    def is_about(self, family: AnyFamily, signature: Signature, source: str) -> bool:
        """Whether the signature fits and kernels of that source are meant."""
        if self.sources is not None and source not in self.sources:
            return False
        if not self.asked:
            return True
        asked = self.asked.get(family.profile_key)
        return asked is not None and all(
            name in family.config_words or family.signature_word(signature, name) in words for name, words in asked
        )

    def takes(self, family: AnyFamily, signature: Signature, config: Config) -> bool:
        """Whether one of the kernels of a signature that it is about fits."""
        if not self.names_backend(config.backend):
            return False
        for name, words in self.asked.get(family.profile_key, ()):
            if name in family.config_words:
                word = family.config_word(signature, config, name)
                if word is not None and word not in words:
                    return False
        if self.batch_invariant and not has_order(family, signature, config):
            return False
        return not self.without or instance_name(signature, config.backend, config) not in self.without

    def asks_configs(self, family: AnyFamily) -> bool:
        """Whether more of a kernel than its backend decides."""
        return (
            bool(self.without)
            or self.batch_invariant
            or any(name in family.config_words for name, _ in self.asked.get(family.profile_key, ()))
        )


_ALL = (Clause(),)


def has_order(family: AnyFamily, signature: Signature, config: Config) -> bool:
    """Whether a kernel adds up in one order, whatever the rows, groups or requests; of a CPU's on any level."""
    return family.order_of(signature, config, CPU_LEVELS).numbers[0] != 0


@dataclass(frozen=True, slots=True)
class Profile:
    """What fits any of `keep` is kept."""

    name: str
    about: str
    keep: tuple[Clause, ...]


def clauses_about(profiles: Sequence[Profile], signature: Signature, source: str) -> tuple[Clause, ...]:
    """The clauses that are about kernels of a source and a signature; without profiles one for all."""
    if not profiles:
        return _ALL
    family = family_of(signature)
    clauses = (clause for profile in profiles for clause in profile.keep)
    return tuple(clause for clause in clauses if clause.is_about(family, signature, source))


def admitting(clauses: Sequence[Clause], signature: Signature) -> Callable[[Config], Admission]:
    """`admitted_by` for many kernels of a signature: asked once per backend where no clause asks more of a kernel."""
    family = family_of(signature)
    if any(clause.asks_configs(family) for clause in clauses):
        return lambda config: admitted_by(clauses, signature, config)
    known: dict[Backend, Admission] = {}

    def answer(config: Config) -> Admission:
        backend = config.backend
        if backend not in known:
            known[backend] = admitted_by(clauses, signature, config)
        return known[backend]

    return answer


def admitted_by(clauses: Iterable[Clause], signature: Signature, config: Config) -> Admission:
    """What the clauses that are about the signature say of one of its kernels."""
    family = family_of(signature)
    fitting = (clause for clause in clauses if clause.takes(family, signature, config))
    return max((Admission.COVER if clause.cover else Admission.IN for clause in fitting), default=Admission.OUT)


def admission(profiles: Sequence[Profile], signature: Signature, config: Config, source: str) -> Admission:
    """What the profiles together say of a kernel; without any it is in."""
    return admitted_by(clauses_about(profiles, signature, source), signature, config)


def admitted_backends(profiles: Sequence[Profile], signature: Signature, source: str) -> frozenset[Backend]:
    """The backends of which kernels of that source are kept for the signature."""
    clauses = clauses_about(profiles, signature, source)
    return frozenset(backend for backend in Backend if any(clause.names_backend(backend) for clause in clauses))


def named_sources(profiles: Sequence[Profile], family: AnyFamily) -> frozenset[str]:
    """The sources that clauses about the family's own words choose from."""
    clauses = (clause for profile in profiles for clause in profile.keep if family.profile_key in clause.asked)
    return frozenset(source for clause in clauses for source in clause.sources or ())


def dtypes_of(word: str) -> frozenset[str]:
    """The words that a dtype's word stands for: a plain `fp8` is of any flavour."""
    known = next((dtype for dtype in DType if dtype.value == word), None)
    flavours = (known.resolve(flavour).value for flavour in Fp8Flavour) if known is not None else ()
    return frozenset({word, *flavours})
