"""What is made of the device program's output; and, where there are a GPU and a built library, the whole test of it."""

from __future__ import annotations

import csv
import io
import json
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ckgen.paths import dispatcher_dir

ROOT = dispatcher_dir().parent
GPU = ROOT / "benchmarks" / "gpu"
TABLE = """signature,m,n,k,kernel,us,is_selected
gemm_bf16_rcr,16,64,128,often,10.05,1
gemm_bf16_rcr,16,64,128,seldom,10.00,0
gemm_bf16_rcr,16,64,128,cublaslt,20.10,0
gemm_bf16_rcr,32,64,128,often,10.00,0
gemm_bf16_rcr,32,64,128,seldom/4,8.00,1
gemm_bf16_rcr,32,64,128,cublaslt,4.00,0
gemm_bf16_rcr,64,64,128,often,10.00,1
"""
CHECK = "check gemm_bf16_rcr: 2 kernels, 3 shapes, 12 runs, 1 refused, 4 wrong, worst error 0.500 of its bound\n"
INVARIANCE = (
    "signature,m,n,k,in_one_order,fastest,ratio\n"
    "invariance gemm_bf16_rcr: 165 rows and 70 kernels, 2 wrong; without the wish 1 of 55 results differ; time 1.024\n"
)
REPEAT = "repeat gemm_bf16_rcr: 198 kernels and problems, 833050 launches, 3 bursts with other bytes\n"


def script(name: str, *words: str) -> str:
    command = [sys.executable, str(GPU / name), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_the_record_has_counts_and_ratios_of_what_both_have(tmp_path: Path) -> None:
    (tmp_path / "check_one.txt").write_text(CHECK)
    (tmp_path / "check_torn.txt").write_text("device: sm_90a:132\nkilled\n")
    (tmp_path / "table_gemm_bf16_rcr.csv").write_text(TABLE)
    (tmp_path / "host.txt").write_text("host time:\n  run, same pointers        5.129 us\n")
    (tmp_path / "invariance_gemm_bf16_rcr.txt").write_text(INVARIANCE)
    (tmp_path / "invariance_torn.txt").write_text("killed\n")
    (tmp_path / "repeat_gemm_bf16_rcr.txt").write_text(REPEAT)
    (tmp_path / "repeat_torn.txt").write_text("killed\n")
    record = json.loads(script("record.py", str(tmp_path)))
    whole, torn = record["checks"]
    assert whole == {
        "signature": "gemm_bf16_rcr", "kernels": 2, "shapes": 3, "runs": 12, "refused": 1, "wrong": 4, "worst": 0.5,
    }  # fmt: skip
    assert torn == {"name": "check_torn", "wrong": None, "end": "killed"}
    assert record["invariance"] == {
        "gemm_bf16_rcr": {"rows": 165, "kernels": 70, "wrong": 2, "time": 1.024},
        "torn": {"wrong": None, "end": "killed"},
    }
    assert record["repeat"] == {
        "gemm_bf16_rcr": {"kernels": 198, "launches": 833050, "other": 3},
        "torn": {"other": None, "end": "killed"},
    }
    assert record["host_us"] == {"run, same pointers": 5.129}
    table = record["tables"]["gemm_bf16_rcr"]
    assert (table["problems"], table["compared"], table["selected"]) == (3, 2, 1.0)
    assert table["worst"] == {"problem": "32x64x128", "selected": 0.5}
    assert table["by_m"] == {"16": 2.0, "32": 0.5}


GROUPS = """signature,groups,m,n,k,kernel,us,is_selected
grouped_gemm_bf16_rcr,3;0;5,4,64,128,wide,10.00,1
grouped_gemm_bf16_rcr,3;0;5,4,64,128,wide@device,8.00,1
grouped_gemm_bf16_rcr,3;0;5,4,64,128,cublaslt_loop,30.00,0
grouped_gemm_bf16_rcr,3;0;5,4,64,128,torch,16.00,0
"""
BATCH = """signature,batch,m,n,k,kernel,us,is_selected
gemm_bf16_rcr_batched,4,16,64,128,one,10.00,1
gemm_bf16_rcr_batched,8,16,64,128,one,20.00,1
gemm_bf16_rcr_batched,4,16,64,128,torch,20.00,0
gemm_bf16_rcr_batched,8,16,64,128,torch,10.00,0
"""


def winners(*tables: Path, device: str = "a GPU") -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(script("winners.py", device, "580", "7", "2026-11-28", *map(str, tables)))))


