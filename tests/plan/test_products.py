"""Rows of one product among those of all that report its count: which plan they are in, what they answer, what is
generated of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ckgen.emit.render import render
from ckgen.families.gemm.predicted.chip import chip_of
from ckgen.families.gemm.query import GemmQuery
from ckgen.model.fate import FateKind
from ckgen.model.selection import Tier, Wishes
from ckgen.model.target import Target
from ckgen.model.tuned_row import Shape
from ckgen.plan.model import GenerationPlan
from ckgen.plan.planner import has_errors
from ckgen.plan.registry_document import registry_text
from ckgen.plan.registry_read import read_registry
from ckgen.plan.select import Selection, select
from ckgen.plan.trail import trail
from ckgen.specs import load_arch, load_archs
from plan_support import GFX942, HEADER, LARGE, MIDDLE, SMALL_M, plan_of, row, write_table

MI300X, MI325X = GFX942._replace(sku="mi300x"), GFX942._replace(sku="mi325x")
UNIT = "gemm_fp8_fnuz_bf16_rcr_blockscale"
HEADER_OF_PRODUCTS = HEADER.replace("cu_num", "cu_num,sku")
EVERY = (row(16, SMALL_M), row(64, MIDDLE), row(256, LARGE), row(64, MIDDLE, N=1024), row(128, LARGE, cu_num=80))


def of(sku: str, line: str) -> str:
    """The line with the product behind its target."""
    gfx, cu_num, rest = line.split(",", 2)
    return f"{gfx},{cu_num},{sku},{rest}"


OWN = (of("mi325x", row(64, LARGE)), of("mi325x", row(128, MIDDLE)), of("mi325x", row(32, MIDDLE, libtype="flydsl")))


@pytest.fixture
def tables(tmp_path: Path) -> tuple[Path, Path]:
    every = write_table(tmp_path / "a8w8_blockscale_tuned_gemm.csv", EVERY)
    own = write_table(tmp_path / "own" / "a8w8_blockscale_tuned_gemm.csv", OWN, HEADER_OF_PRODUCTS)
    return every, own


def chosen(plan: GenerationPlan, target: Target, m: int, n: int = 512, **wishes: bool) -> Selection:
    (unit,) = (one for one in plan.units if one.name == UNIT)
    return select(GemmQuery(plan, target, unit.signature, Shape(0, m, n, 1024), Wishes(**wishes)))


def answer(plan: GenerationPlan, target: Target, m: int, n: int = 512) -> tuple[Tier, str | None]:
    found = chosen(plan, target, m, n)
    return found.tier, found.instance.table_kernel if found.instance is not None else None


def test_a_row_of_a_product_answers_it_alone_and_before_that_of_all(tables: tuple[Path, Path]) -> None:
    plan = plan_of(*tables)
    assert answer(plan, MI325X, 64) == (Tier.EXACT, LARGE)
    for other in (GFX942, MI300X):
        assert answer(plan, other, 64) == (Tier.EXACT, MIDDLE)
    assert answer(plan, MI325X, 100) == (Tier.NEAR, MIDDLE)
    assert answer(plan, GFX942, 100)[0] is not Tier.NEAR


def test_a_product_is_answered_by_rows_of_all_at_what_it_did_not_measure(tables: tuple[Path, Path]) -> None:
    plan = plan_of(*tables)
    for m, n in ((16, 512), (256, 512), (64, 1024)):
        assert answer(plan, MI325X, m, n) == answer(plan, GFX942, m, n)
        assert answer(plan, MI325X, m, n)[0] is Tier.EXACT


def test_a_row_of_a_later_layer_comes_before_one_of_its_size_whosever_it_is(tables: tuple[Path, Path]) -> None:
    """As rows that a program loads come before compiled ones."""
    every, own = tables
    assert answer(plan_of(own, every), MI325X, 64) == (Tier.EXACT, MIDDLE)
    assert answer(plan_of(own, every), MI325X, 128) == (Tier.EXACT, MIDDLE)
    assert answer(plan_of(every, own), MI325X, 64) == (Tier.EXACT, LARGE)


def test_the_external_winner_of_a_product_is_its_own(tables: tuple[Path, Path]) -> None:
    plan = plan_of(*tables)
    found = chosen(plan, MI325X, 32)
    assert found.external is not None and found.external.library == "flydsl"
    assert chosen(plan, MI300X, 32).external is None


def test_other_counts_are_answered_by_rows_of_all_alone(tables: tuple[Path, Path]) -> None:
    plan = plan_of(*tables, targets=(GFX942, Target("gfx942", 80)))
    (unit,) = (one for one in plan.units if one.name == UNIT)
    query = GemmQuery(plan, Target("gfx942", 80, "mi308x"), unit.signature, Shape(0, 64, 512, 1024))
    found = [(one.instance.table_kernel, one.row.target) for one in query.of_other_cus(unit)]
    assert found[0] == (MIDDLE, GFX942) and {target for _, target in found} == {GFX942}


def test_a_target_without_a_product_takes_rows_of_all_of_them_and_one_with_it_no_others(
    tables: tuple[Path, Path],
) -> None:
    for targets, kept in (((GFX942,), 3), ((MI325X,), 3), ((MI300X,), 0), ((MI300X, MI325X), 3)):
        plan = plan_of(*tables, targets=targets)
        own = [fate for fate in plan.fates if "own" in fate.location.file or fate.reason.endswith("mi325x")]
        of_other = sum(fate.kind is FateKind.OTHER_TARGET and fate.reason == "gfx942:304:mi325x" for fate in plan.fates)
        assert of_other == 3 - kept, own
        (unit,) = (one for one in plan.units if one.name == UNIT)
        assert [table.target for table in unit.tables] == [GFX942, MI325X][: 2 if kept else 1]
        assert plan.selected == dict.fromkeys(targets, 4) | {one: 6 for one in targets if one.concerns(MI325X)}


def test_a_product_that_does_not_have_the_count_is_unavailable(tmp_path: Path) -> None:
    lines = (of("mi308x", row(16)), of("mi999x", row(32)), of("", row(64)), of("mi300x", row(16)))
    plan = plan_of(write_table(tmp_path / "a8w8_blockscale_tuned_gemm.csv", lines, HEADER_OF_PRODUCTS), targets=None)
    assert not has_errors(plan)
    reasons = [fate.reason for fate in plan.fates if fate.kind is FateKind.UNAVAILABLE]
    assert reasons == [f"{one} is no product of gfx942 with 304 CUs" for one in ("mi308x", "mi999x")]
    assert plan.targets == (GFX942, MI300X)


def test_a_word_that_no_product_has_is_an_error(tmp_path: Path) -> None:
    path = write_table(tmp_path / "a8w8_blockscale_tuned_gemm.csv", (of("MI-300", row(16)),), HEADER_OF_PRODUCTS)
    (found,) = plan_of(path).diagnostics
    assert (found.code, found.message) == ("T006", "sku 'MI-300' is not a product's word")


def test_nothing_else_of_a_generated_tree_changes(tables: tuple[Path, Path]) -> None:
    """What is generated of rows of all is the same, byte for byte; a product's ladders stand in a header of theirs."""
    every, own = (render(plan, "lib") for plan in (plan_of(tables[0]), plan_of(*tables)))
    changed = {path for path in every if every[path] != own[path]}
    assert changed == {f"{UNIT}/unit.cpp", "sources.cmake"}
    added = sorted(own.keys() - every.keys())
    assert added == [f"{UNIT}/lookup_gfx942_304_mi325x.hpp"]
    assert "n512_k1024" in own[added[0]] and "n1024" not in own[added[0]]
    assert '{1, "mi325x"},' in own[f"{UNIT}/unit.cpp"]
    assert not any("roduct" in text for text in every.values())


