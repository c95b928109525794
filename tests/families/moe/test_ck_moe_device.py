"""Classic ck's MoE products as device code: constants that the names leave out, variants, units, demands."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckgen.emit.device import render_device_unit
from ckgen.families.common.device.unit import Use, moe_symbol
from ckgen.families.gemm.device.ck_variants import CkVariant
from ckgen.families.gemm.enums import EpilogueOp, MoePart, MoeTraits, Op, Quant
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.signature import GemmSignature
from ckgen.families.moe.ck_config import CkMoeOp
from ckgen.families.moe.device import ck_moe
from ckgen.families.moe.device.stages import QUANTIZE, SORT
from ckgen.families.moe.grammar import parse_name
from ckgen.families.registry import make_instance
from ckgen.model.config import Tile
from ckgen.model.dtype import Fp8Flavour
from ckgen.model.tuned_row import Shape

BF16_1 = "moe_ck2stages_gemm1_256x32x64x64_1x4_TypeCast_v1_Nswizzle0_Quant0_MulRoutedWeight0_silu_B16_B16_B16"
BF16_2 = "moe_ck2stages_gemm2_256x128x128x64_1x4_TypeCastExpertWeight_v3_Nswizzle0_Quant0_MulRoutedWeight1_B16_B16_B16"
FP8_1 = "moe_ck2stages_gemm1_256x32x64x128_1x4_MulABScale_v1_Nswizzle0_Quant2_MulRoutedWeight1_gelu_F8_F8_B16"
FEW_1 = "moe_ck2stages_gemm1_256x16x64x256_1x4_MulABScale_v1_Nswizzle0_Quant2_MulRoutedWeight0_silu_F8_F8_B16"
FP8_2 = "moe_ck2stages_gemm2_256x32x64x128_1x4_MulABScaleExpertWeight_v1_Nswizzle0_Quant1_MulRoutedWeight0_F8_F8_B16"
BLOCK_2 = (
    "moe_ck2stages_gemm2_256x16x128x256_1x4_MulABScaleExpertWeightA8W8blkscale_v1"
    "_Nswizzle0_Quant4_MulRoutedWeight1_F8_F8_B16"
)
SPLIT_1 = (
    "moe_ck2stages_gemm1_256x32x128x128_1x4_MulABScaleExpertWeightA8W8blkscaleSplitk_v1"
    "_Nswizzle0_Quant4_MulRoutedWeight0_silu_F8_F8_B16"
)
FP4_2 = (
    "moe_ck2stages_gemm2_64x32x32x128_1x1_MulABScaleExpertWeightShuffled_v1"
    "_Nswizzle0_Quant3_MulRoutedWeight1_FP4X2_FP4X2_B16"
)
ALL = (BF16_1, BF16_2, FP8_1, FEW_1, FP8_2, BLOCK_2, FP4_2)


def instance_of(name: str, flavour: Fp8Flavour = Fp8Flavour.FNUZ) -> Instance:
    kernel = parse_name(name)
    assert kernel is not None
    first = kernel.part is MoePart.GATE_UP
    signature = GemmSignature.of(
        kernel.a.dtype, kernel.c.dtype, quant=kernel.quant.quant, preshuffle_b=True, op=Op.MOE,
        epilogue=(kernel.activation or EpilogueOp.SILU,) if first else (),
        moe=MoeTraits(kernel.part, first, kernel.weighted is first),
    ).resolved(flavour)  # fmt: skip
    return make_instance(signature, kernel.config, module="fmoe", table_kernel=name, archs=())


def constants(name: str) -> dict[str, int]:
    return dict(ck_moe.op_values(ck_moe.product_of(instance_of(name)))["constants"])


def types(name: str) -> dict[str, str]:
    return dict(ck_moe.op_values(ck_moe.product_of(instance_of(name)))["types"])


def test_what_names_leave_out() -> None:
    """As the generators of the tables' owner: XDL tiles per wave, lanes that store C, vectors."""
    assert types(BF16_1)["CCluster"] == "S<1, 32, 1, 8>" and types(BF16_1)["CVector"] == "S<8, 1, 8, 1>"
    assert types(BF16_2)["CCluster"] == "S<1, 8, 1, 32>" and types(BF16_2)["CVector"] == "S<2, 1, 2, 1>"
    assert types(FEW_1)["CCluster"] == "S<1, 16, 1, 16>" and types(FEW_1)["CVector"] == "S<4, 1, 4, 1>"
    assert types(FP4_2)["CCluster"] == "S<1, 4, 1, 16>"
    assert types(BLOCK_2)["CCluster"] == "S<1, 16, 1, 16>"
    held = constants(BF16_2)
    assert (held["per_wave_m"], held["per_wave_n"], held["shuffle_m"], held["ak1"]) == (8, 2, 2, 8)
    assert constants(FP4_2)["k"] == 128


