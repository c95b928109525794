"""Numbers of candidates: splits for another CU count."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckgen.families.gemm.candidates import recomputed_k_batch
from ckgen.families.gemm.instance import Instance
from ckgen.model.tuned_row import Shape
from plan_support import GFX942, LARGE, plan_of, row, write_table


@pytest.fixture(scope="module")
def instance(tmp_path_factory: pytest.TempPathFactory) -> Instance:
    """A kernel of 128 x 128 x 128."""
    table = write_table(tmp_path_factory.mktemp("tables") / "a8w8_blockscale.csv", [row(64, LARGE)])
    unit = next(unit for unit in plan_of(table, targets=(GFX942,)).units if unit.tables)
    return unit.instances[unit.tables[0].choices[0].instance]


@pytest.mark.parametrize("most", [1, 2, 7, 64])
@pytest.mark.parametrize("cu_num", [1, 2, 3, 8, 304])
@pytest.mark.parametrize("shape", [(0, 1, 1, 8192), (0, 128, 256, 1024), (0, 129, 128, 1023), (3, 128, 128, 4096)])
def test_splits_fill_the_device_as_powers_of_two(
    instance: Instance, shape: tuple[int, int, int, int], cu_num: int, most: int
) -> None:
    batch, m, n, k = shape
    limited = replace(instance, constraints=replace(instance.constraints, max_k_batch=most))
    tiles = -(-m // 128) * -(-n // 128) * max(batch, 1)
    fitting = [
        splits
        for splits in (2**at for at in range(1, 12))
        if tiles * splits <= cu_num and splits * 2 * 128 <= k and splits <= most
    ]
    assert recomputed_k_batch(limited, Shape(*shape), cu_num) == max(fitting, default=1)