def test_a_registry_document_holds_the_tables_of_products(tables: tuple[Path, Path], tmp_path: Path) -> None:
    plan, file = plan_of(*tables), tmp_path / "registry.json"
    file.write_text(registry_text(plan), encoding="utf-8")
    assert render(read_registry(file, load_archs()), "lib") == render(plan, "lib")


def test_the_trail_says_whose_the_row_is(tables: tuple[Path, Path]) -> None:
    plan = plan_of(*tables)
    (unit,) = (one for one in plan.units if one.name == UNIT)

    def text(target: Target, m: int) -> str:
        return trail(GemmQuery(plan, target, unit.signature, Shape(0, m, 512, 1024)), plan.place).text()

    assert "on gfx942:304:mi325x\n" in text(MI325X, 64) and "measured at M=64\n" in text(MI325X, 64)
    assert "measured at M=16 on gfx942:304\n" in text(MI325X, 16)
    assert "mi325x" not in text(GFX942, 64)


def test_a_predicted_time_is_of_the_product() -> None:
    arch = load_arch("sm_90a")
    speeds = {sku: chip_of(arch, Target("sm_90a", 132, sku)).gb_per_s for sku in ("", "h100", "h200", "gh200")}
    assert speeds == {"": 3350, "h100": 3350, "h200": 4800, "gh200": 4000}
