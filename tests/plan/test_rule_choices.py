"""A rule of one signature or product, and what answers where a leaf's kernel is not built: its next choice or tier."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from ckgen.emit.render import render
from ckgen.families.gemm import heuristic
from ckgen.model.errors import InputError
from ckgen.model.selection import Tier
from ckgen.model.target import Target
from ckgen.plan.model import GenerationPlan
from ckgen.plan.registry_document import registry_text
from ckgen.plan.registry_read import read_registry
from ckgen.plan.select import select
from ckgen.plan.trail import trail
from ckgen.runtime import Options
from ckgen.specs.archs import load_archs
from plan_support import plan_of, query
from runtime_build import load_generated

CPU = Target("x86_64_v4", 2)
SIGNATURE = "gemm_fp32_rcr"
TALL, WIDE, SMALL = "14x32_112x512x512_t0", "8x48_96x480x512_t0", "4x32_64x512x512_t0"
THIN = "1x32_1x512x1024_t0"


def leaf(kernel: str, *others: str) -> dict[str, Any]:
    return {"library": "host", "kernel": kernel} | ({"others": [leaf(one) for one in others]} if others else {})


RULE = {
    "archs": ["x86_64_v4"],
    "signature": SIGNATURE,
    "leaves": [leaf(TALL, WIDE, SMALL), leaf(WIDE)],
    "tree": {"if": "M <= 8", "then": 0, "else": {"if": "TILES(8x48) <= 400", "then": 1, "else": None}},
}
AMX = "x86_64_amx"
OF_ALL = {
    "archs": [AMX],
    "signature": SIGNATURE,
    "leaves": [leaf(SMALL)],
    "tree": {"if": "M <= 64", "then": 0, "else": None},
}
OF_ONE = {
    "archs": [AMX],
    "sku": "emeraldrapids",
    "signature": SIGNATURE,
    "leaves": [leaf(THIN)],
    "tree": {"if": "M <= 8", "then": 0, "else": None},
}
ANY, ITS, ANOTHER = (Target(AMX, 2, sku) for sku in ("", "emeraldrapids", "sapphirerapids"))
SHAPES = ((4, 64, 64), (64, 64, 64), (4096, 4096, 64))


@pytest.fixture(autouse=True)
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The rules ship."""
    (tmp_path / "learned").mkdir()
    for number, rule in enumerate((RULE, OF_ALL, OF_ONE)):
        (tmp_path / "learned" / f"{number}.json").write_text(json.dumps(rule))
    monkeypatch.setattr(heuristic, "FOLDER", tmp_path)
    for known in (heuristic._files, heuristic.rules_for):
        known.cache_clear()
    yield
    for known in (heuristic._files, heuristic.rules_for):
        known.cache_clear()


def planned(*kernels: str, targets: tuple[Target, ...] = (CPU,)) -> GenerationPlan:
    globs = tuple(f"*_{one}" for one in kernels)
    return plan_of(targets=targets, ops=frozenset({"gemm"}), signatures=(SIGNATURE,), kernels=globs)


def answers(plan: GenerationPlan, target: Target = CPU) -> list[tuple[Tier, str]]:
    found = [select(query(plan, target, SIGNATURE, *shape)) for shape in SHAPES]
    return [(one.tier, one.instance.name.partition("_host_")[2]) for one in found if one.instance is not None]


def test_a_rule_of_a_signature_answers_for_it_on_its_archs() -> None:
    assert answers(planned())[:2] == [(Tier.HEURISTIC, TALL), (Tier.HEURISTIC, WIDE)]
    assert answers(planned())[2][0] is Tier.DEFAULT
    (unit,) = planned(targets=(Target("x86_64_v4_bf16", 2),)).units
    assert not unit.heuristics


def test_a_products_rule_answers_it_alone_and_before_that_of_all() -> None:
    plan = planned(targets=(ANY,))
    assert answers(plan, ITS)[:2] == [(Tier.HEURISTIC, THIN), (Tier.HEURISTIC, SMALL)]
    for other in (ANY, ANOTHER):
        assert answers(plan, other)[:2] == [(Tier.HEURISTIC, SMALL), (Tier.HEURISTIC, SMALL)]


