"""Strategies, Python against C++: selection, trails, partitions and what each instance computes."""

from __future__ import annotations

import random
from collections import Counter
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parity_support import Parity

from ckgen.families.common.comparison import Expected
from ckgen.families.common.problem_finding import outweighs
from ckgen.families.gemm.partition import Partition, partition_of, runs, workgroups_of
from ckgen.families.gemm.query import GemmQuery
from ckgen.families.gemm.reference import Operands, expect
from ckgen.families.gemm.reference_data import make_integers, make_operands
from ckgen.families.gemm.signature import GemmSignature
from ckgen.model.backend import Backend
from ckgen.model.selection import Tier, Wishes
from ckgen.model.strategy import Strategy
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape
from ckgen.plan.select import select
from ckgen.plan.trail import trail
from ckgen.quickstart.verify import Buffers
from examples import examples
from plan_support import plan_of

pytestmark = [pytest.mark.cpp, pytest.mark.slow]

TARGETS = (Target("gfx942", 80), Target("gfx942", 304), Target("gfx950", 256), Target("x86_64_v3", 3))
SIGNATURES = ("gemm_fp16_rcr", "gemm_fp32_rrr", "gemm_bf16_crr", "gemm_int8_int32_rcr", "gemm_fp8_*bf16_ccr")
STREAM_K = [strategy for strategy in Strategy if strategy.is_stream_k]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Parity:
    plan = plan_of(targets=TARGETS, ops=frozenset({"gemm", "stream_k"}), signatures=SIGNATURES)
    return Parity(plan, "strategies", tmp_path_factory.mktemp("strategies"))


def a_shape(rng: random.Random) -> Shape:
    tile = rng.choice([16, 64, 128, 256])
    m, n = (max(1, tile * rng.randint(1, 24) + rng.choice([-1, 0, 0, 0, 1])) for _ in range(2))
    k = rng.choice([rng.randint(1, 700), 8 * rng.randint(1, 4000), 1 << rng.randint(5, 20)])
    if rng.random() < 0.05:
        m = n = (1 << 31) - 1
    return Shape(0, m, n, k)


def test_selections_are_equal_whatever_is_asked_for(both: Parity) -> None:
    rng = random.Random(5)
    chosen: Counter[Strategy] = Counter()
    for unit in both.plan.units:
        for target in TARGETS:
            for strategy in Strategy:
                wishes = Wishes(rng.random() < 0.3, strategy)
                shapes = [a_shape(rng) for _ in range(60)]
                both.compare(unit, target, shapes, wishes)
                for shape in shapes if strategy is Strategy.ANY else ():
                    found = select(GemmQuery(both.plan, target, unit.signature, shape, wishes))
                    if found.instance is not None:
                        chosen[getattr(found.instance.config, "strategy", Strategy.DATA_PARALLEL)] += 1
    assert chosen[Strategy.DATA_PARALLEL] > 50 and chosen[Strategy.LINEAR] > 50 and chosen[Strategy.TREE] > 5, chosen


def test_trails_are_equal(both: Parity) -> None:
    rng = random.Random(6)
    seen = ""
    for index in range(120):
        unit, target = rng.choice(both.plan.units), rng.choice(TARGETS)
        wishes = Wishes(index % 5 == 0, rng.choice(list(Strategy)))
        shape = a_shape(rng)
        mine = trail(GemmQuery(both.plan, target, unit.signature, shape, wishes), lambda row: "").text()
        problem = both.library.problem(
            unit.name, shape.m, shape.n, shape.k, deterministic=wishes.deterministic, strategy=wishes.strategy
        )
        theirs = both.dispatcher.explain(problem, both.library.simulated(str(target)))
        assert mine.splitlines() == theirs.replace(" (simulated)\n", "\n", 1).splitlines()
        seen += mine
    for text in ("gemm.stream_k.strategy", "gemm.stream_k.atomic", "gemm.stream_k.too-few-tiles", "data-parallel\n"):
        assert text in seen


def test_too_few_tiles_are_refused_with_their_reason(both: Parity) -> None:
    device = both.library.simulated("gfx942:304")
    for strategy in STREAM_K:
        problem = both.library.problem("fp16", 64, 64, 64, strategy=strategy)
        found = both.dispatcher.select(problem, device)
        assert found.instance is None
        assert found.reason == (
            "too few tiles: their 8 iterations of K are fewer than the 304 workgroups "
            "(rule gemm.stream_k.too-few-tiles)"
        )
    plain = both.dispatcher.select(both.library.problem("fp16", 64, 64, 64), device)
    assert plain.instance is not None and "streamk" not in plain.instance and plain.tier is Tier.DEFAULT


