"""Small random problems of one GPU kernel, for the emulator."""

from __future__ import annotations

from math import lcm
from random import Random

from ckgen.build.device_code import variants_of
from ckgen.families.common.device.unit import Use
from ckgen.families.gemm.enums import MoePart, Op
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.partition import runs
from ckgen.families.gemm.problem_rules import check
from ckgen.families.grouped_gemm.problem_rules import check_groups, supports_groups
from ckgen.families.moe.problem_rules import check_routing, supports_routing
from ckgen.fuzz.sizes import edge, rounded_up
from ckgen.model.groups import Groups, GroupSize, Routing
from ckgen.model.tuned_row import Shape
from ckgen_emulator.gemm.kernel import GemmKernel
from ckgen_emulator.gemm.problem import GemmProblem, data_of

TRIES = 200
"""Draws for one problem."""
_MOST_WORK = 1 << 21
_ROUTINGS = (Routing(1, 1), Routing(2, 1), Routing(3, 2), Routing(4, 4), Routing(8, 2))


def problem_of(random: Random, kernel: GemmKernel, cu_num: int) -> GemmProblem | None:
    """A legal problem that takes a variant which is compiled; None where no try gave one."""
    kinds = {Op.GROUPED_GEMM: _grouped, Op.MOE: _routed}
    drawn = kinds.get(kernel.instance.signature.op, _gemm)
    for _ in range(TRIES):
        problem = drawn(random, kernel, cu_num)
        if problem is not None:
            return problem
    return None


def _gemm(random: Random, kernel: GemmKernel, cu_num: int) -> GemmProblem | None:
    instance = kernel.instance
    shape, k_batch = _shape(random, instance), _splits(random, kernel)
    work = shape.m * shape.n * shape.k * max(shape.batch, 1)
    if work > _MOST_WORK or check(instance.signature, shape) or runs(instance, shape, k_batch, cu_num):
        return None
    if not _is_compiled(kernel, shape, k_batch):
        return None
    return GemmProblem(shape, k_batch, random.getrandbits(16), random.choice(data_of(instance, k_batch)))


def _grouped(random: Random, kernel: GemmKernel, cu_num: int) -> GemmProblem | None:
    """Up to four groups, empty ones and such without K among them; some whose rows only the device knows."""
    instance = kernel.instance
    on_device = random.random() < 0.3
    shapes = [_shape(random, instance) for _ in range(random.choice((1, 2, 3, 4)))]
    sizes = [GroupSize(one.m, one.n, one.k) for one in shapes]
    if on_device:
        sizes = [GroupSize(one.m, sizes[0].n, sizes[0].k) for one in sizes]
    else:
        sizes.append(random.choice((sizes[0], GroupSize(0, 8, 8), GroupSize(sizes[0].m, sizes[0].n, 0))))
    k_batch = _splits(random, kernel)
    problem = GemmProblem.grouped(
        sizes, k_batch, random.getrandbits(16), random.choice(data_of(instance, k_batch)), on_device=on_device
    )
    most = problem.shape
    groups = Groups.on_device(len(sizes), most.m, most.n, most.k) if on_device else Groups.of(sizes)
    work = sum(one.m * one.n * one.k for one in sizes)
    if work > _MOST_WORK or check_groups(instance.signature, groups):
        return None
    if supports_groups(instance.constraints, groups, k_batch) or not _is_compiled(kernel, most, k_batch):
        return None
    return problem


def _routed(random: Random, kernel: GemmKernel, cu_num: int) -> GemmProblem | None:
    """A layer, or a part whose tokens are sorted. On exact data both forms of gelu are the same."""
    instance, routing = kernel.instance, random.choice(_ROUTINGS)
    asked, is_layer = instance.constraints, instance.signature.moe.part is MoePart.LAYER
    n_grain, k_grain = asked.n_multiple or 16, asked.k_multiple or 32
    if is_layer:
        n_grain = k_grain = lcm(n_grain, k_grain)
    tile = instance.config.macro_tile
    n, k = rounded_up(edge(random, tile.n, 2 * tile.n), n_grain), rounded_up(edge(random, tile.k, 4 * tile.k), k_grain)
    shape = Shape(0, edge(random, tile.m, 2 * tile.m), n, k)
    own = tile.m
    block_m = random.choice((0, own)) if is_layer else own
    work = max(shape.m * routing.top_k, routing.experts) * n * k * (3 if is_layer else 2)
    if work > 4 * _MOST_WORK or check_routing(instance.signature, shape, routing):
        return None
    if supports_routing(instance, shape, routing, block_m, 1):
        return None
    return GemmProblem(shape, seed=random.getrandbits(16), routing=routing, block_m=block_m)


def _splits(random: Random, kernel: GemmKernel) -> int:
    return random.choice([1, 1, *(use.k_batch for use in kernel.uses[:8])])


def _is_compiled(kernel: GemmKernel, shape: Shape, k_batch: int) -> bool:
    compiled = set(variants_of(kernel.instance, kernel.uses))
    return {*variants_of(kernel.instance, [Use(shape, k_batch)])} <= compiled


def _shape(random: Random, instance: Instance) -> Shape:
    tile, asked = instance.config.macro_tile, instance.constraints
    batch = random.choice((1, 2, 3)) if instance.signature.batched else 0
    grain = 128 if random.random() < 0.5 else 32
    m = rounded_up(edge(random, tile.m, 2 * tile.m), asked.m_multiple)
    return Shape(
        batch,
        max(min(m, asked.max_m or m), asked.min_m),
        rounded_up(edge(random, tile.n, 2 * tile.n), asked.n_multiple or 16),
        rounded_up(edge(random, tile.k, 8 * tile.k), asked.k_multiple or grain),
    )
