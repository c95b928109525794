"""CUTLASS's kernels as instances: names, what they ask of problems, their units, what their machine code must be."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ckgen.build.device_code import device_code
from ckgen.emit.device import render_device_unit
from ckgen.families.gemm.config import CutlassConfig, CutlassSchedule
from ckgen.families.gemm.cpp import instance_view
from ckgen.families.gemm.family import FAMILY
from ckgen.families.gemm.signature import parse_canonical
from ckgen.families.registry import make_instance
from ckgen.model.config import Tile

COOPERATIVE = CutlassConfig(Tile(128, 256, 64), (2, 1), CutlassSchedule.CO)
SWAPPED = CutlassConfig(Tile(64, 16, 128), (1, 1), CutlassSchedule.PP, swap=True)
SHARED = CutlassConfig(Tile(128, 192, 64), (2, 1), CutlassSchedule.CO, stream_k=True)
OF_CLUSTERS = CutlassConfig(Tile(64, 16, 128), (1, 1), CutlassSchedule.KC, swap=True, parts=4)
OF_TWO_WARPGROUPS = CutlassConfig(Tile(128, 128, 128), (1, 1), CutlassSchedule.KC, swap=True, parts=4)
OF_FEW_ROWS = CutlassConfig(Tile(128, 16, 128), (1, 1), CutlassSchedule.CO, swap=True)
SIGNATURE = parse_canonical("gemm_bf16_rcr")
ROWWISE = parse_canonical("gemm_fp8_ocp_bf16_rcr_rowwise")
BLOCKS = parse_canonical("gemm_fp8_ocp_bf16_rcr_blockscale")


@pytest.mark.parametrize(
    ("config", "name"),
    [
        (COOPERATIVE, "gemm_bf16_rcr_cutlass_128x256x64_2x1_co"),
        (SWAPPED, "gemm_bf16_rcr_cutlass_64x16x128_1x1_pp_swap"),
        (SHARED, "gemm_bf16_rcr_cutlass_128x192x64_2x1_co_sk"),
        (replace(SHARED, swap=True), "gemm_bf16_rcr_cutlass_128x192x64_2x1_co_sk_swap"),
        (OF_CLUSTERS, "gemm_bf16_rcr_cutlass_64x16x128_1x1_kc4_swap"),
        (replace(OF_CLUSTERS, swap=False, parts=1), "gemm_bf16_rcr_cutlass_64x16x128_1x1_kc1"),
    ],
)
def test_names_are_read_back(config: CutlassConfig, name: str) -> None:
    assert make_instance(SIGNATURE, config, archs=("sm_90a",)).name == name
    assert FAMILY.parse_instance(name) == (SIGNATURE, config)


@pytest.mark.parametrize(
    "text",
    [
        "128x256x64_2x1",
        "128x256x64_2x1_xx",
        "0128x256x64_2x1_co",
        "128x256x64_2x1_co_",
        "128x256x64_2x1_co2",
        "64x16x128_1x1_kc_swap",
        "64x16x128_1x1_kc04_swap",
    ],
)
def test_other_texts_are_no_configs(text: str) -> None:
    assert FAMILY.parse_instance(f"gemm_bf16_rcr_cutlass_{text}") is None


def test_a_swapped_kernels_tile_of_c_has_few_rows() -> None:
    assert SWAPPED.macro_tile == Tile(16, 64, 128)
    assert COOPERATIVE.macro_tile == COOPERATIVE.tile


def test_rows_begin_at_whole_accesses_and_k_is_not_split() -> None:
    asked = FAMILY.constraints_of(SIGNATURE, COOPERATIVE)
    assert (asked.m_multiple, asked.n_multiple, asked.k_multiple, asked.max_k_batch) == (0, 8, 8, 1)


@pytest.mark.parametrize(("layout", "multiples"), [("rrr", (0, 8, 8)), ("ccr", (8, 8, 8)), ("crr", (8, 8, 0))])
def test_lines_across_k_are_whole_accesses_and_leave_k_free_where_all_are(
    layout: str, multiples: tuple[int, int, int]
) -> None:
    asked = FAMILY.constraints_of(parse_canonical(f"gemm_bf16_{layout}"), COOPERATIVE)
    assert (asked.m_multiple, asked.n_multiple, asked.k_multiple) == multiples


def test_stream_k_takes_splits_of_whole_tiles_that_do_not_add_to_c() -> None:
    asked = FAMILY.constraints_of(SIGNATURE, SHARED)
    assert (asked.max_k_batch, asked.split_grain, asked.atomic_split) == (8, 64, False)
    words = {config: " ".join(instance_view(make_instance(SIGNATURE, config, archs=("sm_90a",))).words)
             for config in (SHARED, COOPERATIVE)}  # fmt: skip
    assert "k_batch_mode(1)" in words[SHARED]
    assert device_code(make_instance(SIGNATURE, SHARED, archs=("sm_90a",))).splits_unavailable("sm_90a") is None
    assert device_code(make_instance(SIGNATURE, COOPERATIVE, archs=("sm_90a",))).splits_unavailable("sm_90a")


@pytest.mark.parametrize(
    ("config", "m"), [(COOPERATIVE, 4), (OF_FEW_ROWS, 0), (replace(OF_FEW_ROWS, tile=Tile(128, 32, 128)), 4)]
)
def test_scales_that_the_copy_engine_loads_begin_at_whole_accesses(config: CutlassConfig, m: int) -> None:
    asked = FAMILY.constraints_of(BLOCKS, config)
    assert FAMILY.constraints_of(BLOCKS, replace(OF_CLUSTERS, parts=1)).m_multiple == 4
    assert (asked.m_multiple, asked.n_multiple, asked.k_multiple) == (m, 8, 16)
    assert FAMILY.constraints_of(ROWWISE, config).m_multiple == 0


@pytest.mark.parametrize(
    ("config", "signature", "steps"),
    [
        (COOPERATIVE, "gemm_bf16_rcr", (("hgmma_64x256x16_f32_bf16", 4),)),
        (SWAPPED, "gemm_fp16_rcr", (("hgmma_64x16x16_f32", 8),)),
        (
            CutlassConfig(Tile(128, 128, 64), (2, 1), CutlassSchedule.PP),
            "gemm_bf16_rcr",
            (("hgmma_64x128x16_f32_bf16", 8),),
        ),
        (OF_FEW_ROWS, "gemm_fp8_ocp_bf16_rcr_blockscale", (("qgmma_64x16x32_f32_e4m3_e4m3", 4),)),
        (OF_FEW_ROWS, "gemm_int8_bf16_rcr_rowwise", (("igmma_64x16x32_s8_s8", 4),)),
        (OF_FEW_ROWS, "gemm_int8_int32_rcr", (("igmma_64x16x32_s8_s8", 4),)),
        (OF_FEW_ROWS, "gemm_bf8_ocp_bf16_rcr_rowwise", (("qgmma_64x16x32_f32_e5m2_e5m2", 4),)),
    ],
)
def test_a_k_step_is_so_many_instructions_of_the_tiles_width(
    config: CutlassConfig, signature: str, steps: tuple[tuple[str, int], ...]
) -> None:
    code = device_code(make_instance(parse_canonical(signature), config, archs=("sm_90a",)))
    (variant,) = code.all_variants()
    expected = code.expected("sm_90a", variant)
    assert expected.steps == steps
    assert (expected.scratch_bytes, expected.spills, expected.waves_per_simd) == (0, 0, 3)


def test_one_warpgroup_and_a_warp_share_an_sm_with_another_workgroup() -> None:
    code = device_code(make_instance(SIGNATURE, OF_CLUSTERS, archs=("sm_90a",)))
    (variant,) = code.all_variants()
    expected = code.expected("sm_90a", variant)
    assert expected.steps == (("hgmma_64x16x16_f32_bf16", 8),)
    assert (OF_CLUSTERS.threads, expected.waves_per_simd) == (160, 2)
    units = code.device_unit(code.all_variants()), code.host_unit({"sm_90a": code.all_variants()})
    for text in map(render_device_unit, units):
        assert '#include "backends/cutlass/cluster_k.hpp"' in text
        assert "ClusterKGemm<cutlass::bfloat16_t, " in text
        assert "ckgen::cutlass_gemm::Scales::none, 64, 16, 128, 4, true>" in text


def test_each_of_two_warpgroups_has_64_rows_and_the_larger_tile_an_sm_of_its_own() -> None:
    code = device_code(make_instance(BLOCKS, OF_TWO_WARPGROUPS, archs=("sm_90a",)))
    (variant,) = code.all_variants()
    assert code.expected("sm_90a", variant).steps == (("qgmma_64x128x32_f32_e4m3_e4m3", 4),)
    few = replace(OF_TWO_WARPGROUPS, tile=Tile(128, 64, 128))
    assert [(one.threads, one.resident) for one in (OF_CLUSTERS, few, OF_TWO_WARPGROUPS)] == [
        (160, 2), (288, 2), (288, 1),
    ]  # fmt: skip


def test_both_units_name_the_same_kernel_of_the_same_types() -> None:
    instance = make_instance(SIGNATURE, SWAPPED, archs=("sm_90a",))
    code = device_code(instance)
    variants = code.all_variants()
    device, host = code.device_unit(variants), code.host_unit({"sm_90a": variants})
    words = (
        "Gemm<cutlass::bfloat16_t, cutlass::bfloat16_t, ckgen::cutlass_gemm::Scales::none, 64, 16, 128, 1, 1, "
        "ckgen::cutlass_gemm::Schedule::pingpong, false, true>"
    )
    (symbol,) = device.symbols
    for unit in (device, host):
        text = render_device_unit(unit)
        assert words in text
        assert symbol in text
    assert f"ckgen_prepare_{instance.id:016x}" in render_device_unit(host)
    assert host.symbols == (f"ckgen_prepare_{instance.id:016x}",)


def test_units_of_other_widths_ask_for_the_extended_instructions() -> None:
    for width, asks in ((160, True), (192, False)):
        config = replace(COOPERATIVE, tile=Tile(128, width, 64))
        code = device_code(make_instance(SIGNATURE, config, archs=("sm_90a",)))
        variants = code.all_variants()
        for unit in (code.device_unit(variants), code.host_unit({"sm_90a": variants})):
            text = render_device_unit(unit)
            before, _, _ = text.partition("#include")
            assert ("CUTE_SM90_EXTENDED_MMA_SHAPES_ENABLED" in before) is asks


def test_the_host_unit_of_stream_k_says_how_large_its_workspace_is() -> None:
    instance = make_instance(SIGNATURE, SHARED, archs=("sm_90a",))
    code = device_code(instance)
    host = code.host_unit({"sm_90a": code.all_variants()})
    assert host.symbols[1:] == (f"ckgen_workspace_{instance.id:016x}",)
    assert f"std::size_t {host.symbols[1]}(" in render_device_unit(host)


@pytest.mark.parametrize(
    ("signature", "scales"),
    [("rowwise", "rows"), ("per_tensor", "tensors"), ("blockscale", "blocks")],
)
def test_units_say_what_scales_are_of(signature: str, scales: str) -> None:
    of = parse_canonical(f"gemm_fp8_ocp_bf16_rcr_{signature}")
    code = device_code(make_instance(of, OF_FEW_ROWS, archs=("sm_90a",)))
    text = render_device_unit(code.device_unit(code.all_variants()))
    assert f"Gemm<cutlass::float_e4m3_t, cutlass::bfloat16_t, ckgen::cutlass_gemm::Scales::{scales}, " in text


@pytest.mark.parametrize(
    ("signature", "words"),
    [
        ("gemm_bf16_rrr", "false, true, ckgen::cutlass_gemm::Then<false>, ckgen::Layout::rrr>;"),
        ("gemm_bf16_crr_bias", "false, true, ckgen::cutlass_gemm::Then<true>, ckgen::Layout::crr>;"),
        ("gemm_int8_bf16_rcr_rowwise", "Gemm<std::int8_t, cutlass::bfloat16_t, ckgen::cutlass_gemm::Scales::rows, "),
        ("gemm_int8_int32_rcr", "Gemm<std::int8_t, std::int32_t, ckgen::cutlass_gemm::Scales::none, "),
    ],
)
def test_both_units_say_the_layout_and_the_integers(signature: str, words: str) -> None:
    code = device_code(make_instance(parse_canonical(signature), SWAPPED, archs=("sm_90a",)))
    variants = code.all_variants()
    for unit in (code.device_unit(variants), code.host_unit({"sm_90a": variants})):
        assert words in render_device_unit(unit)


@pytest.mark.parametrize(
    ("signature", "following"),
    [
        ("gemm_bf16_rcr_bias", "true"),
        ("gemm_bf16_rcr_epi_add_gelu", "false, ckgen::EpilogueOp::add, ckgen::EpilogueOp::gelu"),
        ("gemm_bf16_rcr_bias_epi_silu", "true, ckgen::EpilogueOp::silu"),
    ],
)
def test_both_units_say_what_follows_the_sums(signature: str, following: str) -> None:
    code = device_code(make_instance(parse_canonical(signature), COOPERATIVE, archs=("sm_90a",)))
    variants = code.all_variants()
    for unit in (code.device_unit(variants), code.host_unit({"sm_90a": variants})):
        assert f"false, false, ckgen::cutlass_gemm::Then<{following}>>;" in render_device_unit(unit)
    of_clusters = device_code(make_instance(parse_canonical(signature), OF_CLUSTERS, archs=("sm_90a",)))
    text = render_device_unit(of_clusters.device_unit(of_clusters.all_variants()))
    assert f"Scales::none, 64, 16, 128, 4, true, ckgen::cutlass_gemm::Then<{following}>>;" in text


GROUPS = parse_canonical("grouped_gemm_bf16_rcr")


def test_groups_have_kernels_that_make_their_table_beside_the_one_that_computes() -> None:
    instance = make_instance(GROUPS, SWAPPED, archs=("sm_90a",))
    code = device_code(instance)
    variants = code.all_variants()
    device, host = code.device_unit(variants), code.host_unit({"sm_90a": variants})
    assert [one.name for one in variants] == ["gemm", "upload", "describe"]
    assert host.symbols == tuple(f"ckgen_{what}_{instance.id:016x}" for what in ("prepare", "workspace", "groups"))
    words = (
        "GroupedGemm<cutlass::bfloat16_t, cutlass::bfloat16_t, ckgen::cutlass_gemm::Scales::none, 64, 16, 128, 1, 1, "
        "ckgen::cutlass_gemm::Schedule::pingpong, true>"
    )
    for unit, named in ((device, device.symbols), (host, (*device.symbols, *host.symbols))):
        text = render_device_unit(unit)
        assert words in text
        assert all(symbol in text for symbol in named)


@pytest.mark.parametrize(
    ("signature", "words"),
    [
        ("bf16_rcr_bias_epi_gelu", "true, ckgen::cutlass_gemm::Then<true, ckgen::EpilogueOp::gelu>>;"),
        ("bf16_rcr_epi_mul", "true, ckgen::cutlass_gemm::Then<false, ckgen::EpilogueOp::mul>>;"),
        ("fp8_ocp_bf16_rcr_blockscale", "<cutlass::float_e4m3_t, cutlass::bfloat16_t, {}blocks, "),
        ("int8_fp16_rcr_per_tensor", "<std::int8_t, cutlass::half_t, {}tensors, "),
        ("int8_int32_rcr", "<std::int8_t, std::int32_t, {}none, "),
    ],
)
def test_both_units_of_groups_say_types_scales_and_what_follows_the_sums(signature: str, words: str) -> None:
    code = device_code(make_instance(parse_canonical(f"grouped_gemm_{signature}"), SWAPPED, archs=("sm_90a",)))
    variants = code.all_variants()
    for unit in (code.device_unit(variants), code.host_unit({"sm_90a": variants})):
        assert words.format("ckgen::cutlass_gemm::Scales::") in render_device_unit(unit)


def test_of_groups_the_computing_kernel_alone_has_matrix_instructions() -> None:
    code = device_code(make_instance(GROUPS, COOPERATIVE, archs=("sm_90a",)))
    steps = {one.name: code.expected("sm_90a", one).steps for one in code.all_variants()}
    assert steps == {"gemm": (("hgmma_64x256x16_f32_bf16", 4),), "upload": (), "describe": ()}


def test_groups_have_any_rows_as_threads_load_their_scales_of_blocks() -> None:
    asked = FAMILY.constraints_of(parse_canonical("grouped_gemm_fp8_ocp_bf16_rcr_blockscale"), COOPERATIVE)
    assert (asked.m_multiple, asked.n_multiple, asked.k_multiple) == (0, 8, 16)


def test_a_group_without_k_has_no_descriptor() -> None:
    assert FAMILY.constraints_of(GROUPS, COOPERATIVE).min_k == 1
    assert FAMILY.constraints_of(SIGNATURE, COOPERATIVE).min_k == 0
