"""What grouped GEMM and MoE add to problem_rules: a problem of many sizes is legal, and an instance can run it, where
that holds for each of them. The integers of dispatcher_cpp/src/grouped_gemm/rules.hpp and moe/rules.hpp.
"""

from __future__ import annotations

from ckgen.families.common.problem_finding import ProblemFinding
from ckgen.families.gemm.enums import MoePart
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.problem_rules import Constraints, RoutedConstraints, check, signature_rules, supports
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.groups import Groups, GroupSize, Routing
from ckgen.model.selection import NO_WISHES, Wishes
from ckgen.model.tuned_row import Shape

MOST_SLOTS = 255
MOST_TOKENS = 2**24 - 1
_MOST_ENTRIES = 2**31 - 1


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


def check_routing(signature: GemmSignature, shape: Shape, routing: Routing) -> ProblemFinding | None:
    """The first rule that makes an MoE problem illegal; `shape` is as in ckgen/moe.hpp, its batch is not looked at."""
    sizes = Shape(0, shape.m, shape.n, shape.k)
    turned = Shape(0, shape.m, shape.k, shape.n)  # what gate_up writes is what down reads
    finding = check(signature, sizes)
    if finding is None and signature.moe.part is MoePart.LAYER:
        finding = check(signature, turned)
    if finding is not None:
        return finding
    if routing.experts < 1:
        return ProblemFinding("moe.experts", routing.experts, 1)
    if routing.top_k < 1:
        return ProblemFinding("moe.top-k", routing.top_k, 1)
    slots = min(routing.experts, MOST_SLOTS)
    if routing.top_k > slots:
        return ProblemFinding("moe.top-k-max", routing.top_k, slots)
    return ProblemFinding("moe.tokens-max", shape.m, MOST_TOKENS) if shape.m > MOST_TOKENS else None


def supports_groups(
    constraints: Constraints, groups: Groups, k_batch: int, wishes: Wishes = NO_WISHES
) -> ProblemFinding | None:
    """As `supports`, for each group. Splits of K must be even in every group."""
    splits, divisor = max(k_batch, 1), groups.divisor
    for axis, multiple in (("m", constraints.m_multiple), ("n", constraints.n_multiple), ("k", constraints.k_multiple)):
        if multiple <= 1 or getattr(divisor, axis) % multiple == 0:
            continue
        if axis == "m" and groups.are_on_device:
            return ProblemFinding("grouped.m-unknown", groups.largest.m, multiple)
        return ProblemFinding(f"gemm.instance.{axis}-multiple", _first_off(groups, axis, multiple), multiple)
    if constraints.max_m and groups.largest.m > constraints.max_m:
        return ProblemFinding("gemm.instance.max-m", groups.largest.m, constraints.max_m)
    for elements, most in (
        (max(groups.largest_a, groups.largest_b), constraints.max_ab),
        (groups.largest_c, constraints.max_c),
    ):
        if most and elements > most:
            return ProblemFinding("gemm.instance.matrix-size", elements, most)
    if splits > constraints.max_k_batch:
        return ProblemFinding("gemm.instance.max-k-batch", splits, constraints.max_k_batch)
    if splits > 1 and constraints.atomic_split and wishes.deterministic:
        return ProblemFinding("gemm.instance.atomic-split", splits, 1)
    whole = splits * max(constraints.k_multiple_per_split, constraints.split_grain) if splits > 1 else 0
    if whole > 1 and divisor.k % whole:
        return ProblemFinding("gemm.instance.split-multiple", _first_off(groups, "k", whole), whole)
    split_k = groups.smallest.k // splits
    return ProblemFinding("gemm.instance.min-k", split_k, constraints.min_k) if split_k < constraints.min_k else None