@pytest.mark.parametrize(
    ("name", "weighted", "silu", "per_token"),
    [(BF16_1, 0, 1, 1), (FP8_1, 1, 0, 1), (FP8_2, 0, 0, 0), (BLOCK_2, 1, 0, 1)],
)
def test_what_names_say(name: str, weighted: int, silu: int, per_token: int) -> None:
    held = constants(name)
    assert (held["weighted"], held["silu"], held["per_token"]) == (weighted, silu, per_token)


@pytest.mark.parametrize("name", ALL)
def test_units_hold_the_variants_and_the_stages(name: str) -> None:
    """Main loop or none, odd and even rest; gate_up sorts, down quantises what is not as gate_up wrote it."""
    instance = instance_of(name, Fp8Flavour.OCP)
    variants = ck_moe.all_variants(instance)
    computing = [one for one in variants if isinstance(one, CkVariant)]
    beside = [one for one in variants if not isinstance(one, CkVariant)]
    assert len(computing) == 4 and {one.add for one in computing} == {instance.signature.moe.part is MoePart.DOWN}
    scaled = instance.signature.quant is not Quant.NONE
    assert beside == ([SORT] if instance.signature.moe.part is MoePart.GATE_UP else [QUANTIZE] * scaled)
    unit, host = ck_moe.device_unit(instance, variants), ck_moe.host_unit(instance, {"gfx950": variants})
    text, host_text = render_device_unit(unit), render_device_unit(host)
    assert len(set(unit.symbols)) == len(variants) and all(text.count(symbol) == 1 for symbol in unit.symbols)
    assert moe_symbol(instance.id) in host_text and all(symbol in host_text for symbol in unit.symbols)
    for one in computing:
        demands = ck_moe.expected(instance, "gfx950", one)
        assert demands.steps and demands.copies in (1, 2, 3, 4)


def test_uses_reach_their_variants() -> None:
    instance = instance_of(BF16_1)
    found = ck_moe.reachable(instance, [Use(Shape(0, 8, 64, 64 * steps), 1) for steps in (3, 5, 2)])
    assert [one.name for one in found] == ["default_cold_even_set", "default_hot_odd_set", "sort"]
    assert ck_moe.reachable(instance, [Use(Shape(0, 8, 64, 256), 2)]) == ()


def test_refusals() -> None:
    """K splits, weights that are not preshuffled, one row for gate and up, fp4 where nothing scales."""
    assert "split" in str(ck_moe.unavailable(instance_of(SPLIT_1), "gfx942"))
    assert ck_moe.unavailable(instance_of(FP4_2), "gfx950") is None
    assert "scaled" in str(ck_moe.unavailable(instance_of(FP4_2), "gfx942"))
    plain = instance_of(BF16_1)
    as_rows = replace(plain, signature=replace(plain.signature, preshuffle_b=False))
    assert "preshuffled" in str(ck_moe.unavailable(as_rows, "gfx942"))
    shallow = replace(plain, config=replace(plain.config, pipeline=3))
    assert "4 XDL tiles" in str(ck_moe.unavailable(shallow, "gfx942"))
    swizzled = replace(plain, config=replace(plain.config, n_swizzle=True))
    assert "swizzled" in str(ck_moe.unavailable(swizzled, "gfx942"))
    odd = instance_of(FP4_2)
    odd = replace(odd, config=replace(odd.config, tile=replace(odd.config.tile, m=16)))
    assert "pairs" in str(ck_moe.unavailable(odd, "gfx950"))
    ungated = replace(plain, signature=replace(plain.signature, moe=MoeTraits(MoePart.GATE_UP, False)))
    assert "gate" in str(ck_moe.unavailable(ungated, "gfx942"))