def test_compute_units_decide_the_partition(both: Parity) -> None:
    workspaces = []
    for target in ("gfx942:80", "gfx942:304"):
        problem = both.library.problem("fp16", 1024, 1024, 4096, strategy=Strategy.LINEAR)
        workspaces.append(both.dispatcher.plan(problem, both.library.simulated(target)).workspace_size)
    assert workspaces[0] < workspaces[1]


@settings(max_examples=examples(200))
@given(st.integers(1, 40), st.integers(1, 12), st.integers(1, 20))
def test_the_partition_deals_every_iteration_once(both: Parity, tiles: int, iterations: int, grid: int) -> None:
    found = both.library.stream_k_partition((1, 16, 16 * tiles, 8 * iterations), (16, 16, 8), grid, each=True)
    mine = Partition(tiles, iterations, grid)
    assert (found.dp_tiles, found.sk_tiles, found.feasible) == (mine.dp_tiles, mine.sk_tiles, mine.feasible)
    if not mine.feasible:
        assert mine.sk_iters < grid and found.workspace == 0
        return
    assert found.max_iters_per_workgroup == mine.max_iters_per_workgroup
    dealt = [[tile % grid] * iterations for tile in range(mine.dp_tiles)]  # whole tiles, in turn
    owners = [g for g, (begin, end) in enumerate(found.workgroups) for _ in range(begin, end)]
    dealt += [owners[at : at + iterations] for at in range(0, len(owners), iterations)]
    assert len(owners) == mine.sk_iters and len(dealt) == tiles
    assert {end - begin for begin, end in found.workgroups} <= {mine.sk_iters // grid, mine.sk_iters // grid + 1}
    for tile, of_tile in enumerate(dealt):
        assert of_tile == sorted(of_tile) and len(of_tile) == iterations
        assert found.tiles[tile] == (of_tile[0], of_tile[-1])
    assert found.max_splits == max(len(set(of_tile)) for of_tile in dealt)
    assert found.workspace == (0 if mine.sk_tiles == 0 else 1024 * grid + -(-4 * grid // 128) * 128)


@cache
def problem_of(signature: GemmSignature, shape: Shape, strategy: Strategy) -> tuple[Operands, Expected]:
    """Integers where parts are added up in C."""
    make = make_integers if strategy is Strategy.ATOMIC else make_operands
    operands = make(signature, shape, seed=9)
    return operands, expect(operands)


def test_every_instance_computes_what_the_definition_says(both: Parity) -> None:
    ran: Counter[Strategy] = Counter()
    for instance in both.plan.instances:
        config, tile = instance.config, instance.config.macro_tile
        strategy = getattr(config, "strategy", Strategy.DATA_PARALLEL)
        if not strategy.is_stream_k or (instance.backend is Backend.HOST and "x86_64_v3" not in instance.archs):
            continue
        target = Target("x86_64_v3", 3) if instance.backend is Backend.HOST else Target(instance.archs[0], 5)
        grain = max(instance.constraints.k_multiple, 1)
        shape = Shape(0, tile.m + tile.m // 2, tile.n + 8, -(-(3 * tile.k + 8) // grain) * grain)
        assert runs(instance, shape, 1, target.cu_num) is None, instance.name
        assert partition_of(config, shape, target.cu_num).grid == workgroups_of(config, target.cu_num)
        operands, expected = problem_of(instance.signature, shape, strategy)
        buffers = Buffers.of(operands, shape)
        problem = both.library.problem(instance.signature.canonical(), shape.m, shape.n, shape.k)
        plan = both.dispatcher.plan(problem, both.library.simulated(str(target)), instance.name)
        assert not plan.refusal
        both.dispatcher.run(plan, buffers.args)
        sizes = (1, shape.m, shape.n, shape.k)
        splits = both.library.stream_k_partition(sizes, (tile.m, tile.n, tile.k), workgroups_of(config, target.cu_num))
        assert splits.max_splits > 1, instance.name
        assert expected.excess(buffers.c) <= 1, instance.name
        ran[strategy] += 1
    assert min(ran[strategy] for strategy in STREAM_K) >= 10, ran


def test_another_strategy_is_the_weakest_reason(both: Parity) -> None:
    instance = next(i for i in both.plan.instances if getattr(i.config, "strategy", None) is Strategy.TREE)
    few = runs(instance, Shape(0, 8, 8, 8), 1, 304, Wishes(strategy=Strategy.TREE))
    other = runs(instance, Shape(0, 8, 8, 8), 1, 304, Wishes(strategy=Strategy.LINEAR))
    assert few is not None and other is not None
    assert outweighs(few, other) and outweighs(other, None) and not outweighs(other, few)
