from __future__ import annotations

from pathlib import Path

import pytest

from ckgen.families.gemm.signature import parse_signature
from ckgen.model.backend import Backend
from ckgen.model.dtype import DType
from ckgen.model.fate import FateKind
from ckgen.model.target import Target
from ckgen.plan.planner import has_errors
from plan_support import GFX942, GFX950, HEADER, MIDDLE, SMALL_M, fate_words, plan_of, reasons, row, write_table


def test_a_good_row_of_a_requested_target_is_selected(tmp_path: Path) -> None:
    plan = plan_of(write_table(tmp_path / "a8w8_blockscale_tuned.csv", [row(16)]))
    assert reasons(plan) == ["selected"]
    assert plan.selected == {GFX942: 1}


def test_rows_of_other_targets_never_select_instances(tmp_path: Path) -> None:
    table = write_table(tmp_path / "a8w8_blockscale_tuned.csv", [row(16), row(16, SMALL_M, cu_num=80)])
    plan = plan_of(table)
    assert reasons(plan) == ["selected", "other_target(gfx942:80)"]


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"K": 1000}, "K = 1000 is not a multiple of 128 (rule gemm.blockscale.k-group)"),
        ({"N": 516}, "N = 516 is not a multiple of 8 (rule gemm.instance.n-multiple)"),
        ({"splitK": 20}, "rule gemm.instance.max-k-batch"),
    ],
)
def test_a_row_that_could_not_answer_its_own_shape_is_unavailable(
    tmp_path: Path, changes: dict[str, object], rule: str
) -> None:
    plan = plan_of(write_table(tmp_path / "a8w8_blockscale.csv", [row(16, **changes)]))
    (fate,) = reasons(plan)
    assert fate.startswith("unavailable(") and rule in fate
    assert [d.code for d in plan.diagnostics] == ["P002"]


def test_an_element_type_that_is_not_known_is_its_row_s_fate(tmp_path: Path) -> None:
    rows = [row(16, q_dtype_w="torch.float4"), row(32, q_dtype_w="torch.float8_e4m3fnuz")]
    plan = plan_of(write_table(tmp_path / "a8w8_blockscale.csv", rows, f"{HEADER},q_dtype_w"))
    assert reasons(plan) == ["unavailable(unknown word torch.float4)", "selected"]


def test_rows_of_modules_that_no_signature_says_answer_nothing(tmp_path: Path) -> None:
    lines = ["gfx950,2,1,1024,4096,opus,7.8,opus_bmm", "gfx942,2,1,1024,4096,asm,7.8,_ZN5aiter"]
    table = write_table(tmp_path / "batched_a8w8_blockscale_mxscale.csv", lines, "gfx,b,m,n,k,libtype,us,kernelName")
    plan = plan_of(table, targets=(GFX942, GFX950))
    assert reasons(plan) == ["external(opus)", "external(asm)"] and plan.diagnostics == ()
    plan = plan_of(write_table(tmp_path / "deepgemm.csv", [row(128, "deepgemm_256x32x64x256_16x16x64_1x4")]))
    assert reasons(plan) == ["unavailable(kernels of deepgemm are chosen by a rule, not by rows)"]
    assert [d.code for d in plan.diagnostics] == ["P002"] and not has_errors(plan)


def test_the_type_of_operands_may_be_assumed_where_nothing_tells_it(tmp_path: Path) -> None:
    kernel = "a8w8_rowwise_256x16x64x512_16x16_1x1_32x8x1_32x8x1_1x16x1x16_4x4x1_1x1_intrawave_v3"
    table = write_table(tmp_path / "a8w8_tuned_gemm.csv", [row(16, kernel, K=8192)])
    plan = plan_of(table)
    assert [d.code for d in plan.diagnostics] == ["T015"] and "--assume-dtype" in str(plan.diagnostics[0].hint)
    plan = plan_of(table, assume_dtype=DType.INT8)
    assert reasons(plan) == ["selected"] and plan.diagnostics == ()
    assert {unit.signature.a for unit in plan.units if unit.tables} == {DType.INT8}
    lines = [row(16, kernel, K=8192, q_dtype_w="torch.int8")]
    plan = plan_of(write_table(tmp_path / "b" / "a8w8.csv", lines, f"{HEADER},q_dtype_w"), assume_dtype=DType.FP8_FNUZ)
    assert {unit.signature.a for unit in plan.units if unit.tables} == {DType.INT8}