def test_gate_and_up_have_their_matrix_instructions() -> None:
    """32x64x64 by four waves: two XDL tiles along M and one along N per wave, of 16x16x16 on gfx942."""
    instance = instance_of(BF16_1)
    hot = ck_moe.all_variants(instance)[3]
    assert dict(ck_moe.expected(instance, "gfx942", hot).steps)["v_mfma_f32_16x16x16_bf16"] == 2 * (2 * 1 * 64 // 16)


def product(name: str, **changes: object) -> ck_moe.CkMoeProduct:
    """The product that a name spells, with other numbers of its Config."""
    one = ck_moe.product_of(instance_of(name, Fp8Flavour.OCP))
    return replace(one, config=replace(one.config, **changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "changes", "says"),
    [
        (BF16_1, {}, None), (BF16_2, {}, None), (FP4_2, {}, None), (FP8_1, {"pipeline": 1}, None),
        (BF16_1, {"block": 192}, "192 work-items are not 1x4 waves"),
        (BF16_1, {"tile": Tile(24, 64, 64)}, "a tile of 24x64 is no whole number of XDL tiles per wave"),
        (BF16_1, {"tile": Tile(32, 96, 64)}, "a tile of 32x96 is no whole number of XDL tiles per wave"),
        (BF16_1, {"op": CkMoeOp.BLOCK_SCALE_SPLITK}, "the CK tree's MoE GEMMs do not split K"),
        (BF16_1, {"n_swizzle": True},
         "swizzled workgroups read counts of the experts' rows, which sorted tokens do not have"),
        (BF16_1, {"pipeline": 2}, "the CK tree's MoE GEMMs have pipelines 1 and 3, not 2"),
        (BF16_1, {"pipeline": 3, "tile": Tile(48, 64, 64)}, "pipeline 3 takes 4 XDL tiles per wave along M, not 3"),
        (BF16_1, {"pipeline": 3, "tile": Tile(64, 64, 64)}, None),
        (FP4_2, {"tile": Tile(16, 32, 128)}, "scales are packed for pairs of XDL tiles, a wave has 1x2"),
        (FP4_2, {"tile": Tile(32, 48, 128)}, "scales are packed for pairs of XDL tiles, a wave has 2x3"),
    ],
)  # fmt: skip
def test_what_the_tree_cannot_make(name: str, changes: dict[str, object], says: str | None) -> None:
    assert ck_moe.refusal(product(name, **changes)) == says


def test_what_is_no_product_of_the_trees_form() -> None:
    plain = product(BF16_1)
    layer = replace(plain.signature, moe=MoeTraits(MoePart.LAYER, True))
    alone = replace(plain.signature, moe=MoeTraits(MoePart.GATE_UP, False))
    rows = replace(plain.signature, preshuffle_b=False)
    first_fp4 = replace(product(FP4_2).signature, moe=MoeTraits(MoePart.GATE_UP, True))
    assert [ck_moe.refusal(replace(plain, signature=one)) for one in (layer, alone, rows)] == [
        "a part is one product, a layer two",
        "the CK tree's first GEMM has gate and up rows",
        "the CK tree's MoE GEMMs read preshuffled weights",
    ]
    fp4 = replace(product(FP4_2), signature=first_fp4)
    assert ck_moe.refusal(fp4) == "the CK tree's fp4 gate_up has pipeline 3 only"
    assert ck_moe.refusal(replace(fp4, config=replace(fp4.config, pipeline=3))) is None
    assert ck_moe.unavailable(instance_of(FP4_2), "gfx942") == "gfx942 has no scaled matrix instructions"
    assert ck_moe.splits_unavailable(instance_of(BF16_1), "gfx942") == "the CK tree's MoE GEMMs do not split K"


@pytest.mark.parametrize(
    ("name", "changes", "waves"),
    [
        (BF16_1, {}, 2),
        (FP8_2, {"tile": Tile(128, 128, 128)}, 2),  # 16 * 5 + 16 * 2 + 64 = 176 registers
        (FP8_2, {"tile": Tile(128, 240, 128)}, 1),  # 16 * 5 + 30 * 2 + 120 = 260
        (FP8_2, {"tile": Tile(128, 224, 128)}, 2),  # 16 * 5 + 28 * 2 + 112 = 248
        (FP8_1, {"tile": Tile(64, 112, 128)}, 2),  # 8 * 5 + 14 * 2 * 2 + 28 * 2 = 152: gate and up
        (FP8_1, {"tile": Tile(64, 256, 128)}, 1),  # 8 * 5 + 32 * 2 * 2 + 64 * 2 = 296
        (FP8_1, {"tile": Tile(64, 216, 128)}, 1),  # 8 * 5 + 27 * 2 * 2 + 54 * 2 = 256
        (FP8_1, {"tile": Tile(64, 208, 128)}, 2),  # 8 * 5 + 26 * 2 * 2 + 52 * 2 = 248
        (BF16_2, {"tile": Tile(32, 256, 64)}, 2), (BF16_2, {"tile": Tile(128, 128, 128)}, 1),
        (FP4_2, {}, 1), (FP4_2, {"pipeline": 3}, 2),
        (FP4_2, {"pipeline": 3, "tile": Tile(128, 128, 128)}, 2),
        (FP4_2, {"pipeline": 3, "tile": Tile(129, 128, 128)}, 1),
    ],
)  # fmt: skip
def test_launch_bounds_ask_for_two_waves_where_registers_are_few(
    name: str, changes: dict[str, object], waves: int
) -> None:
    assert ck_moe.waves_per_simd(product(name, **changes)) == waves


def test_steps_are_tiles_per_wave_for_gate_and_for_up() -> None:
    """32 x 64 by 1 x 4 waves is 2 x 1 tiles of 16; K of 64 in steps of 16, or in one of 32."""
    assert dict(ck_moe.steps(product(BF16_1), "gfx942"))["v_mfma_f32_16x16x16_bf16"] == 2 * 1 * 4 * 2
    assert dict(ck_moe.steps(product(BF16_1), "gfx950"))["v_mfma_f32_16x16x32_bf16"] == 2 * 1 * 2 * 2
    assert dict(ck_moe.steps(product(BF16_2), "gfx942"))["v_mfma_f32_16x16x16_bf16"] == 8 * 2 * 4
    assert all("scale" in name for name, _ in ck_moe.steps(product(FP4_2), "gfx950"))
    assert not any("scale" in name for name, _ in ck_moe.steps(product(FP8_2), "gfx950"))
