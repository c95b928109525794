"""`ckgen bench`: problems of a command line, rows, and what the exit code says of them."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from bad_library import Bad, build_bad
from ckgen.cli.bench_problems import family_asked, problems_asked
from ckgen.cluster import Lost
from ckgen.fuzz.case import Case
from ckgen.measure import bench, local
from ckgen.model.groups import GroupSize
from ckgen.specs.archs import load_archs
from ckgen.specs.native import own_cpu
from commands import as_json, run

TARGET = str(own_cpu())
GEMM = ("bench", "gemm", "--target", "native", "--signature", "gemm_fp32_rcr")
SHAPE = ("--shape", "24,40,4096")
SOON = ("--repeat", "2", "--seconds", "0.05", "--warmup", "2")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Bad:
    return build_bad(tmp_path_factory.mktemp("bad"))


@pytest.fixture
def bad(built: Bad, monkeypatch: pytest.MonkeyPatch) -> Bad:
    """In place of what would be generated and built."""
    monkeypatch.setattr(local, "NAME", "bad")
    for module in (local, bench):
        monkeypatch.setattr(module, "build_library", lambda contents, say, work: built.library)
    return built


def kernels(bad: Bad, *acts: str) -> list[str]:
    return [word for act in acts for word in ("--kernels", bad.candidates[act].instance)]


@pytest.mark.cpp
def test_what_is_wrong_is_a_row_and_exit_1(bad: Bad, tmp_path: Path) -> None:
    out, table = tmp_path / "rows.jsonl", tmp_path / "rows.csv"
    out.write_text('{"before": 1}\n')
    some = kernels(bad, "gives_garbage", "writes_beside", "right")
    done = run(*GEMM, *SHAPE, *SOON, *some, "--peer", "numpy", "--out", str(out), "--csv", str(table))
    assert done.exit_code == 1
    before, *rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert before == {"before": 1}
    found = {row["name"]: row for row in rows}
    right, garbage, beside = (
        found[bad.candidates[act].instance] for act in ("right", "gives_garbage", "writes_beside")
    )
    assert (right["status"], right["verified"], right["checked"]) == ("ok", True, 960)
    assert (
        right["runs"]
        and right["max_rel"] < 1e-6
        and right["gflops"] > 0
        and right["gb_s"] > 0
        and right["reason"] is None
    )
    assert (garbage["status"], beside["status"]) == ("wrong", "out_of_bounds")
    assert garbage["reason"].startswith("C[0, 23, 39] is ") and garbage["median_us"] is None
    assert {row["digest"] for row in rows if row["kind"] == "candidate"} == {local.digest_of(bad.library)}
    (peer,) = (row for row in rows if row["kind"] == "peer")
    assert (peer["name"], peer["verified"]) == ("numpy: numpy matmul, out=", True)
    with table.open(newline="") as file:
        assert [row["name"] for row in csv.DictReader(file)] == [row["name"] for row in rows]
    assert "WRONG" in done.stdout and "OUT_OF_BOUNDS" in done.stdout and right["name"] in done.stdout


@pytest.mark.cpp
def test_flags_go_before_the_environment_and_that_before_defaults(bad: Bad, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("WARMUP", "9"), ("REPEAT", "3"), ("ROTATING", "2"), ("FLUSH", "1")):
        monkeypatch.setenv(f"CK_TILE_BENCH_{name}", value)
    words = (*GEMM, *SHAPE, *kernels(bad, "right"), "--warmup", "4", "--seconds", "0")
    (row,) = as_json(*words)["rows"]
    assert (row["warmup"], row["repeat"], row["rotating"], row["sets"], row["flush"]) == (4, 3, 2, 2, True)
    assert {"flags", "governor", "mhz", "load", "driver"} <= row.keys()
    assert row["threads"] >= 1 and row["versions"]["ckgen"] and row["device"] and row["target"] == TARGET
    monkeypatch.setenv("CK_TILE_BENCH_WARMUP", "many")
    assert run(*GEMM, *SHAPE).exit_code == 2


@pytest.mark.cpp
def test_graphs_are_refused_on_a_cpu(bad: Bad) -> None:
    refused = run(*GEMM, *SHAPE, "--graph")
    assert refused.exit_code == 2
    assert f"--graph: {TARGET} is measured on this CPU, and only GPUs replay graphs" in refused.stderr


@pytest.mark.cpp
def test_a_tolerance_takes_the_place_of_bounds(bad: Bad) -> None:
    words = (*GEMM, *SHAPE, *SOON, *kernels(bad, "gives_garbage"))
    assert as_json(*words, "--verify-tol", "0.5")["rows"][0]["status"] == "ok"
    (row,) = as_json(*words, "--verify-tol", "1e-6", code=1)["rows"]
    assert row["reason"].endswith("of the largest value, more than 1e-06")


@pytest.mark.cpp
def test_how_far_a_problem_is_is_said(bad: Bad, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CKGEN_PROGRESS_SECONDS", "0.02")
    words = (*GEMM, *SHAPE, *kernels(bad, "right"), "--warmup", "2", "--repeat", "1000000", "--seconds", "0.2")
    said = run(*words).stderr.splitlines()
    assert any(line.startswith("problem 1 of 1: timing 1 candidate in turns, ") for line in said), said
    assert run(*words, "--quiet").stderr == ""


@pytest.mark.cpp
def test_what_selection_takes_is_marked_and_no_kernel_is_a_finding(bad: Bad) -> None:
    (row,) = as_json(*GEMM, *SHAPE, "--kernels", "nothing*", code=1)["rows"]
    assert (row["name"], row["status"], row["reason"]) == ("", "refused", f"no kernel that is meant among {bad.count}")
    found = json.loads(run(*GEMM, *SHAPE, *SOON, "--selected", "--json").stdout)["rows"]
    assert [row["selected"] for row in found] == [True]
    library = as_json(*GEMM, *SHAPE, "--build-only")
    assert library == {"library": str(bad.library), "digest": local.digest_of(bad.library), "rows": []}


@pytest.mark.cpp
def test_workers_give_the_same_rows(bad: Bad, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In the order of the problems, appended as they come; what is lost is a finding."""

    def timed_on(tasks: Iterable[Any], function: Callable[[Any], Any], *_: object) -> Iterator[tuple[Any, Any]]:
        first, second, third = tasks
        return ((task, Lost() if task is third else function(task)) for task in (third, second, first))

    out = tmp_path / "rows.jsonl"
    with ExitStack() as stack:
        monkeypatch.setattr("ckgen.measure.bench.opened", lambda bench: stack.enter_context(bench.open()))
        monkeypatch.setattr("ckgen.measure.remote.timed_on", timed_on)
        shapes = ("--shape", "24,40,4096", "--shape", "8,40,4096", "--shape", "9,40,4096")
        words = (*GEMM, *shapes, *SOON, *kernels(bad, "right"), "--out", str(out), "--scheduler", "local")
        done = run(*words, "--json")
    assert done.exit_code == 1 and "m=9 " in done.stderr and "every worker that had it died" in done.stderr
    found = json.loads(done.stdout)["rows"]
    assert ["m=24 " in row["problem"] for row in found] == [True, False]
    assert [json.loads(line) for line in out.read_text().splitlines()] == found[::-1]
    assert run(*GEMM, *SHAPE, "--scheduler", "local", "--build-only").exit_code == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((*GEMM[:3], "gfx942", "--signature", "fp16", *SHAPE), "gfx942:304: no such GPU is there"),
        ((*GEMM, *SHAPE, "--peer", "mkl"), "--peer mkl: no such peer (known: numpy, torch, cublaslt)"),
        (GEMM, "nothing to measure: give --shape, or --shapes"),
        (("bench", "all", *GEMM[2:], *SHAPE), "unknown op: all"),
        ((*GEMM, "--shape", "1,2"), "--shape takes M,N,K"),
        (("bench", "moe", *GEMM[2:4], "--signature", "moe_bf16_rcr_down", *SHAPE), "moe needs --experts, --top-k"),
        (("bench", "gemm,moe", *GEMM[2:], *SHAPE), "one op is measured"),
    ],
)
def test_words_that_mean_nothing_are_refused(words: tuple[str, ...], said: str) -> None:
    done = run(*words)
    assert done.exit_code == 2 and said in done.stderr and done.stdout == ""


