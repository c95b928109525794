from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from ckgen import paths
from ckgen.cli import cli
from ckgen.families.common.decision_rule import Asked, Leaf
from ckgen.families.gemm.heuristic import FOLDER, heuristic_for
from ckgen.learn.examples import Example
from ckgen.learn.judge import BANDS, constant, folds_of, neighbour, next_power_of_two, ruled, score

MODELS = paths.tuning_dir() / "aiter" / "model_configs"
STUDY = tuple(
    MODELS / f"a8w8_blockscale_tuned_gemm_{model}.csv" for model in ("qwen36_27b", "qwen3_vl_32b", "qwen3_vl_235b")
)
ONE, TWO = Leaf("ck", "one"), Leaf("ck", "two", 2)


def example(m: int, winner: Leaf, n: int = 64, k: int = 128) -> Example:
    return Example(Asked(m, n, k, m, 304), 1, winner, None, "f")


def evaluated(*words: str) -> dict[str, dict[str, dict[str, float]]]:
    done = CliRunner().invoke(cli, ["heuristic", "eval", *words, "--json"])
    assert done.exit_code == 0, done.output
    ways: dict[str, dict[str, dict[str, float]]] = json.loads(done.stdout)["ways"]
    return ways


@pytest.fixture(scope="module")
def study() -> dict[str, dict[str, dict[str, float]]]:
    tables = [word for path in STUDY for word in ("--tables", str(path))]
    return evaluated("a8w8_blockscale", "--arch", "gfx942", "--folds", "8", *tables)


def test_layers_never_seen_get_their_winner_more_often_than_by_any_plainer_way(
    study: dict[str, dict[str, dict[str, float]]],
) -> None:
    """The plainer ways' figures are those that others published of these tables."""
    small = {way: bands["M <= 1024, no power of 2"]["rate"] for way, bands in study.items()}
    assert (small["published rule"], small["next power of 2"]) == (0.7268, 0.56)
    fitted = study["fitted, 8 folds"]
    assert fitted["M <= 1024, no power of 2"]["rate"] >= 0.80 and fitted["all"]["rate"] >= 0.983
    assert max(small.values()) == max(small["fitted, 8 folds"], small["shipped rule"])


def test_a_shipped_rule_is_what_its_tables_and_growth_give(tmp_path: Path) -> None:
    for module, arch in (("a8w8_bpreshuffle", "gfx950"), ("a8w8", "gfx950")):
        file = FOLDER / "learned" / f"{arch}_{module}.json"
        words = ["heuristic", "fit", module, "--arch", arch, "--out", str(tmp_path / "rule.json")]
        assert CliRunner().invoke(cli, words).exit_code == 0
        assert (tmp_path / "rule.json").read_text() == file.read_text()


def test_every_shipped_tree_is_small() -> None:
    for file in (FOLDER / "learned").glob("*.json"):
        arch, _, module = file.stem.partition("_")
        rule = heuristic_for(module, arch)
        assert rule is not None and len(rule.nodes) < 64 and json.loads(file.read_text())["fitted"]["rows"] >= 300


def test_scores_count_winners_and_kernels_by_band() -> None:
    rows = (example(1, ONE), example(3, TWO), example(2000, ONE))
    found = score(rows, lambda one: Leaf("ck", "two") if one.asked.m == 3 else ONE)
    told = {band: (one.rows, one.winners, one.kernels) for band, one in found.items()}
    assert told == {
        "M <= 16": (2, 1, 2), "16 < M <= 128": (0, 0, 0), "128 < M <= 1024": (0, 0, 0), "M > 1024": (1, 1, 1),
        "M <= 1024, no power of 2": (1, 0, 1), "all": (3, 2, 3),
    }  # fmt: skip
    assert list(told) == list(BANDS)


def test_plainer_ways_are_what_their_names_say() -> None:
    rows = (example(4, ONE), example(6, TWO), example(8, ONE), example(9, TWO), example(9, TWO, n=128))
    assert [constant(rows)(one) for one in rows] == [TWO] * 5
    assert [next_power_of_two(rows)(one) for one in rows] == [ONE, ONE, ONE, None, None]
    assert [neighbour(rows)(one) for one in rows] == [TWO, ONE, TWO, ONE, None]


def test_a_layer_is_in_one_fold() -> None:
    rows = [example(m, ONE, n) for n in range(10) for m in range(1, n + 2)]
    folds = list(folds_of(rows, 4))
    assert sorted(group for fold in folds for group in fold) == sorted({one.group for one in rows})
    assert max(map(len, folds)) < 10


def test_a_rule_chooses_what_it_leads_to() -> None:
    rule = heuristic_for("a8w8_blockscale", "gfx942")
    assert rule is not None
    taken = ruled(rule)(example(16, ONE, 512, 7168))
    assert taken is not None and taken.k_batch == 8
