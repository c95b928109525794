from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ckgen import paths
from ckgen.cli.predict_input import weighed_sets
from ckgen.families.gemm.predicted.constants import FOLDER
from ckgen.model.tuned_row import Shape
from ckgen.predict.arrays import Weighed
from ckgen.predict.fit import fit
from ckgen.predict.judge import judge
from ckgen.predict.measured import Won, files_of, layers_in_folds
from commands import as_json, ok, run

QWEN = paths.tuning_dir() / "aiter" / "model_configs" / "a8w8_blockscale_bpreshuffle_tuned_gemm_qwen3_235b.csv"
SMALL = ("--arch", "gfx950", "--module", "a8w8_bpreshuffle")


@pytest.fixture(scope="module")
def held_out() -> dict[str, Any]:
    (found,) = as_json("predict", "eval", *SMALL, "--folds", "4")["sets"]
    bands: dict[str, Any] = found["bands"]
    return bands


@pytest.fixture(scope="module")
def small() -> Weighed:
    ((one,),) = weighed_sets({"arch": "gfx950", "module": "a8w8_bpreshuffle", "tables": ()})
    return one


def test_times_of_layers_never_seen_are_predicted_far_better_than_by_a_roofline(held_out: dict[str, Any]) -> None:
    every = held_out["all"]
    assert every["rows"] == 406 and every["model"]["median"] <= 0.08
    assert every["model"]["median"] < every["roofline"]["median"] / 4 < every["mnk"]["median"] / 4
    assert all(band["model"]["median"] <= 0.20 for band in held_out.values())


def test_the_winner_is_among_the_best_eight_of_all_kernels_of_layers_never_seen(held_out: dict[str, Any]) -> None:
    every = held_out["all"]["every"]
    assert every["candidates"] > 100 and every["best"] >= 0.88 and every["first"] >= 0.35


@pytest.mark.parametrize(("winner", "first", "best"), [(0, 1.0, 1.0), (7, 0.0, 1.0), (8, 0.0, 0.0)])
def test_of_equal_times_the_earlier_kernel_stands_first_as_where_candidates_are_pruned(
    small: Weighed, winner: int, first: float, best: float
) -> None:
    kernel = small.found.candidates[0][0]
    rows = (Won(Shape(0, 128, 4096, 4096), winner, 1.0, "equal"),)
    equal = Weighed(replace(small.found, candidates=((kernel, 1),) * 9, rows=rows, defaults=()), small.chip)
    (bands,) = judge([equal], folds=0, by_file=False)
    ranks = bands["all"].every
    assert (ranks.first, ranks.best, ranks.candidates) == (first, best, 9)


def test_what_a_table_tried_is_ranked_no_worse_than_among_all(held_out: dict[str, Any]) -> None:
    for band in held_out.values():
        assert band["tried"]["candidates"] <= band["every"]["candidates"]
        assert band["tried"]["best"] >= band["every"]["best"] and band["tried"]["first"] >= band["every"]["first"]
        assert band["every"]["first"] <= band["every"]["best"]


def test_constants_are_what_their_tables_give(tmp_path: Path) -> None:
    ok("predict", "fit", *SMALL, "--out", str(tmp_path))
    (written,) = tmp_path.iterdir()
    assert written.read_bytes() == (FOLDER / written.name).read_bytes()


def test_held_out_rows_have_no_part_in_a_fit(small: Weighed) -> None:
    """Ten times slower winners there change nothing; elsewhere they do."""
    held = next(iter(layers_in_folds(small.found.rows, 2)))

    def slower(inside: bool) -> Weighed:
        rows = tuple(
            replace(row, us=row.us * 10) if ((row.shape.n, row.shape.k) in held) is inside else row
            for row in small.found.rows
        )
        return Weighed(replace(small.found, rows=rows), small.chip)

    usual = fit([small], held)
    assert usual is not None
    assert fit([slower(inside=True)], held) == usual != fit([slower(inside=False)], held)


def test_tables_of_a_model_alone_are_judged(tmp_path: Path) -> None:
    text = ok("predict", "eval", "--tables", str(QWEN))
    assert text.startswith("a8w8_blockscale_bpreshuffle on gfx950:256") and "87" in text


def test_no_layer_is_in_two_folds_and_a_files_layers_are_held_out_together() -> None:
    rows = [Won(Shape(0, m, n, 64), 0, 1.0, file) for m, n, file in ((1, 8, "a"), (2, 8, "b"), (1, 16, "b"))]
    assert list(layers_in_folds(rows, 2)) == [frozenset({(8, 64)}), frozenset({(16, 64)})]
    assert list(files_of(rows)) == [frozenset({(8, 64)}), frozenset({(8, 64), (16, 64)})]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("eval", "--by-file", "--folds", "2"), "give one of them"),
        (("eval", "--arch", "x86_64_v4"), "ckgen predict calibrate"),
        (("eval", "--module", "nothing", "--tables", str(QWEN)), "no timed row"),
        (
            ("gemm", "--target", "gfx942", "--signature", "grouped_gemm_bf16_rcr", "--shape", "1,2,3"),
            "only plain GEMMs",
        ),
        (
            ("gemm", "--target", "gfx942", "--signature", "gemm_bf16_rcr", "--shape", "0,2,3", "--tuning", str(QWEN)),
            "--shape",
        ),
    ],
)
def test_what_cannot_be_predicted_is_refused_with_what_to_do(words: tuple[str, ...], says: str) -> None:
    done = run("predict", *words)
    assert done.exit_code == 2 and says in done.output