def problems(op: str, **given: Any) -> tuple[Case, ...]:
    params = {"shape": (), "shapes": None, "signature": None, "experts": None, "top_k": None, **given}
    return problems_asked(family_asked(op), own_cpu(), load_archs(), params)


def test_each_operation_has_its_sizes() -> None:
    (gemm,) = problems("gemm", signature="batched_bf16", shape=("3,16,32,64",))
    assert gemm == Case("gemm_bf16_rcr_batched", TARGET, m=16, n=32, k=64, batch=3, seed=1)
    (groups,) = problems("grouped_gemm", signature="grouped_gemm_bf16_rcr", shape=("2*3x4x5,1x4x5",))
    assert groups.groups == (GroupSize(3, 4, 5), GroupSize(3, 4, 5), GroupSize(1, 4, 5))
    (layer,) = problems("moe", signature="moe_bf16_rcr_down", shape=("7,8,16",), experts=4, top_k=2)
    assert (layer.m, layer.n, layer.k, layer.experts, layer.top_k) == (7, 8, 16, 4, 2)
    words = "batch=2 heads_q=8 heads_k=2 seqlen_q=1 seqlen_k=64 hdim_q=128 mask=b:3,0"
    (attention,) = problems("fmha", signature="fmha_bf16_masked", shape=(words,))
    assert (attention.batch, attention.heads_k, attention.m, attention.n, attention.k) == (2, 2, 1, 64, 128)
    assert (attention.hdim_v, attention.window_left, attention.window_right) == (128, 3, 0)


def test_a_list_of_shapes_is_read_for_its_operation(tmp_path: Path) -> None:
    path = tmp_path / "shapes.csv"
    path.write_text(
        "signature,B,M,N,K,experts,top_k,count\n"
        "gemm_bf16_rcr,0,1,32,64,0,0,5\ngemm_fp32_rcr,0,2,32,64,0,0,5\nmoe_bf16_rcr_down,0,4,32,64,8,2,1\n"
    )
    assert [one.m for one in problems("gemm", shapes=path)] == [1, 2]
    assert [one.m for one in problems("gemm", shapes=path, signature="fp32")] == [2]
    assert [(one.m, one.experts, one.top_k) for one in problems("moe", shapes=path)] == [(4, 8, 2)]
