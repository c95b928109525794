"""Is a problem legal for its signature, and can an instance run it: the integers and texts of problem_tables.py."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from operator import attrgetter

from ckgen.families.common.order import MOST_UNORDERED
from ckgen.families.common.problem_finding import ProblemFinding
from ckgen.families.common.problem_tables import SIGNATURE_RULES
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.selection import NO_WISHES, Wishes
from ckgen.model.tuned_row import Shape


class Demand(Enum):
    """What a size must satisfy; MULTIPLE_OF_BITS counts bits of B's elements, MULTIPLE_OF_SCALE_K scale blocks."""

    AT_LEAST = "at_least"
    AT_MOST = "at_most"
    MULTIPLE_OF = "multiple_of"
    MULTIPLE_OF_BITS = "multiple_of_bits"
    MULTIPLE_OF_SCALE_K = "multiple_of_scale_k"


@dataclass(frozen=True, slots=True)
class SignatureRule:
    """A demand on one size of every problem whose signature has the fields of `when`."""

    id: str
    size: str
    test: Demand
    value: int
    when: Mapping[str, object]

    def applies(self, signature: GemmSignature) -> bool:
        """Whether the signature has the rule's fields."""
        return all(_plain(getattr(signature, field)) == wanted for field, wanted in self.when.items())

    def limit(self, signature: GemmSignature) -> int:
        """The number that the size is held against, in elements."""
        match self.test:
            case Demand.MULTIPLE_OF_BITS:
                return self.value // signature.b.bits
            case Demand.MULTIPLE_OF_SCALE_K:
                return self.value * signature.scale_block.k
        return self.value


@dataclass(frozen=True, slots=True)
class RoutedConstraints:
    """What instances of op moe may ask beside Constraints; 0 asks nothing.

    `max_routed` is the most routed rows, tokens · top_k; with fewer than `few_experts` experts it is `max_routed_few`.
    `max_weights` is the most elements of one product's weights, of all experts; with it goes a max_ab. `presorted`:
    only tokens that the caller sorted.
    """

    min_n: int = 0
    max_n: int = 0
    max_k: int = 0
    max_routed: int = 0
    few_experts: int = 0
    max_routed_few: int = 0
    presorted: bool = False
    max_weights: int = 0


NOT_ROUTED = RoutedConstraints()


@dataclass(frozen=True, slots=True)
class Constraints:
    """What a problem must satisfy for an instance, as integers; 0 asks nothing.

    `k_multiple_per_split`: with k_batch over 1, K is a multiple of k_batch times that, and K // k_batch is at least
    `min_k`. `split_grain`: K may also be cut into parts of whole grains, all equal but the last, which may be shorter
    but not empty. One main loop runs them all. Of a part's tiles (`k_multiple_per_split` each, rounded up)
    `split_lead` + 1 are outside of it, and a turn takes `split_turn`; the last part may not leave more tiles over than
    the first. Without `k_multiple_per_split`, any parts do whose first has at least `min_k`.

    `max_ab`, `max_c`: the most elements that A and B, and that C may have. `max_m`, `min_m`: the largest and the least
    M. `measured_only`: as a default the instance answers nothing. `routed`: not empty for some instances of op moe.
    """

    m_multiple: int = 0
    n_multiple: int = 0
    k_multiple: int = 0
    k_multiple_per_split: int = 0
    min_k: int = 0
    max_k_batch: int = 1
    atomic_split: bool = False
    split_grain: int = 0
    max_ab: int = 0
    max_c: int = 0
    split_turn: int = 0
    split_lead: int = 0
    max_m: int = 0
    min_m: int = 0
    measured_only: bool = False
    routed: RoutedConstraints = NOT_ROUTED


Limits = tuple[tuple[str, Callable[[Shape], int], Callable[[int, int], bool], int], ...]
"""A signature's rules, ready to evaluate: id, the size, whether it holds, the limit."""


def check(signature: GemmSignature, shape: Shape) -> ProblemFinding | None:
    """The first rule that makes the problem illegal; None for a legal one."""
    return first_broken(limits_of(signature), shape)


def first_broken(limits: Limits, shape: Shape) -> ProblemFinding | None:
    """The same for many shapes of one signature."""
    for rule, size_of, holds, limit in limits:
        size = size_of(shape)
        if not holds(size, limit):
            return ProblemFinding(rule, size, limit)
    return None


