"""What the machine code of ck kernels must be, against counts taken from compiled kernels."""

from __future__ import annotations

from dataclasses import replace

import pytest
from ck_device_support import ck_uses, instance_of

from ckgen.families.common.device.variant import Tail
from ckgen.families.gemm.config import CkConfig
from ckgen.families.gemm.device.ck_expected import copies, expected, steps, waves_per_simd
from ckgen.families.gemm.device.ck_variants import CkVariant, Spec, all_variants
from ckgen.families.gemm.instance import Instance
from ckgen.model.config import Tile

A8W8_V2 = "a8w8_rowwise_128x16x32x128_16x16_1x1_8x16x1_8x16x1_1x16x1x8_4x4x1_1x1_interwave_v2"
BLOCKSCALE_V1 = "a8w8_blockscale_1x128x128_256x16x128x128_8x16_16x16_1x2_16x16x1_8x32x1_1x16x1x16_8_1x2_intrawave_v1"
BLOCKSCALE_V3 = "a8w8_blockscale_1x128x128_256x128x128x128_16x16_32x32_2x2_8x32x1_8x32x1_1x32x1x8_8_1x1_intrawave_v3"
KERNELS = {
    "a8w8:int8": ("a8w8_rowwise_256x16x64x512_16x16_1x1_32x8x1_32x8x1_1x16x1x16_4x4x1_1x1_intrawave_v3", 2),
    "a8w8:fp8": ("a8w8_rowwise_256x16x64x512_16x16_1x1_32x8x1_32x8x1_1x16x1x16_4x4x1_1x1_intrawave_v3", 2),
    "a8w8_blockscale": (BLOCKSCALE_V3, 2),
    "a4w4_blockscale": ("a4w4_blockscale_256x64x128x128_16x16_16x16_8x32x1_8x32x1_1x32x1x8_8_2x2_intrawave_v3", 2),
    "batched_a8w8": ("a8w8_batched_rowwise_256x128x128x128_32x32_2x2_8x32x1_8x32x1_1x32x1x8_8x8x1_1x1_intrawave_v3", 2),
    "batched_bf16": ("bf16_batched_256x256x256x32_32x32_4x4_4x64x1_4x64x1_1x32x1x8_8x8x1_1x1_intrawave_v4", 1),
}  # fmt: skip
"""A kernel of each signature, and its launch bound's waves per SIMD."""

COMPILED = [
    ("a8w8:int8", "gfx942", True, Tail.FULL, "v_mfma_i32_16x16x32_i8", 32),
    ("a8w8:int8", "gfx950", True, Tail.FULL, "v_mfma_i32_16x16x64_i8", 16),
    ("a8w8:fp8", "gfx942", True, Tail.FULL, "v_mfma_f32_16x16x32_fp8_fp8", 32),
    ("a8w8:fp8", "gfx950", True, Tail.FULL, "v_mfma_f32_16x16x128_f8f6f4", 8),
    ("a8w8_blockscale", "gfx942", True, Tail.FULL, "v_mfma_f32_32x32x16_fp8_fp8", 64),
    ("a8w8_blockscale", "gfx950", True, Tail.FULL, "v_mfma_f32_32x32x64_f8f6f4", 16),
    ("a4w4_blockscale", "gfx950", True, Tail.EVEN, "v_mfma_scale_f32_16x16x128_f8f6f4", 64),
    ("batched_a8w8", "gfx942", True, Tail.FULL, "v_mfma_i32_32x32x16_i8", 64),
    ("batched_bf16", "gfx942", True, Tail.EVEN, "v_mfma_f32_32x32x8_bf16", 256),
]
"""Signature, arch, main loop, tail: the instruction and its number in the kernel that clang 22.1.8 makes of it."""


@pytest.mark.parametrize(("signature", "arch", "hot", "tail", "opcode", "count"), COMPILED)
def test_counts_are_those_of_compiled_kernels(
    signature: str, arch: str, hot: bool, tail: Tail, opcode: str, count: int
) -> None:
    instance = instance_of(signature, KERNELS[signature][0], arch)
    demand = expected(instance, arch, CkVariant(Spec.DEFAULT, hot, tail, add=False))
    per_step = dict(demand.steps)
    assert per_step[opcode] * demand.copies == count
    assert demand.waves_per_simd == KERNELS[signature][1]
    assert (demand.spills, demand.scratch_bytes) == (0, 0)