def test_a_later_layer_overrides_and_is_listed(tmp_path: Path) -> None:
    first = write_table(tmp_path / "1" / "a8w8_blockscale.csv", [row(16, SMALL_M), row(32)])
    second = write_table(tmp_path / "2" / "a8w8_blockscale.csv", [row(16, MIDDLE)])
    plan = plan_of(first, second)
    assert [fate.kind.value for fate in plan.fates] == ["overridden", "selected", "selected"]
    assert [d.code for d in plan.diagnostics] == ["P001"] and not has_errors(plan)
    assert has_errors(plan_of(first, second, strict_layers=True))
    assert plan.fates[0].reason == f"{second}:2"


def test_files_of_one_name_in_two_layers_are_told_apart(tmp_path: Path) -> None:
    layers = [tmp_path / name for name in ("x", "y")]
    write_table(layers[0] / "a8w8_blockscale.csv", [row(16), row(16, us=11), row(32, us=0)])
    write_table(layers[1] / "a8w8_blockscale.csv", [row(64), row(64, us=11)])
    plan = plan_of(*layers)
    assert [dict(report.fates) for report in plan.reports] == [
        {FateKind.SELECTED: 1, FateKind.DUPLICATE_IDENTICAL: 1, FateKind.REFUSED_MEASUREMENT: 1},
        {FateKind.SELECTED: 1, FateKind.DUPLICATE_IDENTICAL: 1},
    ]
    assert [len(report.findings) for report in plan.reports] == [1, 0]
    assert [fate.reason for fate in plan.fates if fate.kind is FateKind.DUPLICATE_IDENTICAL] == [
        f"{layer}/a8w8_blockscale.csv:2" for layer in layers
    ]


def test_rows_that_do_not_tell_their_target_are_noted_once_per_file_and_count(tmp_path: Path) -> None:
    header = HEADER.removeprefix("gfx,")
    rows = [row(m, cu_num=count).partition(",")[2] for m in (16, 32) for count in (256, 304, 12345)]
    plan = plan_of(write_table(tmp_path / "a8w8_blockscale.csv", rows, header))
    notes = [(d.location.line, d.detail, d.hint) for d in plan.diagnostics if d.code == "P004" and d.location]
    assert notes == [
        (2, ("and 1 more row like it: line 5",), "say which: --assume-gfx 256=GFX"),
        (4, ("and 1 more row like it: line 7",), "say which: --assume-gfx 12345=GFX"),
    ]
    assert not has_errors(plan)


def test_a_refused_row_of_a_later_layer_overrides_nothing(tmp_path: Path) -> None:
    first = write_table(tmp_path / "1" / "a8w8_blockscale.csv", [row(16, SMALL_M)])
    second = write_table(tmp_path / "2" / "a8w8_blockscale.csv", [row(16, MIDDLE, us=0)])
    assert [fate.kind.value for fate in plan_of(first, second).fates] == ["selected", "refused_measurement"]


def test_kernels_of_other_libraries_stay_external(tmp_path: Path) -> None:
    plan = plan_of(write_table(tmp_path / "a8w8_blockscale.csv", [row(16, "_ZN5aiter3fooE", libtype="asm")]))
    assert reasons(plan) == ["external(asm)"]


A4W4_HEADER = "gfx,cu_num,M,N,K,kernelId,splitK,us,kernelName,tflops,bw,errRatio"