def supports(constraints: Constraints, shape: Shape, k_batch: int, wishes: Wishes = NO_WISHES) -> ProblemFinding | None:
    """The first demand of an instance that a legal problem fails; None if it can run. `k_batch` 0 counts as 1."""
    splits = max(k_batch, 1)
    largest_ab, c = max(shape.m, shape.n) * shape.k, shape.m * shape.n
    if (finding := beyond_limits(constraints, (shape.m, shape.m), largest_ab, c)) is not None:
        return finding
    for axis, size, multiple in (
        ("m", shape.m, constraints.m_multiple),
        ("n", shape.n, constraints.n_multiple),
        ("k", shape.k, constraints.k_multiple),
    ):
        if multiple and size % multiple:
            return ProblemFinding(f"gemm.instance.{axis}-multiple", size, multiple)
    if (finding := beyond_splits(constraints, splits, wishes)) is not None:
        return finding
    whole = splits * constraints.k_multiple_per_split
    if splits > 1 and whole and shape.k % whole and not _splits_alike(constraints, shape.k, splits):
        return ProblemFinding("gemm.instance.split-multiple", shape.k, whole)
    split_k = shape.k // splits
    if splits > 1 and constraints.split_grain and not whole:
        split_k = _first_split(constraints, shape.k, splits)
        if split_k * (splits - 1) >= shape.k:
            return ProblemFinding("gemm.instance.empty-split", shape.k, split_k * (splits - 1))
    if split_k < constraints.min_k:
        return ProblemFinding("gemm.instance.min-k", split_k, constraints.min_k)
    return None


def beyond_limits(constraints: Constraints, m: tuple[int, int], largest_ab: int, c: int) -> ProblemFinding | None:
    """The first limit that is not kept: the least and the most rows, elements of A or B and of C."""
    least_m, most_m = m
    if least_m < constraints.min_m:
        return ProblemFinding("gemm.instance.min-m", least_m, constraints.min_m)
    if constraints.max_m and most_m > constraints.max_m:
        return ProblemFinding("gemm.instance.max-m", most_m, constraints.max_m)
    for elements, most in ((largest_ab, constraints.max_ab), (c, constraints.max_c)):
        if most and elements > most:
            return ProblemFinding("gemm.instance.matrix-size", elements, most)
    return None


def beyond_splits(constraints: Constraints, splits: int, wishes: Wishes) -> ProblemFinding | None:
    """Whether K is split more often than the instance does, or otherwise than is asked for."""
    if splits > constraints.max_k_batch:
        return ProblemFinding("gemm.instance.max-k-batch", splits, constraints.max_k_batch)
    if splits > MOST_UNORDERED and constraints.atomic_split and wishes.deterministic:
        return ProblemFinding("gemm.instance.atomic-split", splits, MOST_UNORDERED)
    return None


def _splits_alike(constraints: Constraints, k: int, splits: int) -> bool:
    step = constraints.k_multiple_per_split
    if not constraints.split_grain:
        return False
    first = _first_split(constraints, k, splits)
    last = k - first * (splits - 1)
    rests = [-(-part // step) - constraints.split_lead - 1 for part in (first, last)]
    return last > 0 and (rests[1] < 0 or rests[1] % constraints.split_turn <= rests[0] % constraints.split_turn)


def _first_split(constraints: Constraints, k: int, splits: int) -> int:
    return -(-k // (splits * constraints.split_grain)) * constraints.split_grain


@cache
def signature_rules() -> tuple[SignatureRule, ...]:
    """The rules that `check` walks, in order."""
    return tuple(
        SignatureRule(rule, size, Demand(demand), value, when) for rule, size, demand, value, when in SIGNATURE_RULES
    )


@cache
def limits_of(signature: GemmSignature) -> Limits:
    """The rules that hold for a signature's problems, in order."""
    return tuple(
        (rule.id, attrgetter(rule.size), _HOLDS[rule.test], rule.limit(signature))
        for rule in signature_rules()
        if rule.applies(signature)
    )


def _plain(value: object) -> object:
    return value.value if isinstance(value, Enum) else value


def _is_multiple(size: int, of: int) -> bool:
    return size % of == 0


_HOLDS: Mapping[Demand, Callable[[int, int], bool]] = {
    Demand.AT_LEAST: operator.ge,
    Demand.AT_MOST: operator.le,
    Demand.MULTIPLE_OF: _is_multiple,
    Demand.MULTIPLE_OF_BITS: _is_multiple,
    Demand.MULTIPLE_OF_SCALE_K: _is_multiple,
}
