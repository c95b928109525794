"""CUTLASS's kernels: what is legal passes, each rule refuses one change, vendors keep to their own GPUs."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import pytest

from ckgen.families.gemm.config import CutlassConfig, CutlassSchedule, FmaConfig
from ckgen.families.gemm.robust import robust_configs
from ckgen.families.gemm.signature import parse_canonical
from ckgen.families.rules import judge
from ckgen.model.arch import ArchKind
from ckgen.model.config import Tile
from ckgen.specs.archs import load_arch, load_archs

HOPPER = load_arch("sm_90a")
BF16 = parse_canonical("gemm_bf16_rcr")
PLAIN = CutlassConfig(Tile(128, 256, 64), (2, 1), CutlassSchedule.CO)


def broken(signature: str = "gemm_bf16_rcr", **changes: Any) -> set[str]:
    config = replace(PLAIN, **changes)
    return {found.rule for found in judge(parse_canonical(signature), config, config.backend, HOPPER)}


OF_BLOCKS = CutlassConfig(Tile(128, 128, 128), (1, 1), CutlassSchedule.CO)
SHARED = replace(PLAIN, stream_k=True)


@pytest.mark.parametrize(
    "signature",
    [
        "gemm_bf16_rcr",
        "gemm_fp16_rcr",
        "gemm_bf16_rcr_batched",
        "grouped_gemm_bf16_rcr",
        "grouped_gemm_bf16_rcr_bias",
        "grouped_gemm_bf16_rcr_epi_relu_scale",
        "grouped_gemm_fp16_rcr_bias_epi_silu_mul_add",
        "gemm_bf16_rcr_bias",
        "gemm_fp16_rcr_batched_bias_epi_add_gelu",
        "gemm_bf16_rrr",
        "gemm_fp16_ccr_batched",
        "gemm_bf16_crr_bias_epi_gelu",
    ],
)
def test_a_product_of_16_bit_floats_is_legal(signature: str) -> None:
    assert broken(signature) == set()


@pytest.mark.parametrize("types", ["fp8_ocp_bf16", "fp8_ocp_fp16", "bf8_ocp_bf16"])
@pytest.mark.parametrize("scales", ["rowwise", "per_tensor", "blockscale"])
def test_products_of_8_bit_floats_with_scales_are_legal(types: str, scales: str) -> None:
    signature = parse_canonical(f"gemm_{types}_rcr_{scales}")
    for config in (OF_BLOCKS, replace(OF_BLOCKS, tile=Tile(128, 16, 128), swap=True)):
        assert judge(signature, config, config.backend, HOPPER) == ()


@pytest.mark.parametrize(
    "signature",
    [
        "gemm_int8_bf16_rcr_rowwise",
        "gemm_int8_fp16_rcr_per_tensor",
        "gemm_int8_bf16_rcr_rowwise_batched_bias_epi_silu",
        "gemm_int8_int32_rcr",
        "gemm_int8_int32_rcr_batched",
        "gemm_fp8_ocp_bf16_rcr_rowwise_batched",
        "gemm_fp8_ocp_bf16_rcr_blockscale_batched",
        "gemm_fp8_ocp_bf16_rcr_rowwise_bias_epi_mul_silu",
        "gemm_fp8_ocp_bf16_rcr_per_tensor_bias",
        "grouped_gemm_fp8_ocp_bf16_rcr_rowwise",
        "grouped_gemm_fp8_ocp_bf16_rcr_rowwise_bias_epi_gelu",
        "grouped_gemm_fp8_ocp_bf16_rcr_rowwise_epi_silu_mul",
        "grouped_gemm_fp8_ocp_fp16_rcr_blockscale",
        "grouped_gemm_bf8_ocp_bf16_rcr_per_tensor",
        "grouped_gemm_int8_bf16_rcr_rowwise_bias",
        "grouped_gemm_int8_fp16_rcr_per_tensor",
        "grouped_gemm_int8_int32_rcr",
    ],
)
def test_products_of_8_bits_come_in_batches_and_groups_and_with_what_follows_them(signature: str) -> None:
    assert judge(parse_canonical(signature), OF_BLOCKS, OF_BLOCKS.backend, HOPPER) == ()


def test_stream_k_is_legal_of_one_product_alone() -> None:
    for signature in ("gemm_bf16_rcr", "gemm_fp8_ocp_bf16_rcr_rowwise"):
        config = replace(SHARED, tile=Tile(128, 128, 128))
        assert judge(parse_canonical(signature), config, config.backend, HOPPER) == ()


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"cluster": (2, 1)}, "cutlass.blocks"),
        ({"stream_k": True}, "cutlass.blocks"),
        ({"tile": Tile(128, 64, 128)}, "cutlass.blocks"),
        ({"tile": Tile(64, 128, 256), "schedule": CutlassSchedule.PP}, "cutlass.blocks"),
        ({"tile": Tile(256, 128, 128)}, "cutlass.blocks"),
        ({"signature": "gemm_fp8_ocp_bf16_rcr_blockscale_scales_b_128x128"}, "cutlass.blocks"),
        ({"signature": "gemm_fp8_ocp_bf16_rcr"}, "cutlass.types"),
        ({"signature": "gemm_fp8_ocp_bf16_rrr_rowwise"}, "cutlass.signature"),
        ({"signature": "gemm_int8_bf16_ccr_rowwise"}, "cutlass.signature"),
        ({"signature": "gemm_int8_bf16_rcr_blockscale"}, "cutlass.types"),
        ({"signature": "gemm_int8_bf16_rcr"}, "cutlass.types"),
        ({"signature": "gemm_int8_int32_ccr"}, "cutlass.signature"),
        ({"signature": "gemm_int8_int32_rcr_bias"}, "cutlass.store"),
        ({"signature": "gemm_int8_int32_rcr_epi_relu"}, "cutlass.store"),
        ({"signature": "gemm_int8_bf16_rcr_rowwise", "tile": Tile(128, 40, 128)}, "cutlass.instruction"),
        ({"signature": "grouped_gemm_int8_int32_rcr_epi_relu"}, "cutlass.store"),
        ({"signature": "grouped_gemm_int8_bf16_rcr_blockscale"}, "cutlass.types"),
        ({"signature": "gemm_fp16_rcr_per_tensor"}, "cutlass.types"),
        ({"signature": "gemm_fp8_ocp_bf16_rcr_blockscale_bias"}, "cutlass.store"),
        ({"signature": "grouped_gemm_fp8_ocp_bf16_rcr_blockscale_epi_mul"}, "cutlass.store"),
        ({"signature": "grouped_gemm_fp8_ocp_bf16_rcr_blockscale", "cluster": (1, 2)}, "cutlass.blocks"),
    ],
)
def test_each_rule_of_scales_refuses(changes: dict[str, Any], rule: str) -> None:
    changes = {"signature": "gemm_fp8_ocp_bf16_rcr_blockscale", **changes}
    signature = parse_canonical(changes.pop("signature"))
    config = replace(OF_BLOCKS, **changes)
    assert rule in {found.rule for found in judge(signature, config, config.backend, HOPPER)}


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"signature": "grouped_gemm_bf16_rrr"}, "cutlass.signature"),
        ({"signature": "gemm_bf16_rcr_a_add"}, "cutlass.signature"),
        ({"signature": "gemm_bf16_rcr_preshuffle"}, "cutlass.signature"),
        ({"signature": "gemm_bf16_rcr_bias", "stream_k": True}, "cutlass.store"),
        ({"signature": "grouped_gemm_bf16_rcr", "stream_k": True}, "cutlass.stream-k"),
        ({"signature": "gemm_bf16_fp32_rcr"}, "cutlass.types"),
        ({"tile": Tile(128, 264, 64)}, "cutlass.instruction"),
        ({"stream_k": True, "schedule": CutlassSchedule.PP, "tile": Tile(64, 128, 64)}, "cutlass.stream-k"),
        ({"stream_k": True, "signature": "gemm_bf16_rcr_batched"}, "cutlass.stream-k"),
        ({"tile": Tile(64, 256, 64)}, "cutlass.tile"),
        ({"tile": Tile(128, 128, 32)}, "cutlass.tile"),
        ({"tile": Tile(256, 256, 64)}, "cutlass.tile"),
        ({"tile": Tile(256, 128, 256)}, "cutlass.shared"),
        ({"cluster": (4, 4)}, "cutlass.cluster"),
        ({"cluster": (3, 1)}, "cutlass.cluster"),
    ],
)
def test_each_rule_refuses(changes: dict[str, Any], rule: str) -> None:
    assert rule in broken(**changes)


OF_CLUSTERS = CutlassConfig(Tile(64, 64, 128), (1, 1), CutlassSchedule.KC, swap=True, parts=4)
BLOCKS = "gemm_fp8_ocp_bf16_rcr_blockscale"


@pytest.mark.parametrize(
    "signature",
    ["gemm_bf16_rcr", "gemm_fp16_rcr_batched", BLOCKS, f"{BLOCKS}_batched", "gemm_bf16_rrr", "gemm_bf16_ccr_bias",
     "gemm_fp16_rcr_epi_silu_mul"],
)  # fmt: skip
def test_a_cluster_shares_k_of_products_of_one_warpgroup_or_two(signature: str) -> None:
    for parts, rows, swap in product((2, 3, 8), (64, 128), (False, True)):
        tile = Tile(rows, 64, 128 if rows == 64 or "fp8" in signature else 64)
        config = replace(OF_CLUSTERS, parts=parts, tile=tile, swap=swap)
        assert judge(parse_canonical(signature), config, config.backend, HOPPER) == ()


def test_of_kc_too_a_side_of_the_tile_is_within_a_block_of_b() -> None:
    wide = replace(OF_CLUSTERS, tile=Tile(64, 96, 128))
    found = [judge(parse_canonical(BLOCKS), replace(wide, swap=swap), wide.backend, HOPPER) for swap in (False, True)]
    assert [{one.rule for one in findings} for findings in found] == [{"cutlass.blocks"}, set()]


@pytest.mark.parametrize(
    "changes",
    [
        {"schedule": CutlassSchedule.PP},
        {"stream_k": True},
        {"cluster": (2, 1)},
        {"parts": 16},
        {"tile": Tile(256, 64, 64)},
        {"tile": Tile(64, 64, 256)},
        {"signature": "grouped_gemm_bf16_rcr"},
        {"signature": "gemm_fp8_ocp_bf16_rcr_rowwise"},
        {"signature": BLOCKS, "parts": 1},
    ],
)
def test_parts_of_k_are_refused_beside_what_their_kernel_does_not_do(changes: dict[str, Any]) -> None:
    assert "cutlass.parts" in broken(
        **{**{name: getattr(OF_CLUSTERS, name) for name in OF_CLUSTERS.__slots__}, **changes}
    )


@pytest.mark.parametrize(
    "arch", [arch for arch in load_archs().values() if arch.kind is ArchKind.GPU], ids=lambda arch: arch.name
)
def test_a_backend_makes_code_for_its_own_vendors_gpus(arch: Any) -> None:
    for config in (PLAIN, FmaConfig(Tile(64, 64, 16))):
        found = {one.rule for one in judge(BF16, config, config.backend, arch)}
        is_own = config.backend.vendor == str(arch.vendor)
        assert (f"{config.backend}.vendor" in found) is not is_own


def test_the_robust_kernel_of_hopper_is_one_of_its_vendors() -> None:
    legal = [
        config
        for (config,) in robust_configs(BF16, HOPPER)
        if not judge(BF16, config, config.backend, HOPPER)  # type: ignore[arg-type]
    ]
    assert {str(config.backend) for config in legal} == {"cutlass"}
