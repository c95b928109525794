"""What experts add to the rules of a GEMM: the routing's, those of the tokens' order, and of both products of a layer.

The integers of dispatcher_cpp/src/moe/rules.hpp.
"""

from __future__ import annotations

from ckgen.families.common.problem_finding import ProblemFinding
from ckgen.families.gemm.enums import MoePart
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.problem_rules import RoutedConstraints, check, supports
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.groups import Routing
from ckgen.model.selection import NO_WISHES, Wishes
from ckgen.model.tuned_row import Shape

MOST_SLOTS = 255
MOST_TOKENS = 2**24 - 1
_MOST_ENTRIES = 2**31 - 1


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


def supports_routing(
    instance: Instance, shape: Shape, routing: Routing, block_m: int, k_batch: int, wishes: Wishes = NO_WISHES
) -> ProblemFinding | None:
    """As `supports`, and what the routing asks; `block_m` is the one that the tokens are sorted with, 0 for any."""
    sizes = Shape(0, shape.m, shape.n, shape.k)
    finding = supports(instance.constraints, sizes, k_batch, wishes)
    if finding is not None:
        return finding
    constraints, moe = instance.constraints, instance.signature.moe
    finding = supports_routed(constraints.routed, sizes, routing, moe.gated)
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


def supports_routed(asked: RoutedConstraints, shape: Shape, routing: Routing, gated: bool) -> ProblemFinding | None:
    """What RoutedConstraints ask of sizes that Constraints take."""
    if shape.n < asked.min_n:
        return ProblemFinding("moe.n-min", shape.n, asked.min_n)
    if asked.max_n and shape.n > asked.max_n:
        return ProblemFinding("moe.n-max", shape.n, asked.max_n)
    if asked.max_k and shape.k > asked.max_k:
        return ProblemFinding("moe.k-max", shape.k, asked.max_k)
    routed = shape.m * routing.top_k
    if asked.max_routed and routed > asked.max_routed:
        return ProblemFinding("moe.routed-max", routed, asked.max_routed)
    if routing.experts < asked.few_experts and routed > asked.max_routed_few:
        return ProblemFinding("moe.few-experts", routed, asked.max_routed_few)
    weights = routing.experts * (2 if gated else 1) * shape.n * shape.k if asked.max_weights else 0
    return ProblemFinding("moe.weights", weights, asked.max_weights) if weights > asked.max_weights else None


def sorted_capacity(tokens: int, routing: Routing, block_m: int) -> int | None:
    """Entries that sorted tokens of a legal problem need room for; None where 32 bits do not count them."""
    rows = tokens * routing.top_k
    busy = min(routing.experts, rows)  # most blocks begin where each expert has a row of its own in one
    entries = (busy + (rows - busy) // block_m) * block_m
    return entries if entries <= _MOST_ENTRIES else None


def alike_experts(signature: GemmSignature, shape: Shape, routing: Routing) -> Shape:
    """The batch of GEMMs that costs what the routed tokens do, as if experts were evenly busy."""
    rows = shape.m * routing.top_k
    busy = max(min(rows, routing.experts), 1)
    return Shape(busy, -(-rows // busy), shape.n * (2 if signature.moe.gated else 1), shape.k)
