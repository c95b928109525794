"""What groups add to the rules of a GEMM: they are legal, and an instance can run them, where that holds for each.

The integers of dispatcher_cpp/src/grouped_gemm/rules.hpp.
"""

from __future__ import annotations

from ckgen.families.common.problem_finding import ProblemFinding
from ckgen.families.gemm.problem_rules import Constraints, beyond_limits, beyond_splits, check, signature_rules
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.groups import Groups, GroupSize
from ckgen.model.selection import NO_WISHES, Wishes
from ckgen.model.tuned_row import Shape


def check_groups(signature: GemmSignature, groups: Groups | None) -> ProblemFinding | None:
    """The first rule that makes the groups illegal for their signature; None for legal ones."""
    if groups is None:
        return ProblemFinding("grouped.no-groups", 0, 0)
    if not groups.is_valid:
        return ProblemFinding("grouped.sizes", 0, 0)
    finding = check(signature, _shape(groups.largest))
    if finding is not None:
        return finding
    finding = check(signature, _shape(groups.divisor))  # only multiples can be missed here
    if finding is None:
        return None
    axis = next(rule.size for rule in signature_rules() if rule.id == finding.rule)
    return ProblemFinding(finding.rule, _first_off(groups, axis, finding.limit), finding.limit)


def supports_groups(
    constraints: Constraints, groups: Groups, k_batch: int, wishes: Wishes = NO_WISHES
) -> ProblemFinding | None:
    """As `supports`, for each group. Splits of K must be even in every group."""
    splits, divisor = max(k_batch, 1), groups.divisor
    largest_ab = max(groups.largest_a, groups.largest_b)
    rows = groups.smallest.m, groups.largest.m
    if (finding := beyond_limits(constraints, rows, largest_ab, groups.largest_c)) is not None:
        return finding
    for axis, multiple in (("m", constraints.m_multiple), ("n", constraints.n_multiple), ("k", constraints.k_multiple)):
        if multiple <= 1 or getattr(divisor, axis) % multiple == 0:
            continue
        if axis == "m" and groups.are_on_device:
            return ProblemFinding("grouped.m-unknown", groups.largest.m, multiple)
        return ProblemFinding(f"gemm.instance.{axis}-multiple", _first_off(groups, axis, multiple), multiple)
    if (finding := beyond_splits(constraints, splits, wishes)) is not None:
        return finding
    whole = splits * max(constraints.k_multiple_per_split, constraints.split_grain) if splits > 1 else 0
    if whole > 1 and divisor.k % whole:
        return ProblemFinding("gemm.instance.split-multiple", _first_off(groups, "k", whole), whole)
    split_k = groups.smallest.k // splits
    return ProblemFinding("gemm.instance.min-k", split_k, constraints.min_k) if split_k < constraints.min_k else None


def alike_groups(groups: Groups) -> Shape:
    """The batch of GEMMs that costs what the groups do, as if they were alike."""
    busy, largest = max(groups.busy, 1), groups.largest
    return Shape(busy, -(-groups.rows // busy), largest.n, largest.k)


def _shape(size: GroupSize) -> Shape:
    return Shape(0, size.m, size.n, size.k)


def _first_off(groups: Groups, axis: str, multiple: int) -> int:
    """The first size of a group that does something and is no multiple; on the device the one that all have."""
    sizes = () if groups.are_on_device else groups.sizes
    found = (getattr(size, axis) for size in sizes if size.is_busy and getattr(size, axis) % multiple)
    first: int = next(found, getattr(groups.largest, axis))
    return first