def test_a_kernel_that_amd_ships_is_selected_for_what_it_computes(tmp_path: Path) -> None:
    def line(m: int, kernel: str, n: int = 1024, gfx: str = "gfx950") -> str:
        return f"{gfx},256,{m},{n},1024,0,0,5.0,{kernel},0,0,0.0"

    shipped = "_ZN5aiter41f4gemm_bf16_per1x32Fp4_BpreShuffle_32x128E"
    whole = "_ZN5aiter42f4gemm_bf16_per1x32Fp4_BpreShuffle_128x512E"
    rows = [line(16, shipped), line(32, shipped.replace("32x128", "16x128")), line(64, whole, n=800)]
    table = write_table(tmp_path / "a4w4_blockscale_tuned_gemm.csv", rows, A4W4_HEADER)
    plan = plan_of(table, targets=(GFX950,))
    assert reasons(plan) == [
        "selected",
        "external(asm)",
        "unavailable(N = 800 is not a multiple of 512 (rule gemm.instance.n-multiple))",
    ]
    bf16, fp16 = (plan.unit(parse_signature(f"a4w4_blockscale:{out}", None)) for out in ("bf16", "fp16"))
    assert bf16 is not None and bf16.heuristics
    ruled = {bf16.instances[leaf].table_kernel for rule in bf16.heuristics for leaf in rule.leaves}
    assert {i.table_kernel for i in bf16.instances if i.backend is Backend.ASM} - ruled <= {shipped}
    (selected,) = bf16.tables
    assert selected.choices and selected.externals
    assert fp16 is not None and not any(i.backend is Backend.ASM for i in fp16.instances)
    (external,) = fp16.tables
    assert not external.choices and [found.library for found in external.externals] == ["asm"]


def test_a_kernel_that_amd_ships_for_another_arch_is_external(tmp_path: Path) -> None:
    row_of = "gfx942,304,16,1024,1024,0,0,5.0,_ZN5aiter41f4gemm_bf16_per1x32Fp4_BpreShuffle_32x128E,0,0,0.0"
    table = write_table(tmp_path / "a4w4_blockscale_tuned_gemm.csv", [row_of], A4W4_HEADER)
    assert reasons(plan_of(table)) == ["external(asm)"]


def test_filters_leave_rows_out_with_that_reason_and_no_finding(tmp_path: Path) -> None:
    table = write_table(tmp_path / "a8w8_blockscale.csv", [row(16, SMALL_M), row(32)])
    plan = plan_of(table, kernels=("*_256x16x64x256_*",), strict=True)
    assert reasons(plan) == ["selected", "left_out(no --kernels glob fits)"] and not plan.diagnostics
    plan = plan_of(table, backends=frozenset({"ck_tile"}))
    assert fate_words(plan) == {"left_out": 2} and not plan.diagnostics


def test_strict_makes_an_unavailable_row_an_error(tmp_path: Path) -> None:
    table = write_table(tmp_path / "a8w8_blockscale.csv", [row(16, N=516)])
    assert not has_errors(plan_of(table))
    assert has_errors(plan_of(table, strict=True))


HEADER_WITHOUT_GFX = "cu_num,M,N,K,libtype,kernelId,splitK,us,kernelName,tflops,bw,errRatio"


@pytest.mark.parametrize(
    ("cu_num", "targets", "assumed", "fate"),
    [
        (304, (GFX942,), {}, "selected"),
        (256, (GFX942,), {}, "unavailable(ambiguous_target)"),
        (256, (Target("gfx950", 256),), {}, "selected"),
        (256, (GFX942,), {256: "gfx950"}, "other_target(gfx950:256)"),
        (7, (GFX942,), {}, "unavailable(ambiguous_target)"),
    ],
)
def test_a_missing_gfx_is_filled_only_when_one_arch_can_be_meant(
    tmp_path: Path, cu_num: int, targets: tuple[Target, ...], assumed: dict[int, str], fate: str
) -> None:
    line = row(16, cu_num=cu_num).removeprefix("gfx942,")
    table = write_table(tmp_path / "a8w8_blockscale.csv", [line], HEADER_WITHOUT_GFX)
    assert reasons(plan_of(table, targets=targets, assume_gfx=assumed, every_row=True)) == [fate]


def test_a_signature_glob_keeps_one_output_type_of_a_row(tmp_path: Path) -> None:
    table = write_table(tmp_path / "a8w8_blockscale.csv", [row(16, SMALL_M)])
    plan = plan_of(table, signatures=("*_bf16_rcr_blockscale",))
    assert reasons(plan) == ["selected"] and [unit.name for unit in plan.units] == ["gemm_fp8_fnuz_bf16_rcr_blockscale"]
    assert reasons(plan_of(table, signatures=("gemm_fp32_rcr",))) == ["left_out(no --signatures glob fits)"]