@pytest.mark.parametrize(
    ("signature", "kernel", "variant", "turns"),
    [
        ("a8w8:fp8", A8W8_V2,
         CkVariant(Spec.DEFAULT, True, Tail.FULL, False), 6),
        ("a8w8:fp8", A8W8_V2,
         CkVariant(Spec.DEFAULT, True, Tail.TWO, False), 5),
        ("a8w8_blockscale", BLOCKSCALE_V1,
         CkVariant(Spec.DEFAULT, True, Tail.FULL, False), 3),
        ("a8w8_blockscale", BLOCKSCALE_V1,
         CkVariant(Spec.DEFAULT, False, Tail.FULL, False), 2),
        ("a8w8_bpreshuffle", "a8w8_bpreshuffle_128x16x32x128_16x16_16x16_8x16x1_8x16x1_1x16x1x8_4x4x1_1x1_intrawave_v1",
         CkVariant(Spec.DEFAULT, True, Tail.ODD, False), 3),
        ("batched_bf16", "bf16_batched_128x16x32x64_16x16_1x1_8x16x1_8x16x1_1x16x1x8_4x4x1_1x1_interwave_v2",
         CkVariant(Spec.DEFAULT, True, Tail.ONE, False), 4),
        ("batched_bf16", "bf16_batched_256x128x128x64_32x32_2x2_8x32x1_8x32x1_1x32x1x8_8x8x1_1x1_intrawave_v5",
         CkVariant(Spec.DEFAULT, True, Tail.EVEN, False), 4),
    ],
)  # fmt: skip
def test_copies_of_a_step_are_those_of_compiled_kernels(
    signature: str, kernel: str, variant: CkVariant, turns: int
) -> None:
    assert copies(instance_of(signature, kernel), variant) == turns


def test_every_kernel_of_the_tables_has_an_instruction() -> None:
    for instance, arch, _ in ck_uses():
        assert steps(instance, arch), (instance.name, arch)
        assert waves_per_simd(instance) in (1, 2)
        assert all(copies(instance, variant) >= 1 for variant in all_variants(instance))


def test_only_block_scaled_kernels_may_spill() -> None:
    """The recorded kernel may, its neighbour and the plain one may not."""
    large = "a4w4_blockscale_256x128x512x128_16x16_16x16_8x32x1_8x32x1_1x32x1x8_8_2x2_intrawave_v3"
    even, odd = (CkVariant(Spec.DEFAULT, hot=True, tail=tail, add=False) for tail in (Tail.EVEN, Tail.ODD))
    instance = instance_of("a4w4_blockscale", large, "gfx950")
    assert expected(instance, "gfx950", even).spills == 72
    assert expected(instance, "gfx950", even).scratch_bytes == 212
    assert expected(instance, "gfx950", odd).spills == 0


def with_tile(alias: str, m: int, n: int, k: int) -> Instance:
    """The kernel of `KERNELS` with another macro tile, which the launch bound is a function of."""
    instance = instance_of(alias, KERNELS[alias][0], "gfx950")
    assert isinstance(instance.config, CkConfig)
    return replace(instance, config=replace(instance.config, tile=Tile(m, n, k)))


@pytest.mark.parametrize(
    ("alias", "tile", "waves"),
    [
        ("a8w8:fp8", (128, 256, 512), 2), ("a8w8:fp8", (129, 256, 512), 1),  # 128 accumulators of a work-item
        ("a8w8_blockscale", (64, 256, 128), 2), ("a8w8_blockscale", (65, 256, 128), 1),  # 64
        ("a4w4_blockscale", (128, 128, 128), 2), ("a4w4_blockscale", (129, 128, 128), 1),
        ("batched_bf16", (16, 16, 32), 1),  # pipeline 4 has never two
    ],
)  # fmt: skip
def test_launch_bounds_ask_for_two_waves_up_to_so_many_accumulators(
    alias: str, tile: tuple[int, int, int], waves: int
) -> None:
    assert waves_per_simd(with_tile(alias, *tile)) == waves


