"""Stream-K's partition, dealt one iteration at a time."""

from __future__ import annotations

from ckgen.families.gemm.partition import Partition


def test_whole_tiles_go_round_evenly_and_the_rest_is_shared_in_two_rounds_at_most() -> None:
    """The same is asked of C++ in dispatcher_cpp/tests/test_stream_k.cpp."""
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
