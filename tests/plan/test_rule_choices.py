"""A rule of one signature, and what answers where a leaf's kernel is not built: its next choice, or the next tiers."""

from __future__ import annotations

import json
from collections.abc import Iterator
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
from ckgen.runtime import Options
from ckgen.specs.archs import load_archs
from plan_support import plan_of, query
from runtime_build import load_generated

CPU = Target("x86_64_v4", 2)
SIGNATURE = "gemm_fp32_rcr"
TALL, WIDE, SMALL = "14x32_112x512x512_t0", "8x48_96x480x512_t0", "4x32_64x512x512_t0"


def leaf(kernel: str, *others: str) -> dict[str, Any]:
    return {"library": "host", "kernel": kernel} | ({"others": [leaf(one) for one in others]} if others else {})


RULE = {
    "archs": ["x86_64_v4"],
    "signature": SIGNATURE,
    "leaves": [leaf(TALL, WIDE, SMALL), leaf(WIDE)],
    "tree": {"if": "M <= 8", "then": 0, "else": {"if": "TILES(8x48) <= 400", "then": 1, "else": None}},
}
SHAPES = ((4, 64, 64), (64, 64, 64), (4096, 4096, 64))


@pytest.fixture(autouse=True)
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The rule ships."""
    (tmp_path / "learned").mkdir()
    (tmp_path / "learned" / "rule.json").write_text(json.dumps(RULE))
    monkeypatch.setattr(heuristic, "FOLDER", tmp_path)
    for known in (heuristic._files, heuristic.heuristic_for, heuristic.published_for):
        known.cache_clear()
    yield
    for known in (heuristic._files, heuristic.heuristic_for, heuristic.published_for):
        known.cache_clear()


def planned(*kernels: str, target: Target = CPU) -> GenerationPlan:
    globs = tuple(f"*_{one}" for one in kernels)
    return plan_of(targets=(target,), ops=frozenset({"gemm"}), signatures=(SIGNATURE,), kernels=globs)


def answers(plan: GenerationPlan) -> list[tuple[Tier, str]]:
    found = [select(query(plan, CPU, SIGNATURE, *shape)) for shape in SHAPES]
    return [(one.tier, one.instance.name.partition("_host_")[2]) for one in found if one.instance is not None]


def test_a_rule_of_a_signature_answers_for_it_on_its_archs() -> None:
    assert answers(planned())[:2] == [(Tier.HEURISTIC, TALL), (Tier.HEURISTIC, WIDE)]
    assert answers(planned())[2][0] is Tier.DEFAULT
    (unit,) = planned(target=Target("x86_64_v4_bf16", 2)).units
    assert not unit.heuristics


@pytest.mark.parametrize(
    ("built", "small", "large"),
    [
        ((TALL, WIDE), (Tier.HEURISTIC, TALL), (Tier.HEURISTIC, WIDE)),
        ((WIDE, SMALL), (Tier.HEURISTIC, WIDE), (Tier.HEURISTIC, WIDE)),
        ((SMALL,), (Tier.HEURISTIC, SMALL), (Tier.DEFAULT, SMALL)),
        ((TALL,), (Tier.HEURISTIC, TALL), (Tier.DEFAULT, TALL)),
        (("1x32_1x512x1024_t0",), (Tier.DEFAULT, "1x32_1x512x1024_t0"), (Tier.DEFAULT, "1x32_1x512x1024_t0")),
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
    plan = planned(SMALL, "1x32_1x512x1024_t0")
    library = load_generated(plan, "choices", tmp_path)
    dispatcher, device = library.dispatcher(["choices"], Options()), library.simulated(str(CPU))
    seen = set()
    for m in (1, 2, 8, 9, 33, 100, 5000):
        for n in (17, 48, 4096):
            told = dispatcher.select(library.problem(SIGNATURE, m, n, 64), device)
            mine = select(query(plan, CPU, SIGNATURE, m, n, 64))
            assert mine.instance is not None
            assert (told.tier, told.instance, told.k_batch) == (mine.tier, mine.instance.name, mine.k_batch)
            seen.add(told.tier)
    assert seen == {Tier.HEURISTIC, Tier.DEFAULT}


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