def test_each_peer_is_compared_and_groups_known_to_the_device_stand_beside(tmp_path: Path) -> None:
    (tmp_path / "table_groups.csv").write_text(GROUPS)
    (tmp_path / "table_batch.csv").write_text(BATCH)
    tables = json.loads(script("record.py", str(tmp_path)))["tables"]
    selected = {name: {peer: found["selected"] for peer, found in of["peers"].items()} for name, of in tables.items()}
    assert selected == {
        "batch": {"torch": 1.0},
        "groups": {"cublaslt_loop": 3.0, "torch": 1.6},
        "groups@device": {"cublaslt_loop": 3.75, "torch": 2.0},
    }
    assert tables["groups"]["compared"] == 0
    assert tables["groups"]["peers"]["torch"]["worst"] == {"problem": "3*4x64x128", "selected": 1.6}
    assert tables["batch"]["peers"]["torch"]["worst"] == {"problem": "8*16x64x128", "selected": 0.5}


def test_the_page_has_the_record_of_the_last_whole_run() -> None:
    record = ROOT / "benchmarks" / "gpu" / "h200.json"
    text = (ROOT / "docs" / "nvidia.md").read_text(encoding="utf-8")
    checked, _, *table = script("page.py", str(record)).splitlines()
    assert "0 wrong of" in checked and f"**{checked}**" in " ".join(text.split())
    assert len(table) > 20 and "\n".join(table) in text


def test_a_problem_of_a_table_is_asked_of_torch_once(tmp_path: Path) -> None:
    (tmp_path / "groups.csv").write_text(GROUPS)
    problems = runpy.run_path(str(GPU / "torch_peers.py"))["problems"]
    header, asked = problems(tmp_path / "groups.csv")
    assert header == GROUPS.splitlines()[0].split(",")
    assert asked == [{"signature": "grouped_gemm_bf16_rcr", "groups": "3;0;5", "m": "4", "n": "64", "k": "128"}]