def supports_routing(
    instance: Instance, shape: Shape, routing: Routing, block_m: int, k_batch: int, wishes: Wishes = NO_WISHES
) -> ProblemFinding | None:
    """As `supports`, and what the routing asks; `block_m` is the one that the tokens are sorted with, 0 for any."""
    sizes = Shape(0, shape.m, shape.n, shape.k)
    finding = supports(instance.constraints, sizes, k_batch, wishes)
    if finding is not None:
        return finding
    constraints, moe = instance.constraints, instance.signature.moe
    finding = supports_routed(constraints.routed, sizes, routing.experts, moe.gated)
    if finding is not None:
        return finding
    slots = shape.m * routing.top_k  # rows of A of down, of C of gate_up
    if constraints.max_ab and moe.part is MoePart.DOWN and slots * shape.k > constraints.max_ab:
        return ProblemFinding("gemm.instance.matrix-size", slots * shape.k, constraints.max_ab)
    if constraints.max_c and moe.part is MoePart.GATE_UP and slots * shape.n > constraints.max_c:
        return ProblemFinding("gemm.instance.matrix-size", slots * shape.n, constraints.max_c)
    own = instance.config.macro_tile.m
    if block_m not in (0, own):
        return ProblemFinding("moe.block-m", block_m, own)
    if block_m == 0 and constraints.routed.presorted:
        return ProblemFinding("moe.presorted", 0, own)
    if sorted_capacity(shape.m, routing, own) is None:
        return ProblemFinding("moe.sorted-rows", slots, own)
    atomic = constraints.atomic_split and moe.part is not MoePart.GATE_UP
    return ProblemFinding("moe.atomic", routing.top_k, 1) if atomic and wishes.deterministic else None


def supports_routed(asked: RoutedConstraints, shape: Shape, experts: int, gated: bool) -> ProblemFinding | None:
    """What RoutedConstraints ask of sizes that Constraints take."""
    if shape.n < asked.min_n:
        return ProblemFinding("moe.n-min", shape.n, asked.min_n)
    if asked.max_n and shape.n > asked.max_n:
        return ProblemFinding("moe.n-max", shape.n, asked.max_n)
    if asked.max_k and shape.k > asked.max_k:
        return ProblemFinding("moe.k-max", shape.k, asked.max_k)
    if experts < asked.few_experts and shape.m > asked.max_m_few:
        return ProblemFinding("moe.few-experts", shape.m, asked.max_m_few)
    weights = experts * (2 if gated else 1) * shape.n * shape.k if asked.max_weights else 0
    return ProblemFinding("moe.weights", weights, asked.max_weights) if weights > asked.max_weights else None


def sorted_capacity(tokens: int, routing: Routing, block_m: int) -> int | None:
    """Entries that sorted tokens of a legal problem need room for; None where 32 bits do not count them."""
    rows = tokens * routing.top_k
    busy = min(routing.experts, rows)  # most blocks begin where each expert has a row of its own in one
    entries = (busy + (rows - busy) // block_m) * block_m
    return entries if entries <= _MOST_ENTRIES else None


def alike_groups(groups: Groups) -> Shape:
    """The batch of GEMMs that costs what the groups do, as if they were alike."""
    busy, largest = max(groups.busy, 1), groups.largest
    return Shape(busy, -(-groups.rows // busy), largest.n, largest.k)


def alike_experts(signature: GemmSignature, shape: Shape, routing: Routing) -> Shape:
    """The batch of GEMMs that costs what the routed tokens do, as if experts were evenly busy."""
    rows = shape.m * routing.top_k
    busy = max(min(rows, routing.experts), 1)
    return Shape(busy, -(-rows // busy), shape.n * (2 if signature.moe.gated else 1), shape.k)


def _shape(size: GroupSize) -> Shape:
    return Shape(0, size.m, size.n, size.k)


def _first_off(groups: Groups, axis: str, multiple: int) -> int:
    """The first size of a group that does something and is no multiple; on the device the one that all have."""
    sizes = () if groups.are_on_device else groups.sizes
    found = (getattr(size, axis) for size in sizes if size.is_busy and getattr(size, axis) % multiple)
    first: int = next(found, getattr(groups.largest, axis))
    return first
