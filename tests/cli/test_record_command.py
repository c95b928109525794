"""`ckgen record`: from logs, and lists joined."""

from __future__ import annotations

from pathlib import Path

from cli_support import write

from commands import as_json, run

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
        f"gfx950,256,{NAME},0,8,512,7168,0,0,,2",
        f"gfx950,256,{NAME},0,72,512,7168,0,0,,2",
    ]


def test_a_folder_stands_for_its_lists(tiny: Path) -> None:
    row = f"gfx942,304,{NAME},0,8,512,7168,0,0,,2\n"
    (tiny / "records").mkdir()
    (tiny / "empty").mkdir()
    write(
        tiny,
        {"records/a.csv": HEAD + row, "records/b.csv": HEAD + row, "records/b.txt": "no list", "c.csv": HEAD + row},
    )
    assert "d.csv: 1 shape of 3 lists" in run("record", "merge", "records", "c.csv", "--out", "d.csv").stderr
    assert (tiny / "d.csv").read_text().splitlines()[1:] == [row.strip().removesuffix("2") + "6"]
    done = run("record", "merge", "empty", "--out", "d.csv")
    assert done.exit_code == 2 and "empty has no list of shapes (*.csv)" in done.stderr


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


HEAD = "gfx,cu_num,signature,B,M,N,K,experts,top_k,sizes,count\n"


def test_lists_of_killed_processes_are_joined_and_targets_kept_apart(tiny: Path) -> None:
    write(tiny, {
        "a.csv": HEAD + f"gfx942,304,{NAME},0,8,512,7168,0,0,,2\ngfx942,304,{NAME},0,9,51",
        "b.csv": HEAD + f"gfx942,304,{NAME},0,8,512,7168,0,0,,1\ngfx942,80,{NAME},0,8,512,7168,0,0,,1\n",
    })  # fmt: skip
    done = run("record", "merge", "a.csv", "b.csv", "--out", "c.csv")
    assert done.exit_code == 0 and "note: a.csv:3: the last line is torn and left out" in done.stderr
    assert (tiny / "c.csv").read_text().splitlines()[1:] == [
        f"gfx942,80,{NAME},0,8,512,7168,0,0,,1",
        f"gfx942,304,{NAME},0,8,512,7168,0,0,,3",
    ]


def test_gemms_of_a_list_are_written_as_the_untuned_files_of_their_modules(tiny: Path) -> None:
    shapes = [
        "gfx942,80,gemm_fp8_fnuz_bf16_rcr_blockscale,0,1,2,3,0,0,,1",
        "gfx942,80,gemm_fp8_fnuz_bf16_rcr_blockscale,0,2,2,3,0,0,,5",
        "gfx942,80,gemm_fp8_fnuz_fp16_rcr_blockscale,0,1,2,3,0,0,,1",
        "gfx942,304,gemm_bf16_rcr_batched,7,1,2,3,0,0,,1",
        ",,gemm_int8_bf16_rcr_rowwise,0,1,2,3,0,0,,1",
        "gfx942,80,moe_bf16_rcr_layer_gated_epi_silu,0,1,2,3,8,2,,1",
    ]
    write(tiny, {"a.csv": HEAD + "\n".join(shapes) + "\n"})
    done = run("record", "untuned", "a.csv", "--out", "lists", "--target", "mi300x")
    assert done.exit_code == 0, done.stderr
    assert "note: 1 shape left out: no tuner of AITER's takes moe_bf16" in done.stderr
    assert {path.name: path.read_text().splitlines() for path in (tiny / "lists").iterdir()} == {
        "a8w8_blockscale_untuned_gemm_gfx942_80.csv": ["M,N,K", "2,2,3", "1,2,3"],
        "batched_bf16_untuned_gemm_gfx942_304.csv": ["B,M,N,K", "7,1,2,3"],
        "a8w8_untuned_gemm_gfx942_304.csv": ["M,N,K,q_dtype_w", "1,2,3,torch.int8"],
    }
    assert run("record", "untuned", "lists/../a.csv", "--out", "lists").stderr.count("--target does") == 1


def test_a_list_without_a_gemm_of_a_tuner_is_exit_2(tiny: Path) -> None:
    write(tiny, {"a.csv": HEAD + "gfx942,80,fmha_bf16,0,0,0,0,0,0,batch=2,1\n"})
    assert run("record", "untuned", "a.csv", "--out", "lists").exit_code == 2 and not (tiny / "lists").exists()
