"""Two sets of tables side by side, small ones, by hand; and the page of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ckgen import paths
from ckgen.cli.diff_text import markdown_of
from ckgen.report.difference import difference, differs
from ckgen.report.difference_page import MOST, difference_page
from html_support import demand_good, number
from plan_support import LARGE, MIDDLE, SMALL_M, plan_of, row, write_table

RARE = "a8w8_blockscale_1x128x128_256x128x64x128_16x16_32x32_2x1_8x32x1_8x32x1_1x32x1x8_8_1x1_intrawave_v3"
"""A kernel that rows alone bring."""
OLD = (row(16, SMALL_M), row(64, MIDDLE, us=20.0), row(128, LARGE), row(512, LARGE, us=40.0))


def compared(folder: Path, old: tuple[str, ...], new: tuple[str, ...]) -> dict[str, Any]:
    plans = (
        plan_of(write_table(folder / side / "a8w8_blockscale.csv", rows)) for side, rows in (("o", old), ("n", new))
    )
    return difference(next(plans), next(plans), ("o", "n"))


def test_equal_tables_do_not_differ(tmp_path: Path) -> None:
    found = compared(tmp_path, OLD, OLD)
    assert not differs(found) and found["changes"] == []
    assert found["rows"] == {"old": 4, "new": 4, "added": 0, "removed": 0, "changed": 0, "retimed": 0}


def test_another_winner_has_both_kernels_and_times(tmp_path: Path) -> None:
    found = compared(tmp_path, OLD, (OLD[0], row(64, LARGE, us=15.0), *OLD[2:]))
    (change,) = found["changes"]
    assert change["kind"] == "winner" and change["sizes"] == "M=64 N=512 K=1024"
    assert change["old"]["kernel"].endswith(MIDDLE.removeprefix("a8w8_blockscale_"))
    assert change["new"]["kernel"].endswith(LARGE.removeprefix("a8w8_blockscale_"))
    assert (change["old"]["us"], change["new"]["us"], change["ratio"]) == (20.0, 15.0, 0.75)
    assert change["alike"] == ["gemm_fp8_fnuz_fp16_rcr_blockscale"]
    assert found["rows"]["changed"] == 1 and differs(found)
    assert found["expected"] == {
        "problems": 4, "us_old": 80.0, "us_new": 75.0, "geomean": pytest.approx(0.75**0.25, abs=1e-4),
        "faster": 1, "slower": 0,
    }  # fmt: skip


def test_an_instance_that_rows_alone_ask_for_comes_and_goes_with_them(tmp_path: Path) -> None:
    rare = (*OLD[:3], row(512, RARE))
    names = [f"gemm_fp8_fnuz_{c}_rcr_blockscale_ck_{RARE.removeprefix('a8w8_blockscale_')}" for c in ("bf16", "fp16")]
    assert compared(tmp_path / "a", OLD, rare)["instances"] == {"come": names, "go": []}
    assert compared(tmp_path / "b", rare, OLD)["instances"] == {"come": [], "go": names}


def test_a_row_that_went_is_answered_by_another_tier(tmp_path: Path) -> None:
    found = compared(tmp_path, OLD, OLD[:1] + OLD[2:])
    (change,) = found["changes"]
    assert (change["kind"], change["old"]["tier"], change["new"]["tier"]) == ("lost", "exact", "near")
    assert change["new"]["us"] == 10.0 and change["ratio"] is None, "a neighbour's time is no time of the problem"
    assert found["rows"]["removed"] == 1


def test_a_row_that_came_is_a_gain(tmp_path: Path) -> None:
    found = compared(tmp_path, OLD, (*OLD, row(96, LARGE)))
    (change,) = found["changes"]
    assert (change["kind"], change["old"]["tier"], change["new"]["tier"]) == ("gained", "near", "exact")
    assert change["same_kernel"] and found["same_kernel"]["gained"] == 1


def test_other_splits_are_another_winner(tmp_path: Path) -> None:
    (change,) = compared(tmp_path, OLD, (row(16, SMALL_M, splitK=1), *OLD[1:]))["changes"]
    assert (change["old"]["k_batch"], change["new"]["k_batch"]) == (1, 2) and not change["same_kernel"]


def test_another_time_alone_changes_no_choice(tmp_path: Path) -> None:
    found = compared(tmp_path, OLD, (row(16, SMALL_M, us=9.0), *OLD[1:]))
    assert found["changes"] == [] and found["rows"]["retimed"] == 1 and differs(found)


def test_a_row_that_another_library_wins_now_leaves_its_problem_to_others(tmp_path: Path) -> None:
    (change,) = compared(tmp_path, OLD, (*OLD[:3], row(512, "fly_1", libtype="flydsl")))["changes"]
    assert change["kind"] == "winner" and change["new"]["tier"] != "exact"


def test_rows_of_other_targets_are_compared_where_these_are_asked(tmp_path: Path) -> None:
    other = (row(16, SMALL_M, cu_num=80),)
    assert not differs(compared(tmp_path, OLD, (*OLD, *other)))


def test_the_page_says_what_the_document_does(tmp_path: Path) -> None:
    document = compared(tmp_path, OLD, (OLD[0], row(64, LARGE, us=25.0), OLD[2], row(96, LARGE)))
    page = demand_good(difference_page(document))
    (rows,) = page.all("id", "rows")
    assert {cells[0]: number(cells[1]) for cells in rows.body} == document["rows"]
    changes = [(table.attributes["data-kind"], cells) for table in page.all("class", "changes") for cells in table.body]
    assert [(kind, cells[2], cells[3], cells[6]) for kind, cells in changes] == [
        (one["kind"], one["sizes"], one["old"]["tier"], one["new"]["tier"]) for one in document["changes"]
    ]
    assert changes[0][1][-1] == str(document["changes"][0]["ratio"]) == "1.25"


def test_thousands_of_changes_stay_a_small_page_and_a_short_text(tmp_path: Path) -> None:
    configs = paths.tuning_dir() / "aiter" / "model_configs"
    old = plan_of(configs / "a8w8_blockscale_tuned_gemm_qwen3_vl_235b.csv")
    new = plan_of(write_table(tmp_path / "a8w8_blockscale.csv", [row(16, LARGE)]))
    document = difference(old, new, ("old", "new"))
    assert len(document["changes"]) > 2 * MOST
    assert len(difference_page(document).encode()) <= 1_000_000
    assert len(markdown_of(document)) < 65_536, "what a comment of a pull request may hold"
