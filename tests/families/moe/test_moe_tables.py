"""What rows of MoE tables mean: signatures, the kernels that names spell, and where a name contradicts its row."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckgen.families.gemm.enums import MoePart
from ckgen.families.moe.asm_kernels import asm_moe_kernels
from ckgen.families.moe.tables import (
    config_of,
    is_shipped,
    moe_signature_of,
    operations_of,
    why_no_signature,
    why_unavailable,
)
from ckgen.model.diagnostic import Location
from ckgen.model.dtype import DType, Fp8Flavour
from ckgen.model.errors import UsageError
from ckgen.model.groups import Routing
from ckgen.model.moe_row import GateMode, MoeActivation, MoeDiscriminators, MoeRow, MoeScales, MoeStage
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape
from ckgen.specs import load_arch

FIRST = "moe_ck2stages_gemm1_256x32x64x128_1x4_MulABScale_v1_Nswizzle0_Quant2_MulRoutedWeight0_silu_F8_F8_B16"
SECOND = "moe_ck2stages_gemm2_256x32x64x128_1x4_MulABScaleExpertWeight_v1_Nswizzle0_Quant2_MulRoutedWeight1_F8_F8_B16"
KEY = MoeDiscriminators(
    in_dtype=DType.FP8, weight_dtype=DType.FP8, out_dtype=DType.BF16, scales=MoeScales.PER_TOKEN
)  # fmt: skip
SHIPPED = {kernel.config.name: symbol for symbol, kernel in asm_moe_kernels().items()}
STAGE = SHIPPED["fmoe_stage1_bf16_pertokenFp8_g1u1_32x512_pf3"]
WHOLE = SHIPPED["fmoe_bf16_pertokenFp8_g1u1_vs_silu_1tg_32x192"]


def row(*kernels: str, key: MoeDiscriminators = KEY, block_m: int | None = 32, top_k: int | None = 2) -> MoeRow:
    stages = tuple(MoeStage("asm" if one in asm_moe_kernels() else "ck", one, None, None) for one in kernels)
    return MoeRow(
        Location("t.csv", 2), 0, "fmoe", Target("gfx942", 304), 304,
        Shape(Routing(8, 2).lookup_key, 5, 96, 128), key, "ck", "k", None, 1.0, 0.0, 8, top_k, stages, block_m,
    )  # fmt: skip


def why(one: MoeRow) -> str | None:
    return why_unavailable(one, [moe_signature_of(one, Fp8Flavour.FNUZ)])


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"activation": MoeActivation.SWIGLU}, "activation Swiglu"),
        ({"gate_mode": GateMode.INTERLEAVE}, "GateMode.INTERLEAVE"), ({"max_m": 0}, "max_m = 0"),
        ({"shared_expert": 0}, "shared_expert_id = 0"), ({"hidden_pad": 3}, "pads of 3 and 0"),
        ({"inter_pad": 4}, "pads of 0 and 4"), ({"tag": "x"}, "_tag = x"),
        ({"weight_dtype": DType.INT4}, "a preshuffled int4 W"),
    ],
)  # fmt: skip
def test_what_no_signature_says(changes: dict[str, object], says: str) -> None:
    one = row(FIRST, SECOND, key=replace(KEY, **changes))  # type: ignore[arg-type]
    assert why_no_signature(one) == why_unavailable(one, []) == f"no signature says {says}"


def test_a_row_without_its_top_k_answers_nothing() -> None:
    assert why_no_signature(row(FIRST, SECOND, top_k=None)) == "no signature says topk is not told"
    assert why_no_signature(row(FIRST, SECOND)) is None


@pytest.mark.parametrize(
    ("changes", "canonical"),
    [
        ({}, "fp8_fnuz_bf16_rcr_rowwise_preshuffle_layer_gated_epi_silu"),
        ({"activation": MoeActivation.GELU, "gated": False}, "fp8_fnuz_bf16_rcr_rowwise_preshuffle_layer_epi_gelu"),
        ({"weight_first": True}, "fp8_fnuz_bf16_rcr_rowwise_preshuffle_layer_gated_weightfirst_epi_silu"),
        ({"scales": MoeScales.PER_TENSOR}, "fp8_fnuz_bf16_rcr_per_tensor_preshuffle_layer_gated_epi_silu"),
        ({"scales": MoeScales.PER_128X128}, "fp8_fnuz_bf16_rcr_blockscale_preshuffle_layer_gated_epi_silu"),
        ({"scales": MoeScales.PER_1X128}, "fp8_fnuz_bf16_rcr_blockscale_preshuffle_layer_gated_epi_silu"),
        ({"in_dtype": DType.FP4, "weight_dtype": DType.FP4, "scales": MoeScales.PER_1X32},
         "fp4_bf16_rcr_mx_preshuffle_layer_gated_epi_silu"),
        ({"in_dtype": DType.BF16, "weight_dtype": DType.BF16, "scales": MoeScales.NONE},
         "bf16_rcr_preshuffle_layer_gated_epi_silu"),
    ],
)  # fmt: skip
def test_the_signature_of_a_row(changes: dict[str, object], canonical: str) -> None:
    one = row(FIRST, SECOND, key=replace(KEY, **changes))  # type: ignore[arg-type]
    assert moe_signature_of(one, Fp8Flavour.FNUZ).canonical() == f"moe_{canonical}"


def test_types_that_mean_nothing_are_an_error() -> None:
    one = row(FIRST, SECOND, key=replace(KEY, in_dtype=DType.INT8))
    with pytest.raises(UsageError, match=r"^row of fmoe means nothing: "):
        moe_signature_of(one, None)


@pytest.mark.parametrize(
    ("first", "second", "block_m", "says"),
    [
        (FIRST, SECOND, 32, None), (FIRST, SECOND, None, None), ("other", "another", 32, None),
        (FIRST.replace("F8_F8_B16", "B16_F8_B16"), SECOND, 32,
         "kernelName1 says A bf16, the row says fp8_fnuz"),
        (FIRST, SECOND.replace("F8_F8_B16", "F8_I8_B16"), 32, "kernelName2 says W int8, the row says fp8_fnuz"),
        (FIRST.replace("F8_F8_B16", "F8_F8_F16"), SECOND, 32, "kernelName1 says C fp16, the row says bf16"),
        (FIRST.replace("Quant2", "Quant1"), SECOND, 32, "kernelName1 says scales per_tensor, the row says rowwise"),
        (FIRST.replace("Weight0", "Weight1"), SECOND, 32,
         "kernelName1 says routing weight True, the row says False"),
        (FIRST, SECOND.replace("RoutedWeight1", "RoutedWeight0"), 32,
         "kernelName2 says routing weight False, the row says True"),
        (FIRST.replace("silu", "gelu"), SECOND, 32, "kernelName1 says activation gelu, the row says silu"),
        (FIRST, SECOND, 64, "kernelName1 takes blocks of 32 rows, the row says block_m 64"),
        (STAGE, SECOND, 64, "kernelName1 takes blocks of 32 rows, the row says block_m 64"),
        (STAGE, SECOND, 32, None),
    ],
)  # fmt: skip
def test_a_name_that_contradicts_its_row_says_in_what(
    first: str, second: str, block_m: int | None, says: str | None
) -> None:
    assert why(row(first, second, block_m=block_m)) == says


def test_stages_spell_a_pair_and_one_kernel_a_whole_layer() -> None:
    pair = config_of(row(FIRST, SECOND).stages)
    assert pair is not None and pair.text().startswith("gateup_ck_256x32x64x128")
    assert config_of(row(WHOLE).stages) == asm_moe_kernels()[WHOLE].config
    mixed = config_of(row(STAGE, SECOND).stages)
    assert mixed is not None and "fmoe_stage1" in mixed.text()
    for wrong in ((SECOND, FIRST), (FIRST, FIRST), (WHOLE, SECOND), (STAGE,), (FIRST,), ("other",), (FIRST, "other")):
        assert config_of(row(*wrong).stages) is None


@pytest.mark.parametrize(
    ("kernels", "stage", "changes", "arch", "found"),
    [
        ((WHOLE,), 0, {}, "gfx942", True), ((WHOLE,), 0, {}, "gfx90a", False),
        ((STAGE, SECOND), 0, {}, "gfx950", True), ((STAGE, SECOND), 1, {}, "gfx950", False),
        ((WHOLE,), 0, {"activation": MoeActivation.GELU}, "gfx942", False),
        ((WHOLE,), 0, {"tag": "x"}, "gfx942", False), ((WHOLE,), 0, {"scales": MoeScales.NONE}, "gfx942", False),
        ((FIRST, SECOND), 0, {}, "gfx942", False), ((WHOLE, SECOND), 0, {}, "gfx942", False),
    ],
)  # fmt: skip
def test_what_amd_ships_for_an_arch(
    kernels: tuple[str, ...], stage: int, changes: dict[str, object], arch: str, found: bool
) -> None:
    one = row(*kernels, key=replace(KEY, **changes))  # type: ignore[arg-type]
    assert is_shipped(one, stage, load_arch(arch)) is found


def test_operations_are_of_three_products_or_of_two() -> None:
    assert operations_of(row(FIRST, SECOND)) == 2 * 3 * 5 * 2 * 96 * 128
    assert operations_of(row(FIRST, key=replace(KEY, gated=False), top_k=None)) == 2 * 2 * 5 * 96 * 128


def test_shipped_kernels_have_the_parts_that_their_names_say() -> None:
    assert {asm_moe_kernels()[one].part for one in (STAGE, WHOLE)} == {MoePart.GATE_UP, MoePart.LAYER}
