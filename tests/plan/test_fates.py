from __future__ import annotations

from pathlib import Path

import pytest

from ckgen.families.gemm.signature import parse_signature
from ckgen.model.backend import Backend
from ckgen.model.fate import FateKind
from ckgen.model.target import Target
from ckgen.plan.fates import MOST_PAIRS
from ckgen.plan.model import GenerationPlan
from ckgen.plan.planner import has_errors
from ckgen.plan.select import select
from plan_support import GFX942, GFX950, HEADER, LARGE, MIDDLE, SMALL_M, fate_words, plan_of, query, row, write_table


def reasons(plan: GenerationPlan) -> list[str]:
    return [str(fate) for fate in plan.fates]


def test_a_good_row_of_a_requested_target_is_selected(tmp_path: Path) -> None:
    plan = plan_of(write_table(tmp_path / "a8w8_blockscale_tuned.csv", [row(16)]))
    assert reasons(plan) == ["selected"]
    assert plan.selected == {GFX942: 1}


def test_rows_of_other_targets_never_select_instances(tmp_path: Path) -> None:
    table = write_table(tmp_path / "a8w8_blockscale_tuned.csv", [row(16), row(16, SMALL_M, cu_num=80)])
    plan = plan_of(table)
    assert reasons(plan) == ["selected", "other_target(gfx942:80)"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"us": 0}, "us = 0"),
        ({"us": -1}, "us = -1"),
        ({"us": "inf"}, "us = inf"),
        ({"us": "nan"}, "us = nan"),
        ({"errRatio": 0.0501}, "errRatio = 0.0501 > 0.05"),
        ({"errRatio": "nan"}, "(errRatio = nan)"),
        ({"us": 0.0001, "M": 8192}, "times the peak rate"),
    ],
)
def test_measurements_that_cannot_be_are_refused(tmp_path: Path, changes: dict[str, object], reason: str) -> None:
    plan = plan_of(write_table(tmp_path / "a8w8_blockscale_tuned.csv", [row(16, **changes)]))
    (fate,) = reasons(plan)
    assert fate.startswith("refused_measurement(") and reason in fate


def test_an_error_ratio_at_the_bound_is_believed(tmp_path: Path) -> None:
    plan = plan_of(write_table(tmp_path / "a8w8_blockscale_tuned.csv", [row(16, errRatio=0.05)]))
    assert reasons(plan) == ["selected"]


def test_two_kernels_for_one_key_of_one_layer_are_an_error_with_both_places(tmp_path: Path) -> None:
    folder = tmp_path / "tables"
    write_table(folder / "a_a8w8_blockscale.csv", [row(16, SMALL_M), row(32)])
    write_table(folder / "b_a8w8_blockscale.csv", [row(16, LARGE)])
    plan = plan_of(folder)
    (error,) = (d for d in plan.diagnostics if d.code == "T007")
    assert has_errors(plan)
    assert [place.line for place in (error.location, *error.related) if place] == [2, 2]
    assert reasons(plan) == ["invalid(T007)", "selected", "invalid(T007)"]


@pytest.mark.parametrize("changes", [{"splitK": 1}, {"libtype": "asm"}])
def test_k_batch_and_library_count_as_different_kernels(tmp_path: Path, changes: dict[str, object]) -> None:
    plan = plan_of(write_table(tmp_path / "a8w8_blockscale.csv", [row(16), row(16, **changes)]))
    assert any(d.code == "T007" for d in plan.diagnostics)


def test_every_pair_of_rows_that_contradict_each_other_is_listed(tmp_path: Path) -> None:
    rows = [row(16), row(16, SMALL_M), row(16), row(16, MIDDLE)]
    plan = plan_of(write_table(tmp_path / "a8w8_blockscale.csv", rows))
    found = [(d.location, *d.related) for d in plan.diagnostics if d.code == "T007"]
    assert [tuple(place.line for place in pair if place) for pair in found] == [(2, 3), (2, 5), (3, 4), (3, 5), (4, 5)]
    assert set(reasons(plan)) == {"invalid(T007)"}


