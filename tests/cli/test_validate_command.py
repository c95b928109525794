"""`ckgen validate`: every row has one fate, wrong ones are named, and nothing is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_support import AITER, LARGE, SMALL, row, table, write

from commands import as_json, ok, run


def test_fates_of_the_real_tables() -> None:
    files = as_json("validate", str(AITER), "--targets", "gfx942;gfx942:80;gfx950")["files"]
    total: Counter[str] = Counter()
    for file in files:
        assert set(file) == {"path", "module", "rows", "fates", "findings"}
        assert sum(file["fates"].values()) == file["rows"]
        total.update(file["fates"])
    assert total == {
        "selected": 44015, "external": 2722, "other_target": 393, "unavailable": 40, "refused_measurement": 225,
        "shape_list": 5912, "unknown_table": 384,
    }  # fmt: skip
    assert total.total() == 53691 and len(files) == 102


def test_ladders_whose_splits_and_orders_vary_are_counted(tmp_path: Path) -> None:
    rows = [row(m=16, splits="1"), row(m=32, kernel=LARGE), row(m=64, kernel=LARGE)]
    rows += [row(m=m, n=768, kernel=LARGE) for m in (16, 32)]
    write(tmp_path, {"a8w8_blockscale.csv": table(*rows)})
    place = tmp_path / "a8w8_blockscale.csv"
    (found,) = as_json("validate", str(place), "--batch-invariance")["batch_invariance"]
    counts = {"groups": 2, "splits": 1, "runnable": 2, "orders": 1}
    assert found == {"target": "gfx942:304", "module": "a8w8_blockscale", "dtype": "fp8_fnuz", **counts}
    text = ok("validate", str(place), "--batch-invariance")
    assert "splits of K vary with M in 1 of 2 ladders, orders of additions in 1 of 2 that can run" in text
    assert "batch_invariance" not in as_json("validate", str(place))


def test_the_text_counts_files_rows_and_fates(tiny: Path, golden: Callable[[str, str], None]) -> None:
    result = run("validate", "t")
    assert result.exit_code == 0
    golden("cli/validate.txt", result.stdout)
    golden("cli/validate_notes.txt", result.stderr)


def test_without_targets_every_target_of_the_rows_counts(tiny: Path) -> None:
    (tuned, shapes) = as_json("validate", "t")["files"]
    assert (tuned["path"], tuned["module"], tuned["rows"]) == ("t/a8w8_blockscale.csv", "a8w8_blockscale", 6)
    assert tuned["fates"] == {"refused_measurement": 1, "external": 1, "selected": 4}
    assert shapes == {
        "path": "t/a8w8_blockscale_untuned.csv", "module": None, "rows": 2, "fates": {"shape_list": 2}, "findings": []
    }  # fmt: skip
    only = as_json("validate", "t", "--targets", "gfx942:80")["files"][0]["fates"]
    assert only == {"other_target": 5, "selected": 1}
    assert run("validate", "t", env={"CKGEN_TARGETS": "gfx950"}).stdout == ok("validate", "t")


def test_a_rate_beyond_the_peak_is_named_with_its_share(tiny: Path) -> None:
    (tuned, _) = as_json("validate", "t")["files"]
    (refused,) = (finding for finding in tuned["findings"] if finding["code"] == "P003")
    assert (refused["file"], refused["line"]) == ("t/a8w8_blockscale.csv", 7)
    assert "times the peak rate" in refused["message"] and "times the peak rate" in run("validate", "t").stderr


def test_errors_are_exit_3_and_fates_are_counted_all_the_same(tiny: Path, golden: Callable[[str, str], None]) -> None:
    write(tiny, {
        "t/a8w8_blockscale.csv": table(
            row(m=16), row(m=16, kernel=LARGE, us="4.1"), row(m=32, kernel="nonsense"), row(m="-1"), row(m=64), ""
        ),
        "t/zero.csv": "",
    })  # fmt: skip
    result = run("validate", "t")
    assert result.exit_code == 3
    golden("cli/validate_errors.txt", result.stderr)
    tuned = as_json("validate", "t", code=3)["files"][0]
    assert tuned["rows"] == 5 and tuned["fates"] == {"invalid": 4, "selected": 1}
    assert sorted(finding["code"] for finding in tuned["findings"]) == ["T005", "T007", "T012"]


def test_strict_makes_an_unavailable_row_an_error(tiny: Path) -> None:
    write(tiny, {"t/a8w8_blockscale.csv": table(row(kernel=LARGE.replace("256x16x64x256", "256x512x512x256")))})
    assert run("validate", "t").exit_code == 0
    assert run("validate", "t", "--strict").exit_code == 3


def test_rows_of_an_arch_without_a_spec_are_unavailable(tiny: Path) -> None:
    write(tiny, {"t/a8w8_blockscale.csv": table(row(gfx="gfx1151", cu=40), row())})
    result = run("validate", "t")
    assert result.exit_code == 0 and "unavailable(no spec of gfx1151)" in result.stderr
    assert as_json("validate", "t")["files"][0]["fates"] == {"unavailable": 1, "selected": 1}


def test_a_later_path_overrides_an_earlier_one(tiny: Path) -> None:
    write(tiny, {"u/a8w8_blockscale.csv": table(row(m=16, kernel=LARGE))})
    first, _, second = as_json("validate", "t", "u")["files"]
    assert first["fates"]["overridden"] == 1 and second["fates"] == {"selected": 1}


def test_module_says_what_a_file_name_does_not(tiny: Path) -> None:
    write(tiny, {"x.csv": table(row(kernel="nonsense"))})
    assert "error[T010] x.csv" in run("validate", "x.csv").stderr
    assert "error[T012] x.csv:2" in run("validate", "x.csv", "--module", "a8w8_blockscale").stderr


class TestWhyNot:
    @pytest.mark.parametrize("place", ["t/a8w8_blockscale.csv", "./t/a8w8_blockscale.csv", "a8w8_blockscale.csv"])
    def test_a_row_by_its_place(self, tiny: Path, place: str) -> None:
        assert ok("validate", "t", "--why-not", f"{place}:4") == (
            "t/a8w8_blockscale.csv:4: external(flydsl)\n"
            "  gfx942:304 a8w8_blockscale M=4096 N=512 K=7168: flydsl fly_64x64\n"
        )

    def test_a_row_by_an_absolute_place(self, tiny: Path) -> None:
        assert "external" in ok("validate", "t", "--why-not", f"{tiny}/t/a8w8_blockscale.csv:4")

    def test_rows_by_a_glob_over_kernel_names(self, tiny: Path) -> None:
        found = as_json("validate", "t", "--targets", "gfx942", "--why-not", f"{SMALL[:-1]}?")["why_not"]
        assert [(one["source"], one["fate"], one["reason"]) for one in found] == [
            ("t/a8w8_blockscale.csv:2", "selected", None),
            ("t/a8w8_blockscale.csv:5", "other_target", "gfx942:80"),
            ("t/a8w8_blockscale.csv:6", "other_target", "gfx950:256"),
            ("t/a8w8_blockscale.csv:7", "refused_measurement", found[3]["reason"]),
        ]
        assert found[3]["reason"].endswith("times the peak rate")

    def test_a_bad_cell_and_a_shape_have_fates_too(self, tiny: Path) -> None:
        write(tiny, {"t/a8w8_blockscale.csv": table(row(m="x"))})
        bad = run("validate", "t", "--why-not", "a8w8_blockscale.csv:2")
        assert bad.exit_code == 3 and bad.stdout == "t/a8w8_blockscale.csv:2: invalid(T005)\n"
        shape = run("validate", "t", "--why-not", "a8w8_blockscale_untuned.csv:2")
        assert shape.stdout == "t/a8w8_blockscale_untuned.csv:2: shape_list\n"

    def test_what_matches_nothing_is_said(self, tiny: Path) -> None:
        result = run("validate", "t", "--why-not", "a8w8_blockscale.csv:999")
        assert result.exit_code == 0 and result.stdout == ""
        assert result.stderr == "note: no row at 'a8w8_blockscale.csv:999', and no kernel name that fits it\n"


def test_no_path_is_usage(tiny: Path) -> None:
    assert run("validate").exit_code == 2
    assert run("validate", "missing").exit_code == 2
    assert run("validate", "t", "--targets", "gfx0").exit_code == 2
