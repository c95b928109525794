from __future__ import annotations

from pathlib import Path

import pytest

from ckgen.model.fate import FateKind
from ckgen.plan.examined import MOST_PAIRS
from ckgen.plan.planner import has_errors
from ckgen.plan.select import select
from plan_support import GFX942, HEADER, LARGE, MIDDLE, SMALL_M, fate_words, plan_of, query, reasons, row, write_table


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


def test_a_name_that_does_not_parse_is_an_error_whatever_its_target(tmp_path: Path) -> None:
    table = write_table(tmp_path / "a8w8_blockscale.csv", [row(16), row(16, "a8w8_blockscale_nonsense", cu_num=80)])
    plan = plan_of(table)
    (error,) = (d for d in plan.diagnostics if d.code == "T012")
    assert error.location is not None and error.location.line == 3
    assert reasons(plan) == ["selected", "invalid(T012)"]


def test_types_that_make_no_gemm_are_a_located_error(tmp_path: Path) -> None:
    header = HEADER.replace("K,libtype", "K,q_dtype_w,libtype")
    line = row(16, SMALL_M).replace(",ck,", ",torch.float32,ck,")
    plan = plan_of(write_table(tmp_path / "a8w8_blockscale.csv", [line], header))
    assert reasons(plan) == ["invalid(T015)"] and [d.code for d in plan.diagnostics] == ["T015"]
    (error,) = plan.diagnostics
    assert error.detail == ("gfx942:304 a8w8_blockscale M=16 N=512 K=1024",)
    assert error.hint == "mend the type columns, or name the table's module with --module"


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