def test_rows_of_another_product_than_the_usual_name_it(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text(TABLE)

    def rows(device: str) -> list[dict[str, str]]:
        return winners(file, device=device)

    usual, own = rows("NVIDIA H100 80GB HBM3"), rows("NVIDIA H200")
    assert list(own[0])[:4] == ["gfx", "cu_num", "sku", "signature"] and "sku" not in usual[0]
    assert own == [{**row, "sku": "h200", "device": "NVIDIA H200"} for row in usual]


def test_of_equal_kernels_the_one_wins_that_is_fast_more_often(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text(TABLE)
    rows = winners(file)
    assert [(row["M"], row["kernelName"], row["splitK"], row["us"]) for row in rows] == [
        ("16", "often", "1", "10.05"), ("32", "seldom", "4", "8.00"), ("64", "often", "1", "10.00"),
    ]  # fmt: skip
    assert {(row["gfx"], row["cu_num"], row["device"], row["runs"]) for row in rows} == {
        ("sm_90a", "132", "a GPU", "7")
    }


def test_rows_of_batches_and_of_groups_say_how_many_and_the_largest(tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    found = []
    for table in (BATCH, GROUPS):
        file.write_text(table)
        found += winners(file)
    assert [tuple(row[name] for name in ("B", "M", "N", "K", "kernelName", "us")) for row in found] == [
        ("4", "16", "64", "128", "one", "10.00"), ("8", "16", "64", "128", "one", "20.00"),
        ("0", "5", "64", "128", "wide", "10.00"),
    ]  # fmt: skip


def test_the_peers_first_answer_is_a_row_beside_ours_where_that_is_not_the_faster_one_in_every_table(
    tmp_path: Path,
) -> None:
    other = "cublaslt:13.1.0_algo1_tile2"
    times = {  # ours, the first answer, the other one, in two tables
        16: ((10.0, 10.1, 10.2), (10.0, 10.4, 10.3)),  # ours is the fastest in both
        32: ((10.0, 10.1, 10.2), (10.2, 10.1, 10.0)),  # slower in one
        64: ((10.0, 9.0, 8.7), (10.0, 9.0, 8.9)),  # the other one is 2 % faster, and in both
        128: ((10.0, 9.0, 8.0), (10.0, 9.0, 9.1)),  # in one alone
        256: ((10.0, 9.0, 8.95), (10.0, 9.0, 8.9)),  # by less than two runs of one kernel differ
    }
    files = [tmp_path / name for name in ("first.csv", "second.csv")]
    for i, file in enumerate(files):
        lines = ["signature,m,n,k,kernel,us,is_selected"]
        for m, of in times.items():
            names = ("ours", "cublaslt", other)
            lines += [f"gemm_bf16_rcr,{m},64,128,{name},{us},0" for name, us in zip(names, of[i], strict=True)]
        file.write_text("\n".join(lines))
    found = [(int(row["M"]), row["kernelName"], row["us"]) for row in winners(*files)]
    assert found == [
        (16, "ours", "10.00"), (32, "ours", "10.10"), (32, "cublaslt:13.1.0_first", "10.10"), (64, "ours", "10.00"),
        (64, other, "8.80"), (128, "ours", "10.00"), (128, "cublaslt:13.1.0_first", "9.00"), (256, "ours", "10.00"),
        (256, "cublaslt:13.1.0_first", "9.00"),
    ]  # fmt: skip


def test_what_selection_took_of_the_peer_is_not_our_fastest(tmp_path: Path) -> None:
    file = tmp_path / "table_gemm_bf16_rcr.csv"
    file.write_text(TABLE + "gemm_bf16_rcr,64,64,128,cublaslt,9.00,0\n"
                    "gemm_bf16_rcr,64,64,128,gemm_bf16_rcr_cublaslt_13.1.0_first,9.00,1\n")  # fmt: skip
    table = json.loads(script("record.py", str(tmp_path)))["tables"]["gemm_bf16_rcr"]
    assert (table["compared"], table["by_m"]["64"]) == (3, 1.0)
    assert table["best"] < table["best_of_both"]["all"]


@pytest.mark.skipif(shutil.which("nvidia-smi") is not None, reason="a GPU may be here")
def test_without_a_gpu_the_record_says_that_nothing_ran(tmp_path: Path) -> None:
    record = tmp_path / "record.json"
    subprocess.run(["bash", str(ROOT / "tools" / "gpu_test.sh"), str(tmp_path), str(record)], check=True)
    found = json.loads(record.read_text())
    assert (found["skipped"], found["checks"], found["tables"]) == ("all: no NVIDIA GPU is here", [], {})


@pytest.mark.gpu
def test_every_kernel_is_right_on_the_device(tmp_path: Path) -> None:
    library = os.environ.get("CKGEN_GPU_LIBRARY")
    if library is None or shutil.which("nvidia-smi") is None:
        pytest.skip("CKGEN_GPU_LIBRARY names no built library, or no NVIDIA GPU is here")
    record = tmp_path / "record.json"
    done = subprocess.run(["bash", str(ROOT / "tools" / "gpu_test.sh"), library, str(record)], check=False)
    found = json.loads(record.read_text())
    assert done.returncode == 0, found
    assert found["checks"]
    assert all(one["wrong"] == 0 and one["runs"] > 0 for one in found["checks"])
