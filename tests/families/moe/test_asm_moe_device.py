"""MoE kernels that AMD ships as device code."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckgen.families.common.device.shipped import ShippedVariant
from ckgen.families.common.device.unit import prepare_symbol
from ckgen.families.gemm.instance import Instance
from ckgen.families.moe.asm_kernels import asm_moe_kernel_of, asm_moe_kernels
from ckgen.families.moe.device import asm_moe
from ckgen.families.registry import make_instance
from ckgen.model.dtype import Fp8Flavour
from ckgen.specs import load_arch

KERNELS = {kernel.config.name: kernel for kernel in asm_moe_kernels().values()}
LAYER = "fmoe_bf16_pertokenFp8_g1u1_vs_silu_1tg_32x192"
SHARED = "fmoe_bf16_blockscaleFp8_g1u1_novs_silu_1tg_ps_32x256"
FIRST = "fmoe_stage1_bf16_pertokenFp8_doweight_g1u1_32x64_4tg_pf3"
INT8 = "fmoe_stage1_bf16_pertokenInt8_g1u1_64x128_2tg_pf3"


def instance(name: str, which: int = 0, flavour: Fp8Flavour = Fp8Flavour.FNUZ) -> Instance:
    kernel = KERNELS[name]
    return make_instance(
        kernel.signatures(flavour)[which], kernel.config, kernel.archs, module="fmoe", table_kernel=kernel.symbol,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "which", "said"),
    [
        (LAYER, 0, ("false", 0, "false", "false", [32, 192])), (SHARED, 0, ("true", 1, "false", "false", [32, 256])),
        (FIRST, 0, ("false", 0, "false", "true", [32, 64])), (FIRST, 1, ("false", 0, "true", "true", [32, 64])),
    ],
)  # fmt: skip
def test_the_host_unit_says_what_the_name_says(name: str, which: int, said: tuple[object, ...]) -> None:
    one, kernel = instance(name, which), KERNELS[name]
    unit = asm_moe.host_unit(one, {"gfx942": (ShippedVariant(),)})
    keys = ("block_scales", "groups_per_cu", "gelu", "weighted", "tile")
    assert tuple(unit.values[key] for key in keys) == said
    assert unit.template == "device/asm_moe_host.cpp.j2" and unit.symbols == (prepare_symbol(one.id),)
    assert (unit.values["symbol"], unit.values["kind"]) == (kernel.symbol, kernel.config.kind)
    assert unit.values["block"] == kernel.objects[0].block == 256
    assert asm_moe.KIND.symbol(one, ShippedVariant()) == kernel.symbol
    assert asm_moe.KIND.device_unit(one, (ShippedVariant(),)).symbols == (kernel.symbol,)


def test_a_kernel_is_there_where_it_is_shipped_for_what_it_computes() -> None:
    fnuz, ocp = instance(LAYER), instance(LAYER, flavour=Fp8Flavour.OCP)
    assert asm_moe.unavailable(fnuz, "gfx942") is asm_moe.unavailable(ocp, "gfx950") is None
    assert asm_moe.unavailable(fnuz, "gfx950") == f"{LAYER} computes another layer"
    assert asm_moe.unavailable(fnuz, "gfx90a") == f"{LAYER} is shipped for gfx942, gfx950 only"
    other = replace(fnuz, signature=instance(SHARED).signature)
    assert asm_moe.unavailable(other, "gfx942") == f"{LAYER} computes another layer"


@pytest.mark.parametrize(("name", "suffix"), [(LAYER, "_fp8_fp8"), (INT8, "_i8")])
def test_products_are_in_the_operands_type(name: str, suffix: str) -> None:
    demand = asm_moe.expected(instance(name), "gfx942", ShippedVariant())
    assert demand.steps and all(found.endswith(suffix) and count == 1 for found, count in demand.steps)
    assert (demand.copies, demand.scratch_bytes, demand.spills, demand.waves_per_simd) == (0, 0, 0, 1)
    assert demand.lds_bytes == load_arch("gfx942").lds_bytes


def test_what_names_say() -> None:
    for name, activations in ((LAYER, ["silu"]), (FIRST, ["silu", "gelu"])):
        signatures = KERNELS[name].signatures(Fp8Flavour.OCP)
        assert [one.epilogue[0].value for one in signatures] == activations
        assert all(one.moe.gated and one.preshuffle_b and not one.problems() for one in signatures)
    assert [str(KERNELS[name].signatures(Fp8Flavour.OCP)[0]) for name in (LAYER, SHARED, FIRST, INT8)] == [
        "moe_fp8_ocp_bf16_rcr_rowwise_preshuffle_layer_gated_epi_silu",
        "moe_fp8_ocp_bf16_rcr_blockscale_preshuffle_layer_gated_epi_silu",
        "moe_fp8_ocp_bf16_rcr_rowwise_preshuffle_gate_up_gated_weightfirst_epi_silu",
        "moe_int8_bf16_rcr_rowwise_preshuffle_gate_up_gated_epi_silu",
    ]
    assert all(asm_moe_kernel_of(kernel.config) is kernel for kernel in KERNELS.values())
