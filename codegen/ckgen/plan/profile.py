"""Profiles: named filters over signatures, backends and where a kernel comes from; several together are their union."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from enum import IntEnum
from typing import Any

from ckgen.families.gemm.config import GemmConfig, strategy_of
from ckgen.families.gemm.constraints import constraints_of
from ckgen.families.gemm.enums import Op
from ckgen.families.gemm.problem_rules import NOT_ROUTED, Constraints
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.backend import Backend
from ckgen.model.dtype import DType, Fp8Flavour

TABLES = "tables"
"""The source of kernels that rows of tuning tables select."""
HEURISTICS = "heuristics"
"""The source of kernels that the arms of decision rules name."""


class Admission(IntEnum):
    """OUT: left out. COVER: kept unless another kernel takes all of its problems. IN: kept."""

    OUT = 0
    COVER = 1
    IN = 2


@dataclass(frozen=True, slots=True)
class Clause:
    """All that is named must fit; None and an empty `fields` name nothing.

    `fields` are a GemmSignature's fields, `fmha` those of attention (`fmha_names`), each with the words that it
    may have (`word_of`): a clause that names either is about that op alone. `sources` are TABLES, HEURISTICS and names
    of kernel sets. `cover` keeps of the kernels of a signature on an arch only what it needs.
    """

    fields: tuple[tuple[str, frozenset[str]], ...] = ()
    backends: frozenset[Backend] | None = None
    sources: frozenset[str] | None = None
    cover: bool = False
    fmha: tuple[tuple[str, frozenset[str]], ...] = ()

    def names_backend(self, backend: Backend) -> bool:
        """Whether kernels of the backend are meant."""
        return self.backends is None or backend in self.backends

    def names_source(self, source: str) -> bool:
        """Whether kernels of that source are meant."""
        return self.sources is None or source in self.sources

    def takes(self, signature: GemmSignature, source: str) -> bool:
        """Whether the signature fits and kernels of that source are meant."""
        if not self.names_source(source) or (self.fmha and not self.fields):
            return False
        return all(word_of(getattr(signature, name)) in words for name, words in self.fields)


@dataclass(frozen=True, slots=True)
class Profile:
    """What fits any of `keep` is kept."""

    name: str
    about: str
    keep: tuple[Clause, ...]


def admission(profiles: Sequence[Profile], signature: GemmSignature, backend: Backend, source: str) -> Admission:
    """What the profiles together say of a kernel; without any it is in."""
    if not profiles:
        return Admission.IN
    clauses = (clause for profile in profiles for clause in profile.keep)
    fitting = (clause for clause in clauses if clause.names_backend(backend) and clause.takes(signature, source))
    return max((Admission.COVER if clause.cover else Admission.IN for clause in fitting), default=Admission.OUT)


def admitted_backends(profiles: Sequence[Profile], signature: GemmSignature, source: str) -> frozenset[Backend]:
    """The backends whose kernels of that source are kept for the signature."""
    return frozenset(backend for backend in Backend if admission(profiles, signature, backend, source))


def word_of(value: Any) -> str:
    """A field's value as profiles write it: `true`, `false`, `none`, a Word's text; texts of tuples joined by `_`."""
    if value is None or value == ():
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    return "_".join(map(word_of, value)) if isinstance(value, tuple) else str(value)


def dtypes_of(word: str) -> frozenset[str]:
    """The words that a dtype's word stands for: a plain `fp8` is of any flavour."""
    known = next((dtype for dtype in DType if dtype.value == word), None)
    flavours = (known.resolve(flavour).value for flavour in Fp8Flavour) if known is not None else ()
    return frozenset({word, *flavours})


def covering(signature: GemmSignature, configs: Sequence[GemmConfig]) -> tuple[int, ...]:
    """Of these kernels, in order of preference, those that no other one replaces: together they take as much as all.

    Of kernels that take the same problems the first is kept. Problems without K splits, which defaults do not use; MoE
    kernels of another block_m take others.
    """
    asked = [constraints_of(signature, config) for config in configs]
    always = [is_always_feasible(config) for config in configs]
    blocks = [config.macro_tile.m if signature.op is Op.MOE else 0 for config in configs]

    def replaces(one: int, other: int) -> bool:
        return always[one] and blocks[one] == blocks[other] and covers(asked[one], asked[other])

    return irreplaceable(len(configs), replaces)


def irreplaceable(count: int, replaces: Callable[[int, int], bool]) -> tuple[int, ...]:
    """Of so many, those that no other one replaces; of two that replace each other the first."""

    def gives_way(at: int, other: int) -> bool:
        return other != at and replaces(other, at) and (other < at or not replaces(at, other))

    return tuple(at for at in range(count) if not any(gives_way(at, other) for other in range(count)))


def is_always_feasible(config: GemmConfig) -> bool:
    """Whether Constraints are all that is asked of a problem; stream-K also needs enough iterations for its grid."""
    return not strategy_of(config).is_stream_k


def covers(wide: Constraints, narrow: Constraints) -> bool:
    """Whether every problem that `narrow` takes unsplit, `wide` takes too; False also where that is not known."""
    multiples = (
        (wide.m_multiple, narrow.m_multiple),
        (wide.n_multiple, narrow.n_multiple),
        (wide.k_multiple, narrow.k_multiple),
    )
    most = ((wide.max_ab, narrow.max_ab), (wide.max_c, narrow.max_c), (wide.max_m, narrow.max_m))
    return (
        all(max(narrower, 1) % max(wider, 1) == 0 for wider, narrower in multiples)
        and wide.min_k <= narrow.min_k
        and wide.routed in (NOT_ROUTED, narrow.routed)
        and all(wider == 0 or 0 < narrower <= wider for wider, narrower in most)
    )


def field_names() -> tuple[str, ...]:
    """The Signature fields that a clause may name."""
    return tuple(field.name for field in fields(GemmSignature))
