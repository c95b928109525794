"""Commands on MoE tables: what people read of rows, kernel names and answers, and tables mended and joined."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from cli_support import AITER

from commands import as_json, ok, run

TABLE = AITER / "tuned_fmoe.csv"
ROUTED = (
    "moe", "--target", "gfx942:80", "--tuning", str(TABLE), "--signature",
    "moe_fp8_fnuz_bf16_rcr_rowwise_preshuffle_layer_gated_weightfirst_epi_gelu", "--shape", "4,1536,2304",
    "--experts", "8", "--top-k", "2",
)  # fmt: skip
SIZES = "tokens=4 inter=1536 model=2304 experts=8 top_k=2"


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    table = tmp_path / "tuned_fmoe.csv"
    shutil.copy(TABLE, table)
    return table


def test_validate_counts_and_names_rows() -> None:
    (file,) = as_json("validate", str(TABLE))["files"]
    assert (file["module"], file["rows"], file["fates"]) == ("fmoe", 617, {"external": 38, "selected": 579})
    told = ok("validate", str(TABLE), "--why-not", f"{TABLE}:2")
    assert told.startswith(f"{TABLE}:2: selected\n") and f"gfx942:80 fmoe {SIZES}: asm+ck _ZN5aiter56" in told


def test_names_of_the_module_have_two_forms() -> None:
    forms = ok("list", "names", "--module", "fmoe").splitlines()
    assert [form.split("_<block>")[0] for form in forms] == ["moe_ck2stages_gemm1", "moe_ck2stages_gemm2"]


def test_a_lookup_shows_the_row_that_was_measured() -> None:
    text = ok("lookup", *ROUTED)
    assert f"measured at {SIZES} on gfx942:80" in text and "\n  exact " in text


def test_an_arch_that_is_not_told_can_be_assumed() -> None:
    table = str(AITER / "model_configs" / "dsv3_fp4_tuned_fmoe.csv")
    (file,) = as_json("validate", table)["files"]
    assert file["fates"] == {"unavailable": 95}
    (file,) = as_json("validate", table, "--assume-gfx", "256=gfx950")["files"]
    assert file["fates"] == {"external": 95}


def test_tables_are_upgraded_joined_and_counted(copied: Path, tmp_path: Path) -> None:
    assert run("tables", "upgrade", str(copied), "--write").exit_code == 0
    assert copied.read_text().startswith("gfx,cu_num,token,") and copied.read_text().count("\ngfx942,80,") == 617
    other = AITER / "model_configs" / "glm5_ptpc_tuned_fmoe.csv"
    joined = tmp_path / "joined_fmoe.csv"
    ok("tables", "merge", str(copied), str(other), "--out", str(joined))
    (file,) = as_json("validate", str(joined))["files"]
    assert file["rows"] == 617 + 16 and file["fates"] == {"external": 38, "selected": 595}
    assert ok("tables", "dedupe", str(joined)).startswith("0 rows of 0 files to remove")
