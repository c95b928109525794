"""Neighbours of M against plain lists, and numbers of docs/selection.md, worked out by hand.

dispatcher_cpp/tests/select/test_ladder.cpp and gemm/test_tiling.cpp ask the same of C++.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from ckgen.families.common.ladder import Ladder
from ckgen.families.common.policy import NearGap
from ckgen.families.gemm.candidates import RungHit, default_cost, far_rungs, recomputed_k_batch, rounded_up
from ckgen.families.gemm.config import CkTileConfig, GemmConfig, HostConfig, TilePipeline
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.signature import parse_signature
from ckgen.families.registry import make_instance
from ckgen.model.config import Tile
from ckgen.model.selection import Tier
from ckgen.model.strategy import Strategy
from ckgen.model.tuned_row import Shape
from plan_support import GFX950, LARGE, MIDDLE, plan_of, query, row, write_table

GAP = NearGap(16, 2)
LINEAR, TREE, ATOMIC = Strategy.LINEAR, Strategy.TREE, Strategy.ATOMIC
MOST = 2**31 - 1


def neighbours(sizes: set[int], m: int) -> tuple[int | None, Tier | None, list[int]]:
    """The measured size that answers m, with its tier, and the far ones in order: docs/selection.md's steps 3, 4, 7."""
    above = min((size for size in sizes if size >= m), default=None)
    below = max((size for size in sizes if size < m), default=None)
    if above is not None and (above == m or above - m <= 16 or above <= 2 * m):
        return above, Tier.EXACT if above == m else Tier.NEAR, [below] if below is not None else []
    if above is None or below is None:
        return None, None, [size for size in (above, below) if size is not None]
    return None, None, [above, below] if above * below <= m * m else [below, above]


def test_a_ladder_offers_the_neighbours_of_the_plain_list() -> None:
    rng = random.Random(7)
    for _ in range(40):
        rows = {rng.randint(1, 400): rng.randint(0, 2) for _ in range(rng.randint(0, 6))}
        ladder = Ladder.from_measured(rows.items())
        for m in range(1, 500, rng.randint(1, 3)):
            up, tier, far = neighbours(set(rows), m)
            assert rounded_up(ladder, m, GAP) == (RungHit(tier, up, rows[up]) if up and tier else None), (rows, m)
            assert list(far_rungs(ladder, m, GAP)) == [RungHit(Tier.FAR, size, rows[size]) for size in far], (rows, m)


def test_the_tables_winner_is_that_of_both_kinds_of_rows_together(tmp_path: Path) -> None:
    own, asm = {16, 64, 65, 300}, {32, 60, 200, 2700}  # 900 is as near to 300 as to 2700
    external = {"libtype": "asm", "kernelName": "_ZN5aiter3fooE"}
    rows = [row(m, MIDDLE, gfx="gfx950", cu_num=256) for m in own]
    rows += [row(m, LARGE, gfx="gfx950", cu_num=256, **external) for m in asm]
    plan = plan_of(write_table(tmp_path / "a8w8_blockscale.csv", rows), targets=(GFX950,))
    for m in (*range(1, 620), *range(620, 6000, 61), 899, 900, 901):
        up, tier, far = neighbours(own | asm, m)
        winner = query(plan, GFX950, "a8w8_blockscale", m, 512, 1024).named_by_table()
        size = up if up is not None else far[0]
        assert winner is not None and (winner.row.shape.m, winner.tier) == (size, tier or Tier.FAR), m
        assert (winner.external is not None) == (size in asm), m


def instance(config: GemmConfig) -> Instance:
    return make_instance(parse_signature("fp16", None), config, archs=("gfx942",))


def gpu(n: int, strategy: Strategy = Strategy.DATA_PARALLEL, blocks: int = 1) -> Instance:
    return instance(
        CkTileConfig(
            Tile(128, n, 32), (2, 2, 1), Tile(32, 32, 16), TilePipeline.COMPV3, block_per_cu=blocks, strategy=strategy
        )
    )


def cpu(strategy: Strategy = Strategy.DATA_PARALLEL, threads: int = 0) -> Instance:
    return instance(HostConfig(4, 16, 64, 128, 32, threads, strategy))


@pytest.mark.parametrize(
    ("shape", "cu_num", "expected"),
    [
        ((0, 128, 64, 1 << 20), 32, 32),  # one tile: as many splits as units
        ((0, 128, 64, 1 << 20), 31, 16),
        ((0, 512, 64, 1 << 20), 32, 8),  # four tiles
        ((0, 512, 64, 1 << 20), 31, 4),
        ((0, 385, 64, 1 << 20), 32, 8),  # four of which one is not full
        ((2, 512, 64, 1 << 20), 32, 4),
        ((1, 512, 64, 1 << 20), 32, 8),
        ((0, 128, 64, 512), 304, 8),  # two K tiles for each split
        ((0, 128, 64, 511), 304, 4),
        ((0, 128, 64, 64), 304, 1),
        ((0, 1, 1, MOST), 1 << 20, 128),  # what the kernel takes
        ((0, 128, 65, 1 << 20), 1, 1),
        ((0, MOST, MOST, MOST), 304, 1),
    ],
)
def test_splits_double_while_units_k_and_the_kernel_allow_it(
    shape: tuple[int, int, int, int], cu_num: int, expected: int
) -> None:
    found = gpu(64)
    assert found.constraints.max_k_batch == 128
    assert recomputed_k_batch(found, Shape(*shape), cu_num) == expected


