"""Commands on a table of the MX-FP8 kernels for few rows as AITER writes it, which tells neither chip nor CUs."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest
from cli_support import REPOSITORY

from commands import as_json, ok

SHIPPED = REPOSITORY / "tuning" / "ckgen" / "mxfp8_tuned_gemm.csv"
COLUMNS = ("K", "N", "M", "kernel", "n_sub", "k_splits", "use_hip")
PROBLEM = ("gemm", "--signature", "mxfp8", "--target", "gfx950")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "smallm.csv"
    with SHIPPED.open(encoding="utf-8", newline="") as shipped, path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(csv.DictReader(shipped))
    return path


def test_validate_selects_every_row_but_the_one_that_declines(table: Path) -> None:
    (file,) = as_json("validate", str(table))["files"]
    assert (file["module"], file["rows"], file["fates"]) == ("mxfp8", 28, {"external": 1, "selected": 27})


def test_lookup_and_explain_show_the_row(table: Path) -> None:
    given = ("--tuning", str(table), "--shape", "1,1536,6144")
    assert "exact    gemm_fp8_ocp_bf16_rcr_mx_hip_mxfp8_gemv_m1_n4x1_k4" in ok("lookup", *PROBLEM, *given)
    assert f"{table}:16 measured at M=1" in ok("explain", *PROBLEM, *given)


def test_the_library_has_a_rung_for_each_row(table: Path, tmp_path: Path) -> None:
    signature = ("--signatures", "gemm_fp8_ocp_bf16_rcr_mx")
    asked = ("generate", "--targets", "gfx950", "--tuning", str(table), *signature, "--out", str(tmp_path / "out"))
    ok(*asked)
    (lookup,) = (tmp_path / "out").rglob("lookup_gfx950_256.hpp")
    rungs = re.findall(r"^ +rung\(([0-9]+), (\w+)\),$", lookup.read_text(encoding="utf-8"), re.M)
    assert len(rungs) == 28 and [rung for rung in rungs if rung[1] == "caller_own"] == [("64", "caller_own")]
    ok(*asked, "--check")


def test_tables_are_counted_mended_and_joined(table: Path, tmp_path: Path) -> None:
    (stats,) = (one for one in as_json("tables", "stats", str(table))["groups"] if one["library"] == "hip")
    assert stats["rows"] == 27
    assert ok("tables", "dedupe", str(table)).startswith("0 rows")
    ok("tables", "upgrade", str(table))
    joined = tmp_path / "joined.csv"
    ok("tables", "merge", str(table), str(SHIPPED), "--out", str(joined))
    with joined.open(encoding="utf-8", newline="") as file:
        assert {(row["gfx"], row["cu_num"]) for row in csv.DictReader(file)} == {("gfx950", "256")}
    (file_,) = as_json("validate", str(joined))["files"]
    assert (file_["rows"], file_["fates"]) == (28, {"external": 1, "selected": 27})


def test_a_table_that_is_joined_by_itself_keeps_its_target(table: Path, tmp_path: Path) -> None:
    joined = tmp_path / "joined.csv"
    ok("tables", "merge", str(table), "--out", str(joined))
    (file,) = as_json("validate", str(joined))["files"]
    assert file["fates"] == {"external": 1, "selected": 27}


def test_names_of_the_module_have_one_form() -> None:
    assert ok("list", "names", "--module", "mxfp8").split()[-1] == "<gemv|mfma>_m<M>_n<n_sub>_k<k_splits>"
    assert json.loads(ok("list", "names", "--module", "mxfp8", "--json"))
