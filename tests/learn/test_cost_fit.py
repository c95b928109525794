"""Rules that are fitted to what every candidate costs: what they lose on layers that they have not seen."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ckgen.families.common.decision_rule import Asked, Leaf, parse_rule
from ckgen.learn.cost_fit import few_of
from ckgen.learn.cost_tree import chosen, grow, right_size
from ckgen.learn.examples import Cost, Example
from ckgen.learn.growth import Growth
from ckgen.learn.journals import examples_of_journals
from ckgen.learn.judge import across_counts
from ckgen.learn.noise import again
from ckgen.tune.journal import read_journals
from commands import as_json
from learn.learn_support import KERNELS, LADDER, LAYERS, SIGNATURE, true_us, write_journal


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_journal(tmp_path_factory.mktemp("journal") / "j.jsonl", spread=0.01)


def run(*words: str) -> Any:
    return as_json("heuristic", *words)


def evaluated(journal: Path, *words: str) -> Any:
    return run("eval", SIGNATURE, "--target", "x86_64_v4:2", "--journal", str(journal), *words)


@pytest.fixture(scope="module")
def figures(journal: Path) -> Any:
    return evaluated(journal, "--folds", "6", "--drop", "20%", "--seeds", "2")


def test_layers_never_seen_lose_little_and_less_than_by_any_plainer_way(figures: Any) -> None:
    regrets = {way: bands["all"]["regret"]["geomean"] for way, bands in figures["ways"].items()}
    fitted = figures["ways"]["fitted, 6 folds"]["all"]["regret"]
    assert fitted["geomean"] <= 1.05 and fitted["p95"] <= 1.2
    plain = ("selected before", "one kernel for all", "next measured M")
    assert all(regrets[way] > fitted["geomean"] for way in plain)


def test_instances_that_come_and_go_lose_little_without_fitting_again(figures: Any) -> None:
    assert figures["dropped"].keys() == {"instances removed", "instances added"}
    assert all(one["geomean"] <= 1.08 for one in figures["dropped"].values())


def test_the_regret_is_the_time_over_the_best(journal: Path) -> None:
    for one in examples_of_journals(read_journals([journal]), SIGNATURE, "x86_64_v4"):
        asked = one.asked
        times = {kernel: true_us(kernel, asked.m, asked.n, asked.k) for kernel in KERNELS}
        for kernel, us in times.items():
            found = one.regret(Leaf("host", f"{kernel}_t0"))
            assert found == pytest.approx(us / min(times.values()), rel=1e-4)
        usual = one.regret(Leaf("host", f"{KERNELS[3]}_t0"))
        assert one.regret(None) == one.regret(Leaf("host", "9x16_1x1x1_t0")) == usual


def test_of_several_rounds_half_choose_and_half_price(tmp_path: Path) -> None:
    """The first kernel seems faster in odd rounds than it is in even ones."""
    path = write_journal(tmp_path / "j", layers=LAYERS[:2], turns=(0.5, 1.0))
    first = Leaf("host", f"{KERNELS[0]}_t0")
    for one in examples_of_journals(read_journals([path]), SIGNATURE, "x86_64_v4"):
        us = {leaf: one.halves.even[leaf] for leaf in one.costs}
        if min(us, key=us.__getitem__) == first:
            continue
        (best, *_) = sorted(us.values())
        chosen = first if us[first] / 2 < best else min(us, key=us.__getitem__)
        assert one.regret(first) == pytest.approx(
            math.sqrt((us[first] / us[chosen]) * (us[first] / 2 / best)), rel=1e-3
        )
    ceilings = evaluated(path)["ceilings"]
    assert ceilings.keys() == {"other half"} and ceilings["other half"]["all"]["regret"]["worst"] > 1.0


def test_a_fitted_rule_names_its_device_and_what_follows_each_kernel(journal: Path) -> None:
    words = ("fit", SIGNATURE, "--target", "x86_64_v4", "--journal", str(journal))
    document = run(*words)
    assert document == run(*words)
    assert document["archs"] == ["x86_64_v4", "x86_64_v4_bf16", "x86_64_amx"]
    assert document["fitted"]["devices"] == ["a made-up CPU"] and document["fitted"]["cu_num"] == [2]
    rule = parse_rule(document, "x86_64_v4")
    assert rule.module == SIGNATURE and len(rule.nodes) > 1
    for leaf in range(len(rule.leaves)):
        assert len({one.kernel for one in rule.choices(leaf)}) == 4


def test_a_rule_is_of_the_product_that_all_was_measured_on(tmp_path: Path) -> None:
    its = write_journal(tmp_path / "its", layers=LAYERS[:3], of="x86_64_amx:{}:emeraldrapids")
    other = write_journal(tmp_path / "other", layers=LAYERS[:3], of="x86_64_amx:{}", code="f00d")

    def fitted(target: str, *journals: Path) -> Any:
        words = (word for one in journals for word in ("--journal", str(one)))
        return run("fit", SIGNATURE, "--target", target, *words)

    document = fitted("x86_64_amx", its)
    assert (document["archs"], document["sku"]) == (["x86_64_amx"], "emeraldrapids")
    assert parse_rule(document, "x86_64_amx").sku == "emeraldrapids"
    assert fitted("x86_64_amx:2:emeraldrapids", its, other) == document
    both = fitted("x86_64_amx", its, other)
    assert "sku" not in both and both["fitted"]["rows"] == 2 * document["fitted"]["rows"]


def test_a_rule_has_no_answer_beyond_what_was_timed(journal: Path) -> None:
    document = run("fit", SIGNATURE, "--target", "x86_64_v4", "--journal", str(journal), "--unsure", "1")
    rule = parse_rule(document, "x86_64_v4")
    for cores, m, (n, k) in product((1, 2), LADDER, LAYERS):
        assert rule.evaluate(m, n, k, cu_num=cores) is not None
    beyond = (
        (3, 1, 768, 384),
        (2, 129, 768, 384),
        (2, 1, 255, 384),
        (2, 1, 4097, 384),
        (2, 1, 768, 383),
        (2, 1, 768, 3073),
    )
    for cores, m, n, k in beyond:
        assert rule.evaluate(m, n, k, cu_num=cores) is None, (cores, m, n, k)


def test_a_leaf_that_loses_too_much_has_no_answer(journal: Path) -> None:
    words = ("fit", SIGNATURE, "--target", "x86_64_v4", "--journal", str(journal), "--leaves", "2", "--unsure", "0")
    assert run(*words)["tree"] is None


def test_what_is_fitted_on_some_cores_is_judged_on_others(tmp_path: Path) -> None:
    both = [write_journal(tmp_path / f"{cores}", layers=LAYERS[::2], cores=cores, code=f"c{cores}") for cores in (1, 2)]
    words = ("eval", SIGNATURE, "--target", "x86_64_v4", "--folds", "4")
    found = run(*words, *(word for path in both for word in ("--journal", str(path))))
    assert found["ways"]["fitted, other CUs"]["all"]["rows"] == found["rows"] == 2 * 6 * 14


def test_a_count_of_cores_is_judged_by_a_rule_that_has_not_seen_it() -> None:
    one, two = (Leaf("host", f"{kernel}_t0") for kernel in KERNELS[:2])
    examples = [
        Example(Asked(m, 64, 64, m, cores), 1, best, 1.0, "a CPU", {best: Cost(1.0), worst: Cost(2.0)})
        for cores, best, worst in ((1, one, two), (2, two, one))
        for m in range(1, 5)
    ]
    choose = across_counts(examples, SIGNATURE, "x86_64_v4", Growth())
    assert [choose(example) for example in examples] == [two] * 4 + [one] * 4


def test_a_tree_splits_where_the_best_kernel_changes() -> None:
    values = np.array([[m, m % 3] for m in range(12)], dtype=float)
    losses = np.array([[0.0, 1.0, 0.4] if m < 7 else [1.0, 0.0, 0.4] for m in range(12)])
    one, two = grow(values, losses, leaves=8, least=1)
    assert (one.split, two.split) == (None, (0, 6)) and two.below is not None
    assert chosen(two, values) == [0] * 7 + [1] * 5
    assert chosen(grow(values, losses, 8, least=6)[-1], values)[5:7] == [0, 1]
    folds = [np.arange(12) % 3 == fold for fold in range(3)]
    assert right_size(values, losses, folds, 8, 1) == 2


def test_of_numbers_of_leaves_a_standard_error_apart_the_fewest_are_taken() -> None:
    """Two kernels that are equal but for noise: eleven leaves save a little on layers held out too."""
    draw = np.random.RandomState(0)
    values, losses = draw.randint(0, 50, (96, 6)).astype(float), np.abs(draw.normal(0, 0.02, (96, 2)))
    folds = [np.arange(96) % 8 == fold for fold in range(8)]
    assert right_size(values, losses, folds, 16, 3) == 1


def test_a_tree_splits_where_two_splits_save_what_neither_does() -> None:
    values = np.array([[24], [48], [64]] * 3, dtype=float)
    losses = np.array([[0.1, 0.0], [0.0, 0.1], [0.1, 0.0]] * 3)
    assert chosen(grow(values, losses, 8, least=1)[-1], values) == [1, 0, 1] * 3


def test_few_kernels_are_enough_where_the_others_add_little() -> None:
    losses = np.array([[0.0, 0.5, 0.001], [0.5, 0.0, 0.3], [0.002, 0.5, 0.0]])
    assert few_of(losses) == [2, 1] and few_of(losses, most=1) == [2]


def test_noise_is_what_times_drawn_anew_say(tmp_path: Path) -> None:
    def ceiling(spread: float) -> tuple[float, float]:
        path = write_journal(tmp_path / f"{spread}", layers=LAYERS[:2], spread=spread)
        found = again(examples_of_journals(read_journals([path]), SIGNATURE, "x86_64_v4"))["all"]
        assert found.regret is not None
        return found.rate, found.regret.geomean

    assert ceiling(0.0) == (1.0, 1.0)
    (little, lost_little), (much, lost_much) = ceiling(0.01), ceiling(0.3)
    assert 1 > little > much and 1 < lost_little < lost_much