@pytest.mark.parametrize(
    ("kernel", "registers"),
    [
        ("256x192x128x128_16x16_16x16_8x32x1_8x32x1_1x32x1x8_8x8x1_2x1_intrawave_v3", 24 * 5 + 16 * 2 + 96),
        ("256x80x192x256_16x16_16x16_16x16x1_16x16x1_1x16x1x16_4x4x1_1x1_intrawave_v3", 20 * 5 + 48 * 2 + 60),
        ("256x112x128x256_16x16_16x16_16x16x1_16x16x1_1x16x1x16_8x8x1_1x2_intrawave_v3", 28 * 5 + 32 * 2 + 56),
        ("256x96x128x256_16x16_16x16_16x16x1_16x16x1_1x16x1x16_8x8x1_1x2_intrawave_v3", 24 * 5 + 32 * 2 + 48),
        ("256x16x512x256_16x16_16x16_16x16x1_16x16x1_1x16x1x16_8x8x1_1x2_intrawave_v2", 4 * 5 + 128 * 2 + 32),
        ("256x32x256x256_16x16_16x16_16x16x1_16x16x1_1x16x1x16_8x8x1_1x2_intrawave_v1", 8 * 5 + 64 * 2 + 32),
    ],
)
def test_preshuffled_kernels_ask_for_two_waves_below_256_registers(kernel: str, registers: int) -> None:
    """A for itself and each wave along N, B twice, the accumulators: the invoker's estimate."""
    assert waves_per_simd(instance_of("a8w8_bpreshuffle", f"a8w8_bpreshuffle_{kernel}")) == (
        1 if registers >= 256 else 2
    )


BPRESHUFFLE = "a8w8_bpreshuffle_256x16x64x256_16x16_16x16_16x16x1_16x16x1_1x16x1x16_4x4x1_1x1_intrawave_v"


@pytest.mark.parametrize(
    ("alias", "kernel", "hot", "tail", "turns"),
    [
        ("a8w8:fp8", KERNELS["a8w8:fp8"][0], False, Tail.FULL, 1), ("a8w8:fp8", A8W8_V2, True, Tail.ONE, 4),
        ("a8w8:fp8", A8W8_V2, True, Tail.THREE, 6),
        ("batched_bf16", KERNELS["batched_bf16"][0], True, Tail.ODD, 5),
        ("a8w8_bpreshuffle", BPRESHUFFLE + "2", True, Tail.ODD, 5),
        ("a8w8_bpreshuffle", BPRESHUFFLE + "2", True, Tail.EVEN, 4),
        ("a8w8_bpreshuffle", BPRESHUFFLE + "1", True, Tail.EVEN, 4),
        ("a8w8_bpreshuffle", BPRESHUFFLE + "1", False, Tail.ODD, 1),
        ("a8w8_bpreshuffle", BPRESHUFFLE + "1", False, Tail.EVEN, 2),
        ("a8w8_blockscale", BLOCKSCALE_V1, True, Tail.ODD, 2), ("a8w8_blockscale", BLOCKSCALE_V1, False, Tail.ODD, 1),
        ("a8w8_blockscale", BLOCKSCALE_V3, False, Tail.FULL, 2),
    ],
)  # fmt: skip
def test_a_step_stands_as_often_as_loop_and_tail_turn(
    alias: str, kernel: str, hot: bool, tail: Tail, turns: int
) -> None:
    assert copies(instance_of(alias, kernel), CkVariant(Spec.DEFAULT, hot, tail, add=False)) == turns


def test_the_tails_of_pipeline_2_are_counted_and_a_full_one_is_all_stages() -> None:
    instance = instance_of("a8w8:fp8", A8W8_V2)
    counted = (Tail.ONE, Tail.TWO, Tail.THREE, Tail.FOUR, Tail.FIVE, Tail.SIX, Tail.SEVEN, Tail.FULL)
    found = [copies(instance, CkVariant(Spec.DEFAULT, True, tail, add=False)) for tail in counted]
    assert found == [4, 5, 6, 7, 8, 9, 10, 6]
