"""Stream-K's partition, dealt one iteration at a time, and what planning makes of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckgen.families.common.problem_finding import ProblemFinding, outweighs
from ckgen.families.gemm.config import (
    CkTileConfig,
    CutlassConfig,
    CutlassSchedule,
    GemmConfig,
    HostConfig,
    TilePipeline,
)
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.partition import (
    Partition,
    describe,
    partition_of,
    parts_of,
    runs,
    strategy_finding,
    stream_k_cost,
    tile_cost,
    workgroups_of,
)
from ckgen.families.gemm.signature import parse_signature
from ckgen.families.registry import make_instance
from ckgen.model.config import Tile
from ckgen.model.selection import NO_WISHES, Wishes
from ckgen.model.strategy import Strategy
from ckgen.model.tuned_row import Shape

TILED = CkTileConfig(Tile(16, 32, 8), (1, 1, 1), Tile(16, 16, 8), TilePipeline.COMPV3, strategy=Strategy.LINEAR)
HOST = HostConfig(4, 8, 16, 32, 8, strategy=Strategy.TREE)
NINE = Shape(0, 40, 90, 65)
"""Nine tiles of nine iterations."""


def on(strategy: Strategy) -> CkTileConfig:
    return replace(TILED, strategy=strategy)


def test_whole_tiles_go_round_evenly_and_the_rest_is_shared_in_two_rounds_at_most() -> None:
    """The same is asked of C++ in dispatcher_cpp/tests/gemm/test_stream_k.cpp."""
    for tiles in range(1, 41):
        for grid in range(1, 14):
            found = Partition(tiles, 5, grid)
            assert found.dp_tiles + found.sk_tiles == tiles
            assert found.dp_tiles % grid == 0, "as many whole tiles for each workgroup"
            if tiles % grid == 0:
                assert found.sk_tiles == 0, "nothing is split that need not be"
            elif tiles < grid:
                assert found.sk_tiles == tiles
            else:
                assert grid < found.sk_tiles < 2 * grid, "each workgroup has more than a tile to share, less than two"


def test_the_busiest_workgroup_is_that_of_a_deal_of_single_iterations() -> None:
    feasible = 0
    for tiles in range(1, 27):
        for iterations in range(1, 9):
            for grid in range(1, 12):
                found = Partition(tiles, iterations, grid)
                load = [found.dp_tiles // grid * iterations] * grid
                for iteration in range(found.sk_tiles * iterations):
                    load[iteration % grid] += 1
                assert found.sk_iters == found.sk_tiles * iterations
                assert found.feasible == (min(load) > 0)
                if found.feasible:
                    assert found.max_iters_per_workgroup == max(load)
                    feasible += 1
    assert feasible > 1500


def test_a_problem_is_tiles_in_all_batches_and_iterations_that_cover_k() -> None:
    assert partition_of(TILED, NINE, 4) == Partition(9, 9, 4)
    assert partition_of(TILED, Shape(5, 16, 32, 64), 4) == Partition(5, 8, 4)
    most = 2**31 - 1
    assert partition_of(TILED, Shape(most, most, most, 1), 4).num_tiles == 1 << 62


def test_workgroups_are_those_that_are_resident_or_threads() -> None:
    assert [workgroups_of(config, 5) for config in (TILED, replace(TILED, block_per_cu=3), HOST)] == [5, 15, 5]
    assert workgroups_of(replace(HOST, threads=7), 5) == 7
    assert workgroups_of(TILED, 0) == workgroups_of(HOST, -1) == 1


def test_a_partition_is_described_in_words() -> None:
    assert describe(TILED, NINE, 80) == "stream-K linear: 9 tiles of 9 iterations of K on 80 workgroups"
    assert describe(HOST, NINE, 4) == "stream-K tree: 9 tiles of 9 iterations of K on 4 workgroups, 4 data-parallel"


def most_parts(found: Partition) -> int:
    """Workgroups that have an iteration of one tile: where those that may be split go round, the fewest first."""
    least = found.sk_iters // found.grid
    ends = [least * at for at in range(1, found.grid + 1)]
    return max(
        len({next((i for i, end in enumerate(ends) if at < end), found.grid)
             for at in range(first, first + found.iters_per_tile)})
        for first in range(found.sk_iters)
    )  # fmt: skip


def instance_of(config: GemmConfig) -> Instance:
    return make_instance(parse_signature("fp16", None), config, ())


def parts(strategy: Strategy, k_batch: int, cu_num: int) -> int:
    return parts_of(instance_of(on(strategy)), NINE, k_batch, cu_num)


def test_only_atomic_parts_are_added_in_cs_own_type() -> None:
    assert [parts(strategy, 3, 4) for strategy in (Strategy.LINEAR, Strategy.TREE)] == [1, 1]
    assert [parts(Strategy.DATA_PARALLEL, k_batch, 4) for k_batch in (0, 1, 3)] == [1, 1, 3]
    assert parts(Strategy.ATOMIC, 1, 9) == 1, "nothing is split"
    meets_before_c = instance_of(CutlassConfig(Tile(128, 128, 64), (1, 1), CutlassSchedule.CO, stream_k=True))
    assert parts_of(meets_before_c, NINE, 3, 4) == 1
    for cus, most in ((4, 2), (10, 2), (30, 5), (80, 9), (81, 9)):
        found = partition_of(TILED, NINE, cus)
        assert parts(Strategy.ATOMIC, 1, cus) == most
        assert most >= min(most_parts(found), found.iters_per_tile)


@pytest.mark.parametrize(
    ("own", "wishes", "cus", "found"),
    [
        (Strategy.LINEAR, NO_WISHES, 81, None),
        (Strategy.LINEAR, NO_WISHES, 82, ("too-few-tiles", 81, 82)),
        (Strategy.LINEAR, Wishes(strategy=Strategy.LINEAR), 9, None),
        (Strategy.LINEAR, Wishes(strategy=Strategy.TREE), 82, ("strategy", 3, 4)),
        (Strategy.LINEAR, Wishes(deterministic=True), 9, None),
        (Strategy.ATOMIC, Wishes(deterministic=True), 9, ("atomic", 9, 1)),
        (Strategy.ATOMIC, NO_WISHES, 9, None),
        (Strategy.DATA_PARALLEL, Wishes(deterministic=True), 82, None),
        (Strategy.DATA_PARALLEL, Wishes(strategy=Strategy.ATOMIC), 9, ("strategy", 1, 2)),
    ],
)
def test_what_a_strategy_lacks(own: Strategy, wishes: Wishes, cus: int, found: tuple[str, int, int] | None) -> None:
    expected = ProblemFinding(f"gemm.stream_k.{found[0]}", *found[1:]) if found else None
    assert strategy_finding(on(own), NINE, cus, wishes) == expected
    instance = instance_of(on(own))
    assert runs(replace(instance, constraints=type(instance.constraints)()), NINE, 1, cus, wishes) == expected


def test_what_an_instance_asks_comes_behind_its_strategy() -> None:
    instance = make_instance(parse_signature("fp16", None), TILED, ())
    asked = replace(instance, constraints=type(instance.constraints)(n_multiple=32))
    found = runs(asked, NINE, 1, 9)
    assert found is not None and found.rule == "gemm.instance.n-multiple"


@pytest.mark.parametrize("rule", ["gemm.stream_k.strategy", "moe.n-min", "moe.n-max", "moe.k-max", "moe.presorted"])
def test_that_another_kernel_is_meant_is_a_reason_only_where_there_is_no_other(rule: str) -> None:
    other, real = ProblemFinding(rule, 1, 2), ProblemFinding("gemm.instance.max-m", 1, 2)
    assert outweighs(other, None) and outweighs(real, None) and outweighs(real, other)
    assert not outweighs(other, real) and not outweighs(other, other)


def test_a_tile_costs_its_products_and_64_for_each_row_and_column() -> None:
    assert tile_cost(16, 32) == 16 * 32 + 64 * (16 + 32) == 3584


@pytest.mark.parametrize(
    ("strategy", "cus", "steps"),
    [(Strategy.LINEAR, 9, 0), (Strategy.LINEAR, 4, 2), (Strategy.ATOMIC, 4, 4), (Strategy.TREE, 4, 3),
     (Strategy.LINEAR, 30, 5), (Strategy.ATOMIC, 30, 10), (Strategy.TREE, 30, 7), (Strategy.TREE, 80, 9)],
)  # fmt: skip
def test_cost_is_of_the_busiest_workgroup_and_of_the_fix_up(strategy: Strategy, cus: int, steps: int) -> None:
    """Iterations of 8 at a tile's cost, and 128 for each accumulator and step, of 65 elements of K."""
    busiest = {9: 9, 4: 9 + 12, 30: 3, 80: 2}[cus]
    whole = busiest * 8 * tile_cost(16, 32) + 128 * 16 * 32 * steps
    assert stream_k_cost(on(strategy), NINE, cus) == -(-whole // 65)


def test_a_cpus_tile_costs_the_register_tiles_that_the_problem_fills() -> None:
    for m, n, tiles in ((16, 32, 4 * 4), (5, 9, 2 * 2), (99, 99, 4 * 4)):
        shape, found = Shape(0, m, n, 8), partition_of(HOST, Shape(0, m, n, 8), 1)
        assert found.sk_tiles == 0
        assert stream_k_cost(HOST, shape, 1) == found.num_tiles * tiles * tile_cost(4, 8)