def test_a_key_of_very_many_rows_does_not_list_all_pairs(tmp_path: Path) -> None:
    rows = [row(16, splitK=index % 2) for index in range(400)]
    plan = plan_of(write_table(tmp_path / "a8w8_blockscale.csv", rows))
    assert len([d for d in plan.diagnostics if d.code == "T007"]) == MOST_PAIRS
    assert fate_words(plan) == {"invalid": 400}


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


def test_equal_rows_keep_the_lowest_valid_time(tmp_path: Path) -> None:
    table = write_table(tmp_path / "a8w8_blockscale.csv", [row(16, us=9), row(16, us=5), row(16, us=0), row(16, us=7)])
    plan = plan_of(table)
    assert [fate.kind.value for fate in plan.fates] == [
        "duplicate_identical",
        "selected",
        "refused_measurement",
        "duplicate_identical",
    ]
    assert not has_errors(plan)


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
    notes = [(d.location.line, d.detail[0][:6], d.hint) for d in plan.diagnostics if d.code == "P004" and d.location]
    assert notes == [
        (2, "2 rows", "say which: --assume-gfx 256=GFX"),
        (4, "2 rows", "say which: --assume-gfx 12345=GFX"),
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
    assert bf16 is not None and [i.table_kernel for i in bf16.instances if i.backend is Backend.ASM] == [shipped]
    (selected,) = bf16.tables
    assert selected.choices and selected.externals
    assert fp16 is not None and not any(i.backend is Backend.ASM for i in fp16.instances)
    (external,) = fp16.tables
    assert not external.choices and [found.library for found in external.externals] == ["asm"]


def test_a_kernel_that_amd_ships_for_another_arch_is_external(tmp_path: Path) -> None:
    row_of = "gfx942,304,16,1024,1024,0,0,5.0,_ZN5aiter41f4gemm_bf16_per1x32Fp4_BpreShuffle_32x128E,0,0,0.0"
    table = write_table(tmp_path / "a4w4_blockscale_tuned_gemm.csv", [row_of], A4W4_HEADER)
    assert reasons(plan_of(table)) == ["external(asm)"]


def test_a_name_that_does_not_parse_is_an_error_whatever_its_target(tmp_path: Path) -> None:
    table = write_table(tmp_path / "a8w8_blockscale.csv", [row(16), row(16, "a8w8_blockscale_nonsense", cu_num=80)])
    plan = plan_of(table)
    (error,) = (d for d in plan.diagnostics if d.code == "T012")
    assert error.location is not None and error.location.line == 3
    assert reasons(plan) == ["selected", "invalid(T012)"]


def test_filters_make_rows_unavailable_with_that_reason(tmp_path: Path) -> None:
    table = write_table(tmp_path / "a8w8_blockscale.csv", [row(16, SMALL_M), row(32)])
    plan = plan_of(table, kernels=("*_256x16x64x256_*",))
    assert reasons(plan) == ["selected", "unavailable(no --kernels glob fits)"]
    plan = plan_of(table, backends=frozenset({"ck_tile"}))
    assert fate_words(plan) == {"unavailable": 2}


def test_strict_makes_an_unavailable_row_an_error(tmp_path: Path) -> None:
    table = write_table(tmp_path / "a8w8_blockscale.csv", [row(16, SMALL_M)])
    assert not has_errors(plan_of(table, kernels=("nothing",)))
    assert has_errors(plan_of(table, kernels=("nothing",), strict=True))


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
    assert reasons(plan_of(table, targets=targets, assume_gfx=assumed)) == [fate]


def test_a_signature_glob_keeps_one_output_type_of_a_row(tmp_path: Path) -> None:
    table = write_table(tmp_path / "a8w8_blockscale.csv", [row(16, SMALL_M)])
    plan = plan_of(table, signatures=("*_bf16_rcr_blockscale",))
    assert reasons(plan) == ["selected"] and [unit.name for unit in plan.units] == ["gemm_fp8_fnuz_bf16_rcr_blockscale"]
    assert reasons(plan_of(table, signatures=("nothing",))) == ["unavailable(no --signatures glob fits)"]


def test_types_that_make_no_gemm_are_a_located_error(tmp_path: Path) -> None:
    header = HEADER.replace("K,libtype", "K,q_dtype_w,libtype")
    line = row(16, SMALL_M).replace(",ck,", ",torch.float32,ck,")
    plan = plan_of(write_table(tmp_path / "a8w8_blockscale.csv", [line], header))
    assert reasons(plan) == ["invalid(T015)"] and [d.code for d in plan.diagnostics] == ["T015"]


@pytest.mark.parametrize("name", ['a"; }', "back\\slash", "naïve", "tab\there"])
def test_names_that_could_not_stand_in_code_are_errors(tmp_path: Path, name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    plan = plan_of(write_table(tmp_path / "a8w8_blockscale.csv", [row(16, quoted, libtype="asm")]))
    assert reasons(plan) == ["invalid(T016)"] and has_errors(plan)


TYPED = f"{HEADER},outdtype"


def test_a_table_with_an_output_type_and_one_without_answer_side_by_side(tmp_path: Path) -> None:
    both = write_table(tmp_path / "1" / "a8w8_blockscale.csv", [row(16, SMALL_M), row(32)])
    typed = write_table(tmp_path / "2" / "a8w8_blockscale.csv", [row(16, MIDDLE) + ",torch.bfloat16"], TYPED)
    for tables, winner in (((both, typed), MIDDLE), ((typed, both), SMALL_M)):
        plan = plan_of(*tables)
        answers = {
            (signature, m): select(query(plan, GFX942, signature, m, 512, 1024)).row
            for signature in ("a8w8_blockscale", "a8w8_blockscale:fp16")
            for m in (16, 32)
        }
        assert {key: found.kernel for key, found in answers.items() if found is not None} == {
            ("a8w8_blockscale", 16): winner,
            ("a8w8_blockscale", 32): LARGE,
            ("a8w8_blockscale:fp16", 16): SMALL_M,
            ("a8w8_blockscale:fp16", 32): LARGE,
        }
        assert [d.code for d in plan.diagnostics] == ["P001"]
        assert has_errors(plan_of(*tables, strict_layers=True))
    assert reasons(plan_of(both, typed)) == ["selected", "selected", "selected"]
    assert plan_of(typed, both).fates[0].kind is FateKind.OVERRIDDEN


def test_a_table_with_an_output_type_and_one_without_can_contradict_each_other(tmp_path: Path) -> None:
    write_table(tmp_path / "t" / "a_a8w8_blockscale.csv", [row(16, SMALL_M)])
    write_table(tmp_path / "t" / "b_a8w8_blockscale.csv", [row(16, MIDDLE) + ",torch.bfloat16"], TYPED)
    plan = plan_of(tmp_path / "t")
    assert [d.code for d in plan.diagnostics] == ["T007"]
    assert fate_words(plan) == {"invalid": 2}


def test_of_equal_rows_the_fastest_answers_for_each_output_type(tmp_path: Path) -> None:
    write_table(tmp_path / "t" / "a_a8w8_blockscale.csv", [row(16, us=5) + ",torch.bfloat16"], TYPED)
    write_table(tmp_path / "t" / "b_a8w8_blockscale.csv", [row(16, us=9)])
    plan = plan_of(tmp_path / "t")
    answers = [
        select(query(plan, GFX942, name, 16, 512, 1024)).row for name in ("a8w8_blockscale", "a8w8_blockscale:fp16")
    ]
    assert [found.us for found in answers if found is not None] == [5, 9]
    assert reasons(plan) == ["selected", "selected"]
