"""Rows of one file and cause are one finding."""

from __future__ import annotations

from pathlib import Path

from ckgen.model.diagnostic import Diagnostic
from plan_support import HEADER, plan_of, row, write_table


def found(*tables: Path) -> list[Diagnostic]:
    return list(plan_of(*tables).diagnostics)


def test_reasons_that_differ_in_numbers_only_are_one_finding(tmp_path: Path) -> None:
    rows = [row(16, N=516), row(16, K=1000), row(32, N=524), row(64, N=532)]
    n, k = found(write_table(tmp_path / "a8w8_blockscale.csv", rows))
    assert (n.code, n.location and n.location.line, k.location and k.location.line) == ("P002", 2, 3)
    assert "N = 516 is not a multiple of 8" in n.message and n.detail[1:] == ("and 2 more rows like it: lines 4, 5",)
    assert "K = 1000 is not a multiple of 128" in k.message and len(k.detail) == 1


def test_files_are_told_apart(tmp_path: Path) -> None:
    files = [write_table(tmp_path / f"a8w8_blockscale_{m}.csv", [row(m, us=0)]) for m in (1, 2)]
    assert [(one.code, one.location and one.location.file) for one in found(*files)] == [
        ("P003", str(file)) for file in files
    ]


def test_the_first_lines_are_named_and_the_rest_counted(tmp_path: Path) -> None:
    (one,) = found(write_table(tmp_path / "a8w8_blockscale.csv", [row(m, us=0) for m in range(1, 1235)]))
    assert one.detail[-1] == "and 1,233 more rows like it: lines 3, 4, 5, 6, 7, 8, 9, 10, …"


def test_rows_that_one_file_overrides_are_one_note(tmp_path: Path) -> None:
    below, above = (write_table(tmp_path / at / "a8w8_blockscale.csv", [row(16), row(32)]) for at in "ab")
    (one,) = found(below, above)
    assert (one.code, one.detail, one.related[0].line) == ("P001", ("and 1 more row like it: line 3",), 2)


def test_rows_without_a_target_are_one_note(tmp_path: Path) -> None:
    lines = [row(m, cu_num=7).removeprefix("gfx942,") for m in (16, 32)]
    (one,) = found(write_table(tmp_path / "a8w8_blockscale.csv", lines, HEADER.removeprefix("gfx,")))
    assert (one.code, one.detail) == ("P004", ("and 1 more row like it: line 3",))
