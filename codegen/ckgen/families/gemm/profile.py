"""What profiles may name of GEMMs, and which kernels replace others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import cache

from ckgen.families.common.profile_words import irreplaceable, legal_words
from ckgen.families.gemm.config import strategy_of
from ckgen.families.gemm.problem_rules import NOT_ROUTED, Constraints
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.config import Config

FIELDS = tuple(field.name for field in fields(GemmSignature))


@cache
def words(field: str) -> tuple[str, ...] | None:
    """The words that a field of a signature may have; None where they are not a list."""
    return legal_words(GemmSignature, field)


def covering(
    constraints: Sequence[Constraints], configs: Sequence[Config], is_alike: Callable[[Config, Config], bool]
) -> tuple[int, ...]:
    """Of these kernels, in order of preference, those that no other one replaces: together they take as much as all.

    Of kernels that take the same problems the first is kept. Problems without K splits, which defaults do not use;
    kernels that are not `is_alike` take others.
    """
    always = [is_always_feasible(config) for config in configs]

    def replaces(one: int, other: int) -> bool:
        return always[one] and is_alike(configs[one], configs[other]) and covers(constraints[one], constraints[other])

    return irreplaceable(len(configs), replaces)


def is_always_feasible(config: Config) -> bool:
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
        and wide.min_m <= narrow.min_m
        and wide.measured_only <= narrow.measured_only
        and wide.routed in (NOT_ROUTED, narrow.routed)
        and all(wider == 0 or 0 < narrower <= wider for wider, narrower in most)
    )