@pytest.mark.parametrize(
    ("of", "shape", "cu_num", "expected"),
    [
        (gpu(64), (0, 1, 1, 1), 304, 20480),  # a wave of 128 * 64 + 64 * (128 + 64)
        (gpu(64), (0, 2048, 1216, 100), 304, 20480),  # 304 tiles
        (gpu(64), (0, 2049, 1216, 100), 304, 2 * 20480),
        (gpu(64), (3, 128, 6464, 8), 304, 20480),  # 303 tiles
        (gpu(64), (4, 128, 6464, 8), 304, 2 * 20480),
        (gpu(64), (0, 2049, 1216, 100), 1, 323 * 20480),
        (gpu(64), (MOST, MOST, MOST, MOST), 3, ((MOST << 49) + 2) // 3 * 20480),
        (cpu(), (0, 9, 33, 64), 2, 5 * 1344),  # nine register tiles of 4 * 16 + 64 * (4 + 16) on two cores
    ],
)
def test_a_default_costs_its_waves_of_tiles(
    of: Instance, shape: tuple[int, int, int, int], cu_num: int, expected: int
) -> None:
    assert default_cost(of, Shape(*shape), cu_num) == expected


WAVE = 32 * (128 * 128 + 64 * (128 + 128))
"""One iteration of a workgroup of `gpu(128)`."""
STEP = 128 * 128 * 128
"""One of its tiles stored or loaded where parts meet."""


@pytest.mark.parametrize(
    ("of", "shape", "cu_num", "work", "k"),
    [
        (gpu(128, LINEAR), (0, 1024, 1280, 320), 80, 10 * WAVE, 320),  # 80 tiles of 10 iterations: nothing is split
        # 120 tiles: 15 iterations for each of 80, tiles in two parts
        (gpu(128, LINEAR), (0, 1280, 1536, 320), 80, 15 * WAVE + 2 * STEP, 320),
        (gpu(128, TREE), (0, 1280, 1536, 320), 80, 15 * WAVE + 3 * STEP, 320),
        (gpu(128, ATOMIC), (0, 1280, 1536, 320), 80, 15 * WAVE + 4 * STEP, 320),
        (gpu(128, LINEAR), (0, 1280, 2560, 320), 80, 25 * WAVE + 2 * STEP, 320),  # one whole tile for each before them
        # one tile of 128 iterations: at most two for one workgroup, at least one, so at most 128 parts
        (gpu(128, LINEAR), (0, 128, 128, 4096), 80, 2 * WAVE + 128 * STEP, 4096),
        (gpu(128, TREE), (0, 128, 128, 4096), 80, 2 * WAVE + 15 * STEP, 4096),
        (gpu(128, ATOMIC), (0, 128, 128, 4096), 80, 2 * WAVE + 256 * STEP, 4096),
        (gpu(128, LINEAR), (0, 128, 896, 70), 5, 5 * WAVE + 2 * STEP, 70),  # 21 iterations for five workgroups
        (gpu(128, LINEAR, 5), (0, 128, 896, 70), 1, 5 * WAVE + 2 * STEP, 70),
        (gpu(128, LINEAR), (2, 128, 128, 96), 5, 2 * WAVE + 3 * STEP, 96),  # six for five: three parts
        (gpu(128, TREE), (2, 128, 128, 96), 5, 2 * WAVE + 5 * STEP, 96),
        (gpu(128, LINEAR), (0, 128, 896, 20), 5, 2 * WAVE + STEP, 20),  # tiles of one iteration: one part
        (gpu(128, TREE), (0, 128, 896, 20), 5, 2 * WAVE + STEP, 20),
        (gpu(128, ATOMIC), (0, 128, 896, 20), 5, 2 * WAVE + 2 * STEP, 20),
        # blocks of 64 x 128 on two threads: nine register tiles of one, then all 16 * 8 of four
        (cpu(LINEAR, 2), (0, 9, 33, 64), 7, 32 * 9 * 1344 + 2 * 128 * 64 * 128, 64),
        (cpu(LINEAR, 2), (0, 65, 129, 64), 7, 4 * 32 * 128 * 1344, 64),
    ],
)  # fmt: skip
def test_a_stream_k_default_costs_the_busiest_workgroup_and_the_meeting_of_parts(
    of: Instance, shape: tuple[int, int, int, int], cu_num: int, work: int, k: int
) -> None:
    assert default_cost(of, Shape(*shape), cu_num) == (work + k - 1) // k
