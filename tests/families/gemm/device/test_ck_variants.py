"""Which device kernels the problems of the tables reach."""

from __future__ import annotations

from collections import Counter

import pytest
from ck_device_support import ck_uses, instance_of

from ckgen.families.common.device.unit import Use, symbol_of
from ckgen.families.gemm.device.ck_variants import (
    RULES,
    CkVariant,
    Spec,
    Tail,
    all_variants,
    reachable,
    stages,
    variant_of,
)
from ckgen.families.gemm.instance import Instance
from ckgen.model.tuned_row import Shape

A8W8_V3 = instance_of(
    "a8w8:int8", "a8w8_rowwise_256x16x64x512_16x16_1x1_32x8x1_32x8x1_1x16x1x16_4x4x1_1x1_intrawave_v3"
)
A8W8_V2 = instance_of("a8w8:fp8", "a8w8_rowwise_128x16x32x128_16x16_1x1_8x16x1_8x16x1_1x16x1x8_4x4x1_1x1_interwave_v2")
BLOCKSCALE_V1 = instance_of(
    "a8w8_blockscale",
    "a8w8_blockscale_1x128x128_256x16x128x128_8x16_16x16_1x2_16x16x1_8x32x1_1x16x1x16_8_1x2_intrawave_v1",
)
A4W4 = instance_of(
    "a4w4_blockscale", "a4w4_blockscale_256x64x128x128_16x16_16x16_8x32x1_8x32x1_1x32x1x8_8_2x2_intrawave_v3"
)
BATCHED_BF16 = instance_of(
    "batched_bf16", "bf16_batched_256x256x256x32_32x32_4x4_4x64x1_4x64x1_1x32x1x8_8x8x1_1x1_intrawave_v4"
)


def use(m: int, n: int, k: int, k_batch: int = 1, batch: int = 0) -> Use:
    return Use(Shape(batch, m, n, k), k_batch)


@pytest.mark.parametrize(
    ("instance", "problem", "name"),
    [
        (A8W8_V3, use(16, 64, 1536), "default_hot_full_set"),
        (A8W8_V3, use(1, 64, 1536), "mnkpadding_hot_full_set"),
        (A8W8_V3, use(16, 64, 3072, 2), "default_hot_full_add"),
        (A8W8_V3, use(16, 64, 3072 + 512, 2), "mnkpadding_hot_full_add"),
        (A8W8_V3, use(16, 64, 1024), None),
        (A8W8_V2, use(16, 32, 128 * 9), "default_hot_full_set"),
        (A8W8_V2, use(16, 32, 128 * 10), "default_hot_one_set"),
        (A8W8_V2, use(16, 32, 128 * 11), "default_hot_two_set"),
        (BLOCKSCALE_V1, use(16, 128, 128), "default_cold_odd_set"),
        (BLOCKSCALE_V1, use(16, 128, 256), "default_cold_full_set"),
        (BLOCKSCALE_V1, use(17, 129, 384), "mnpadding_hot_full_set"),
        (BLOCKSCALE_V1, use(16, 128, 384 + 16), "kpadding_hot_full_set"),
        (BLOCKSCALE_V1, use(16, 128, 1024, 2), None),
        (A4W4, use(64, 128, 256), None),
        (A4W4, use(1, 128, 256 * 6, 2), "default_hot_odd_add"),
        (BATCHED_BF16, use(1, 256, 32 * 6, batch=4), "default_hot_even_set"),
        (BATCHED_BF16, use(1, 256, 32 * 3, batch=4), None),
    ],
)
def test_a_problem_reaches_one_kernel(instance: Instance, problem: Use, name: str | None) -> None:
    found = variant_of(instance, problem)
    assert (found.name if found is not None else None) == name
    assert found is None or found in all_variants(instance)


def test_names_tell_all_variants_apart() -> None:
    names = {
        CkVariant(spec, hot, tail, add).name
        for spec in Spec for hot in (False, True) for tail in Tail for add in (False, True)
    }  # fmt: skip
    assert len(names) == len(Spec) * len(Tail) * 4


def test_symbols_carry_instance_and_variant() -> None:
    variant = CkVariant(Spec.MNK, hot=True, tail=Tail.EVEN, add=True)
    assert symbol_of(A8W8_V3, variant) == f"ckgen_{A8W8_V3.id:016x}_mnkpadding_hot_even_add"


@pytest.mark.parametrize(
    ("instance", "count"),
    [(A8W8_V3, 4), (A8W8_V2, 12), (BLOCKSCALE_V1, 24), (A4W4, 4), (BATCHED_BF16, 2)],
)
def test_all_variants_are_those_of_some_problem(instance: Instance, count: int) -> None:
    tile = instance.config.macro_tile
    reached = {
        variant_of(instance, use(tile.m + dm, tile.n + dn, k * split * tile.k + dk, split))
        for dm in (0, 1) for dn in (0, 1) for dk in (0, 16) for k in range(24) for split in (1, 2)
        if k or dk
    } - {None}  # fmt: skip
    assert reached == set(all_variants(instance))
    assert len(reached) == count


def test_a_measured_m_serves_smaller_ones() -> None:
    found = reachable(A8W8_V3, (use(16, 64, 1536),))
    assert [variant.name for variant in found] == ["default_hot_full_set", "mnkpadding_hot_full_set"]
    assert [variant.name for variant in reachable(A4W4, (use(64, 128, 1536),))] == ["default_hot_even_set"]


def test_memory_pipelines_fill_their_bandwidth() -> None:
    assert stages(A8W8_V2) == 3


def test_kernels_of_the_shipped_tables() -> None:
    """Counted by kernel name, arch and operand type; every row but those with K splits of block scale reaches one."""
    reached: dict[str, set[tuple[str, str, str, CkVariant]]] = {module: set() for module in RULES}
    refused: Counter[str] = Counter()
    for instance, arch, uses in ck_uses():
        for each in uses:
            variant = variant_of(instance, each)
            if variant is None:
                assert each.k_batch > 1, (instance.name, each)
                refused[instance.module] += 1
            else:
                reached[instance.module].add((instance.table_kernel, arch, str(instance.signature.a), variant))
    assert {module: len(found) for module, found in reached.items()} == {
        "a8w8": 86,
        "a8w8_bpreshuffle": 153,
        "a8w8_blockscale": 94,
        "a8w8_blockscale_bpreshuffle": 78,
        "a4w4_blockscale": 25,
        "batched_a8w8": 14,
        "batched_bf16": 10,
    }
    assert set(refused) == {"a8w8_blockscale"}
