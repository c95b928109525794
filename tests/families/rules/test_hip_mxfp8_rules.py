"""Each rule of the MX-FP8 kernels: what just keeps it and what just breaks it."""

from __future__ import annotations

import pytest

from ckgen.families.gemm.config import HipConfig, HipKind
from ckgen.families.gemm.signature import parse_canonical
from ckgen.families.moe.config import MoePairConfig
from ckgen.families.rules import judge
from ckgen.model.backend import Backend
from ckgen.specs import load_arch

MXFP8 = "gemm_fp8_ocp_bf16_rcr_mx"


def broken(config: HipConfig, arch: str = "gfx950", signature: str = MXFP8) -> dict[str, tuple[object, object]]:
    found = judge(parse_canonical(signature), config, Backend.HIP, load_arch(arch))
    return {finding.rule.removeprefix("hip.mxfp8."): (finding.measured, finding.limit) for finding in found}


@pytest.mark.parametrize(
    "config",
    [
        HipConfig.gemv(1, 4, 8), HipConfig.gemv(16, 4, 8), HipConfig.gemv(4, 8, 1), HipConfig.mfma(8, 1, 16),
        HipConfig.mfma(64, 4, 4), HipConfig.mfma(64, 2, 8),
    ],
)  # fmt: skip
def test_kept(config: HipConfig) -> None:
    assert not broken(config)


@pytest.mark.parametrize(
    ("rule", "config", "measured", "limit"),
    [
        ("numbers", HipConfig.gemv(3, 4, 4), "3", "1 2 4 8 16"),
        ("numbers", HipConfig.mfma(4, 1, 4), "4", "8 16 32 64"),
        ("numbers", HipConfig.mfma(8, 1, 3), "3", "1 2 4 8 16"),
        ("numbers", HipConfig(HipKind.MFMA, 8, 1, 4, 8), "8", "16"),
        ("sums", HipConfig.gemv(1, 2, 4), 2, 4),
        ("sums", HipConfig.gemv(16, 8, 4), 128, 64),
        ("registers", HipConfig.gemv(8, 8, 4), 2 * 64 + 16 * 8 + 48, 256),
        ("registers", HipConfig.mfma(64, 2, 16), 32 + 2 * 9 * 6 + 40, 128),
        ("registers", HipConfig.mfma(256, 8, 4), 512 + 2 * 9 * 24 + 40, 512),
        ("lds", HipConfig.mfma(64, 4, 16), 16 * 4 * 4 * 1024, 163840),
    ],
)
def test_broken(rule: str, config: HipConfig, measured: object, limit: object) -> None:
    assert broken(config)[rule] == (measured, limit)


def test_other_archs_and_products_are_refused() -> None:
    config = HipConfig.gemv(1, 4, 4)
    assert broken(config, "gfx942") == {"arch": ("gfx942", "v_mfma_scale_f32_16x16x128_f8f6f4")}
    for other in ("gemm_bf8_ocp_bf16_rcr_mx", "gemm_fp8_ocp_bf16_rcr_mx_bias", "gemm_fp8_ocp_fp16_rcr_mx"):
        assert broken(config, signature=other) == {"signature": (other, MXFP8)}


EXPERTS = HipConfig.moe(HipKind.MOE_DEEP, 16, 8, 8)


@pytest.mark.parametrize("part", ["gate_up_gated_epi_silu", "gate_up_epi_relu", "gate_up_weightfirst_epi_gelu", "down"])
def test_parts_of_a_layer_are_computed(part: str) -> None:
    assert not broken(EXPERTS, signature=f"moe_fp8_ocp_bf16_rcr_mx_{part}")


def test_what_products_of_experts_do_not_compute() -> None:
    assert broken(EXPERTS) == {"signature": (MXFP8, "none")}
    layer = "moe_fp8_ocp_bf16_rcr_mx_layer_gated_epi_silu"
    assert broken(EXPERTS, signature=layer) == {"signature": (layer, "none")}
    other = "moe_fp8_ocp_bf16_rcr_mx_preshuffle_down"
    assert broken(EXPERTS, signature=other) == {"signature": ("gemm_fp8_ocp_bf16_rcr_mx_preshuffle", MXFP8)}
    down = "moe_fp8_ocp_bf16_rcr_mx_down"
    assert broken(HipConfig.mfma(16, 1, 8), signature=down) == {"signature": (down, MXFP8)}
    shallow = HipConfig.moe(HipKind.MOE_SHALLOW, 16, 8, 8)
    assert broken(shallow, signature=down) == {"numbers": ("8", "16")}
    pair = judge(parse_canonical(down), MoePairConfig(EXPERTS, EXPERTS), Backend.HIP, load_arch("gfx950"))
    assert [(finding.rule, finding.measured) for finding in pair] == [("moe.pair", down)]
