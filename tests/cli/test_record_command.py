"""`ckgen record`: from logs, and lists joined."""

from __future__ import annotations

from pathlib import Path

from cli_support import as_json, run, write

LINE = "[aiter] shape is M:{}, N:512, K:7168, not found tuned config in /t/a8w8_blockscale_tuned_gemm.csv, will use\n"
NAME = "gemm_fp8_ocp_bf16_rcr_blockscale"


def test_the_shapes_of_logs_are_listed_by_how_often_they_are_asked(tiny: Path) -> None:
    write(tiny, {"a.log": LINE.format(8) + LINE.format(72) + "noise\n", "b.log": LINE.format(72)})
    found = as_json("record", "from-log", "a.log", "b.log", "--target", "mi355x")
    assert [(one["m"], one["count"], one["signature"]) for one in found] == [(72, 2, NAME), (8, 1, NAME)]


def test_lists_are_joined_in_place(tiny: Path) -> None:
    write(tiny, {"a.log": LINE.format(8) + LINE.format(72)})
    run("record", "from-log", "a.log", "--target", "mi355x", "--out", "a.csv")
    assert "a.csv: 2 shapes of 2 lists" in run("record", "merge", "a.csv", "a.csv", "--out", "a.csv").stderr
    assert (tiny / "a.csv").read_text().splitlines()[1:] == [
        f"{NAME},0,8,512,7168,0,0,2",
        f"{NAME},0,72,512,7168,0,0,2",
    ]


def test_a_log_without_a_miss_is_exit_1_and_a_missing_one_exit_2(tiny: Path) -> None:
    write(tiny, {"a.log": "noise\n"})
    assert run("record", "from-log", "a.log", "--target", "mi355x").exit_code == 1
    assert run("record", "from-log", "b.log", "--target", "mi355x").exit_code == 2


def test_nothing_is_written_where_one_list_is_wrong(tiny: Path) -> None:
    write(tiny, {"a.csv": "M,N\n", "b.csv": "M,N\n"})
    done = run("record", "merge", "a.csv", "b.csv", "--out", "c.csv")
    assert done.exit_code == 3 and done.stderr.count("error[M005]") == 2 and not (tiny / "c.csv").exists()


def test_lines_that_are_not_understood_are_said(tiny: Path) -> None:
    write(tiny, {"a.log": LINE.format(8).replace("a8w8_blockscale", "nonsense")})
    assert (
        "note: 1 line left out: the module of table" in run("record", "from-log", "a.log", "--target", "mi300x").stderr
    )