def test_a_library_of_one_product_has_its_rules_and_those_of_all(tmp_path: Path) -> None:
    for target, skus in ((ANY, ["emeraldrapids", ""]), (ITS, ["emeraldrapids", ""]), (ANOTHER, [""])):
        plan = planned(targets=(target,))
        assert [one.rule.sku for one in plan.units[0].heuristics] == skus
        file = tmp_path / "registry.json"
        file.write_text(registry_text(plan))
        assert render(read_registry(file, load_archs()), "lib") == render(plan, "lib")


def test_where_only_another_products_rule_is_there_none_is(tmp_path: Path) -> None:
    (tmp_path / "learned" / "1.json").unlink()
    plan = planned(targets=(ANY,))
    for target, said in ((ANOTHER, f"no decision rule on {AMX}"), (ITS, "the decision rule leads to no kernel")):
        assert said in trail(query(plan, target, SIGNATURE, 4096, 64, 64), str).text()


@pytest.mark.parametrize(
    ("built", "small", "large"),
    [
        ((TALL, WIDE), (Tier.HEURISTIC, TALL), (Tier.HEURISTIC, WIDE)),
        ((WIDE, SMALL), (Tier.HEURISTIC, WIDE), (Tier.HEURISTIC, WIDE)),
        ((SMALL,), (Tier.HEURISTIC, SMALL), (Tier.DEFAULT, SMALL)),
        ((TALL,), (Tier.HEURISTIC, TALL), (Tier.DEFAULT, TALL)),
        ((THIN,), (Tier.DEFAULT, THIN), (Tier.DEFAULT, THIN)),
    ],
)
def test_what_is_not_built_gives_way(
    built: tuple[str, ...], small: tuple[Tier, str], large: tuple[Tier, str], tmp_path: Path
) -> None:
    plan = planned(*built)
    assert answers(plan)[:2] == [small, large]
    file = tmp_path / "registry.json"
    file.write_text(registry_text(plan))
    again = read_registry(file, load_archs())
    assert answers(again) == answers(plan) and render(again, "lib") == render(plan, "lib")


def test_cpp_has_no_leaf_where_python_has_no_answer() -> None:
    def nodes(*built: str) -> str:
        text = "\n".join(render(planned(*built), "lib").values())
        start = text.index("ckgen::Feature::m, ckgen::Compare::le, 8")
        return text[start : start + 300]

    assert "leaf(0)" in nodes(TALL, WIDE) and "leaf(1)" in nodes(TALL, WIDE)
    assert "leaf(0)" in nodes(SMALL) and "leaf(1)" not in nodes(SMALL) and nodes(SMALL).count("no_leaf") == 2


@pytest.mark.cpp
def test_cpp_walks_to_the_same_choices(tmp_path: Path) -> None:
    """Of a library in which the first leaf's third choice alone is built, and nothing of the second leaf."""
    plan = planned(SMALL, THIN, targets=(CPU, ANY))
    library = load_generated(plan, "choices", tmp_path)
    dispatcher = library.dispatcher(["choices"], Options())
    seen = set()
    for target, m, n in product((CPU, ANY, ITS, ANOTHER), (1, 2, 8, 9, 33, 100, 5000), (17, 48, 4096)):
        asked = query(plan, target, SIGNATURE, m, n, 64)
        problem, device = library.problem(SIGNATURE, m, n, 64), library.simulated(str(target))
        told, mine = dispatcher.select(problem, device), select(asked)
        assert mine.instance is not None
        assert (told.tier, told.instance, told.k_batch) == (mine.tier, mine.instance.name, mine.k_batch)
        said = dispatcher.explain(problem, device).replace(" (simulated)", "")
        assert said == f"{trail(asked, str).text()}\n"
        seen.add((target, told.tier, mine.instance.name.partition("_host_")[2]))
    assert {tier for _, tier, _ in seen} == {Tier.HEURISTIC, Tier.DEFAULT}
    assert {target for target, tier, kernel in seen if (tier, kernel) == (Tier.HEURISTIC, THIN)} == {ITS}


def test_a_registry_may_not_put_another_kernel_in_a_leafs_place(tmp_path: Path) -> None:
    document = json.loads(registry_text(planned()))
    (unit,) = document["units"]
    names = [one["name"] for one in unit["instances"]]
    unit["heuristics"][0]["leaves"][1] = names.index(f"{SIGNATURE}_host_{SMALL}")
    file = tmp_path / "registry.json"
    file.write_text(json.dumps(document))
    with pytest.raises(InputError) as raised:
        read_registry(file, load_archs())
    assert any("is none of the kernels that the rule has there" in one.message for one in raised.value.diagnostics)
