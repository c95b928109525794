"""Kernels of fused multiply-adds as device code: the traits that a unit says, and what the machine code must be."""

from __future__ import annotations

from ckgen.emit.device import render_device_unit
from ckgen.families.gemm.config import FmaConfig
from ckgen.families.gemm.device import hip_fma
from ckgen.families.gemm.instance import Instance
from ckgen.families.gemm.signature import parse_canonical
from ckgen.families.registry import family_of, make_instance
from ckgen.model.config import Tile

NAME = "gemm_bf16_fp32_rcr_batched_bias_a_add_epi_mul_gelu_add"


USUAL = Tile(64, 64, 16)


def instance_of(name: str, tile: Tile = USUAL) -> Instance:
    return make_instance(parse_canonical(name), FmaConfig(tile), archs=("gfx942",))


def test_a_unit_says_all_that_the_kernel_computes() -> None:
    instance = instance_of(NAME)
    (variant,) = hip_fma.all_variants(instance)
    text = render_device_unit(hip_fma.device_unit(instance, [variant]))
    said = " ".join(text.split())
    assert (
        "traits{ckgen::DType::bf16, ckgen::DType::bf16, ckgen::DType::fp32, ckgen::DType::fp32, ckgen::Layout::rcr,"
        " ckgen::Quant::none, false, true,"
        " {{ckgen::EpilogueOp::mul, ckgen::EpilogueOp::gelu, ckgen::EpilogueOp::add}},"
        " ckgen::OperandOp::add, ckgen::OperandOp::none, {ckgen::ScaleSides::both, 128, 128}}"
    ) in said
    assert said.endswith(", traits, 64, 64, 16)")
    blocks = instance_of("gemm_fp8_ocp_bf16_rcr_blockscale_scales_b_1x64")
    assert hip_fma.traits(blocks.signature)[-1] == "{ckgen::ScaleSides::b, 1, 64}"


def test_the_host_unit_counts_in_the_tile() -> None:
    instance = instance_of(NAME, Tile(128, 64, 16))
    unit = hip_fma.host_unit(instance, {"gfx942": hip_fma.all_variants(instance)})
    assert '", 128, 64}' in render_device_unit(unit)


def test_groups_have_a_kernel_and_two_that_make_its_table() -> None:
    instance = instance_of("grouped_gemm_fp32_ccr_bias")
    code = family_of(instance.signature).device_code(instance)
    assert [one.name for one in code.all_variants()] == ["fma", "upload", "describe"]
    unit, host = code.device_unit(code.all_variants()), code.host_unit({"gfx942": code.all_variants()})
    text, host_text = render_device_unit(unit), render_device_unit(host)
    assert all(text.count(symbol) == 1 and symbol in host_text for symbol in unit.symbols)
    assert [code.expected("gfx942", one).lds_bytes for one in code.all_variants()] == [8192, 0, 0]


def test_machine_code_has_no_matrix_instruction_and_a_step_in_lds() -> None:
    instance = instance_of(NAME)
    demands = hip_fma.expected(instance, "gfx942", *hip_fma.all_variants(instance))
    assert (demands.steps, demands.lds_bytes, demands.spills, demands.scratch_bytes) == ((), 8192, 16, 0)


def test_no_arch_lacks_them_and_k_is_not_split() -> None:
    code = family_of(parse_canonical(NAME)).device_code(instance_of(NAME))
    assert code.unavailable("gfx1250") is None
    assert "all of K" in str(code.splits_unavailable("gfx942"))
    assert instance_of(NAME).constraints.max_k_batch == 1
