"""What tables cover: figures by hand of tiny tables, and a page that says what the document does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ckgen import paths
from ckgen.families.registry import FAMILIES
from ckgen.model.target import Target
from ckgen.plan.inputs import plan_inputs
from ckgen.plan.options import PlanOptions
from ckgen.plan.planner import plan_of
from ckgen.report.coverage import Subject, coverage
from ckgen.report.coverage_maps import Chosen, Map, asked_of_tables, maps_of, never_chosen
from ckgen.report.coverage_page import coverage_page
from ckgen.report.coverage_rows import band_of
from ckgen.report.html import percent
from ckgen.report.pictures import heat_map, rate_picture, stack, step_of
from ckgen.report.prune import pruned_profile
from ckgen.specs.archs import load_archs
from html_support import Read, demand_good, number
from plan_support import HEADER, LARGE, SMALL_M, row, write_table

LADDER = (1, 16, 64, 128)
MOST_BYTES = 1_000_000
SIGNATURE = "gemm_fp8_fnuz_bf16_rcr_blockscale"


def report(*tables: Path, ladder: tuple[int, ...] = LADDER) -> tuple[dict[str, Any], tuple[Map, ...], Chosen]:
    options = PlanOptions(targets=None, ops=frozenset(FAMILIES), tuning=tables, every_count=True)
    known = plan_inputs(options, load_archs())
    plan = plan_of(known, ())
    maps, chosen = maps_of(plan, asked_of_tables(plan, plan.targets), ladder)
    subject = Subject("the tables", ("tables",), plan.targets, "a ladder", ladder)
    return coverage(subject, known, plan, maps, never_chosen(maps, chosen)), maps, chosen


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], tuple[dict[str, Any], tuple[Map, ...], Chosen]]:
    """Two (N, K); of one M 16 and 64 measured, of the other 128; a row of 0.001 us, and one of another library."""
    file = tmp_path_factory.mktemp("coverage") / "a8w8_blockscale.csv"
    rows = [row(16, SMALL_M), row(64, LARGE), row(128, LARGE, N=1024), row(256, "fly", libtype="flydsl")]
    fast = f"gfx942,304,4096,4096,4096,ck,1,0,0.001,{LARGE},1.0,2.0,0.0"
    write_table(file, [*rows, fast], HEADER)
    found = report(file)
    return lambda: found


def test_an_m_counts_as_measured_where_a_row_has_exactly_it(tiny: Callable[[], Any]) -> None:
    document, _, _ = tiny()
    (one,) = document["maps"]
    assert (one["target"], one["signature"]) == ("gfx942:304", SIGNATURE)
    measured = {(cell["n"], cell["k"]): (cell["measured"], cell["asked"]) for cell in one["cells"]}
    assert measured == {(512, 1024): (2, 4), (1024, 1024): (1, 4)}
    assert (one["rows"], one["external"]) == (3, 1)
    assert document["totals"]["measured"] == 3 and document["totals"]["problems"] == 8
    assert sum(one["tiers"].values()) == 8


def test_what_is_not_measured_and_can_run_is_a_gap(tiny: Callable[[], Any]) -> None:
    document, (one,), _ = tiny()
    gaps = {(gap.n, gap.m) for gap in one.gaps()}
    assert gaps == {(512, 1), (512, 128), (1024, 1), (1024, 16), (1024, 64)}
    assert document["totals"]["gaps"] == len(gaps)
    assert {(gap.gfx, gap.cu_num, gap.signature) for gap in one.gaps()} == {("gfx942", 304, SIGNATURE)}


def test_a_row_faster_than_the_chip_is_marked_with_the_time_that_physics_asks(tiny: Callable[[], Any]) -> None:
    document, _, _ = tiny()
    (one,) = document["beyond_physics"]
    rate = document["peaks"][0]["ops_per_s"]["fp8_fnuz"]
    assert one["fate"] == "refused_measurement" and one["by"] == "rate"
    assert one["least_us"] == pytest.approx(2 * 4096**3 / rate * 1e6, abs=1e-3)
    assert one["times"] == pytest.approx(one["least_us"] / 0.001, rel=1e-3)
    assert all(document["peaks"][0]["sources"].values()), "each peak says where it is from"


def test_rates_are_shares_of_both_peaks(tiny: Callable[[], Any]) -> None:
    document, _, _ = tiny()
    (rates,) = document["rates"]
    (peaks,) = document["peaks"]
    assert rates["rows"] == 4 and rates["beyond"] == 1
    band = next(one for one in rates["bands"] if one["m"] == "2–16")
    us = 10e-6
    size = 16 * 1024 + 512 * 1024 + 2 * 16 * 512
    assert band["of_rate"][0] == pytest.approx(2 * 16 * 512 * 1024 / us / peaks["ops_per_s"]["fp8_fnuz"], abs=1e-4)
    assert band["of_memory"][0] == pytest.approx(size / us / peaks["bytes_per_s"], abs=1e-4)
    assert sum(count for *_, count in rates["squares"]) == 4


def test_what_neither_rows_nor_maps_choose_is_never_chosen(tiny: Callable[[], Any]) -> None:
    document, maps, chosen = tiny()
    names = {one["instance"] for one in document["never_chosen"]}
    (one,) = maps
    assert chosen.configs[one.unit.signature]
    answered = {each.name for each in one.unit.instances if each.config in chosen.configs[one.unit.signature]}
    assert any(
        name.endswith("256x16x64x256_16x16_16x16_1x1_16x16x1_16x16x1_1x16x1x16_4_1x1_intrawave_v1") for name in answered
    )
    assert names == {
        each.name for unit in (one.unit, *one.alike) for each in unit.instances
        if each.config not in chosen.configs[one.unit.signature] and "streamk" not in each.name
        and not any(number in rule.leaves for rule in unit.heuristics for number in [unit.instances.index(each)])
    }  # fmt: skip
    text = pruned_profile(never_chosen(maps, chosen), "the tables")
    assert all(f"- {name}\n" in text for name in names)


def test_a_pruned_library_answers_what_was_asked_by_the_same_kernels(tmp_path: Path) -> None:
    """Of two layers that a table has, one asks; the other's kernels go, and with them its rows."""
    rare = "a8w8_blockscale_1x128x128_256x128x64x128_16x16_32x32_2x1_8x32x1_8x32x1_1x32x1x8_8_1x1_intrawave_v3"
    file = write_table(tmp_path / "a8w8_blockscale.csv", [row(16, SMALL_M), row(48, LARGE), row(64, rare, N=1024)])
    options = PlanOptions(targets=(Target("gfx942", 304),), tuning=(file,), every_count=True)
    known = plan_inputs(options, load_archs())
    plan = plan_of(known, ())
    asked = {key: {work: "" for work in works if work.n == 512} for key, works in
             asked_of_tables(plan, plan.targets).items()}  # fmt: skip
    maps, chosen = maps_of(plan, asked, LADDER)
    profile = tmp_path / "pruned.yaml"
    profile.write_text(pruned_profile(never_chosen(maps, chosen), "a layer"))
    pruned = plan_of(known, (profile,))
    again, same = maps_of(pruned, asked, LADDER)
    assert [one.cells for one in again] == [one.cells for one in maps] and same.configs == chosen.configs
    gone = {each.name for each in plan.instances} - {each.name for each in pruned.instances}
    assert any(name.endswith(rare.removeprefix("a8w8_blockscale_")) for name in gone)
    assert pruned.selected[Target("gfx942", 304)] == 2


def test_the_page_says_what_the_document_does(tiny: Callable[[], Any]) -> None:
    document, _, _ = tiny()
    page = demand_good(coverage_page(document))
    _demand_equal(document, page)


@pytest.fixture(scope="module")
def shipped() -> dict[str, Any]:
    return report(*paths.shipped_tables(), ladder=tuple(1 << power for power in range(15)))[0]


def test_the_page_of_all_shipped_tables_is_small_and_says_what_the_document_does(shipped: dict[str, Any]) -> None:
    text = coverage_page(shipped)
    assert shipped["totals"]["rows"] > 45_000
    assert len(text.encode()) <= MOST_BYTES
    _demand_equal(shipped, demand_good(text))


def test_counts_of_the_shipped_tables_agree_with_each_other(shipped: dict[str, Any]) -> None:
    totals = shipped["totals"]
    assert totals["selected"] == sum(one["rows"] for one in shipped["kernels"])
    assert totals["problems"] == sum(one["asked"] for one in shipped["maps"]) == totals["cells"] * 15
    assert totals["gaps"] == totals["problems"] - totals["measured"] - totals["tiers"].get("unsupported", 0)
    assert totals["beyond_physics"] == len(shipped["beyond_physics"])


def _demand_equal(document: dict[str, Any], page: Read) -> None:
    for one in document["maps"]:
        (table,) = (
            found
            for found in page.all("class", "cells")
            if found.attributes["data-target"] == one["target"]
            and found.attributes["data-signature"] == one["signature"]
        )
        told = [tuple(int(text or 0) for text in cells[:7]) for cells in table.body]
        names = ("n", "k", "batch", "experts", "top_k", "measured", "asked")
        assert told == [tuple(cell[name] for name in names) for cell in one["cells"]]
    answers = {
        (table.attributes["data-target"], cells[0]): [number(cells[at]) for at in (2, 3, 5, 6, 7)]
        for table in page.all("class", "answers") for cells in table.body
    }  # fmt: skip
    assert answers == {
        (one["target"], one["signature"]):
            [one["measured"], one["asked"], len(one["cells"]), one["rows"], one["external"]]
        for one in document["maps"]
    }  # fmt: skip
    kernels = sorted(
        (table.attributes["data-target"], cells[4], cells[5], number(cells[0]), cells[3])
        for table in page.all("class", "kernels") for cells in table.body
    )  # fmt: skip
    assert kernels == sorted(
        (one["target"], one["kernel"], one["signature"], one["rows"], _told(one["median_us"]))
        for one in document["kernels"]
    )
    beyond = [cells for table in page.all("class", "beyond") for cells in table.body]
    assert [(float(cells[0]), cells[-1]) for cells in beyond] == [
        (one["times"], one["place"]) for one in document["beyond_physics"]
    ]
    bands = {
        (table.attributes["data-target"], table.attributes["data-types"]): table.body
        for table in page.all("class", "rates")
    }
    for one in document["rates"]:
        told_bands = bands[one["target"], one["types"]]
        assert [(cells[0], number(cells[1])) for cells in told_bands] == [
            (band["m"], band["rows"]) for band in one["bands"]
        ]
        shares = [["–" if each is None else percent(each) for each in (*band["of_rate"], *band["of_memory"])]
                  for band in one["bands"]]  # fmt: skip
        assert [cells[2:] for cells in told_bands] == shares
    (fates,) = page.all("id", "fate-rows")
    assert sum(number(cells[2]) for cells in fates.body) == document["totals"]["rows"]
    (never,) = page.all("id", "never") or [None]
    assert len(never.body if never is not None else []) == document["totals"]["never_chosen"]


def _told(us: float | None) -> str:
    return "–" if us is None else str(us)


def test_steps_tell_none_and_all_from_what_is_between() -> None:
    assert [step_of(part, 16) for part in (0, 1, 3, 4, 8, 15, 16)] == [0, 1, 1, 2, 3, 4, 5]


def test_shares_are_never_rounded_to_none_or_all() -> None:
    assert [percent(part, 10_000) for part in (0, 1, 9_999, 10_000, 5_000)] == [
        "0 %", "< 0.1 %", "99.9 %", "100 %", "50 %",
    ]  # fmt: skip
    assert percent(1, 0) == "–"


def test_bands_begin_where_the_last_one_ends() -> None:
    assert [band_of(m) for m in (1, 2, 16, 17, 4096, 4097)] == ["1", "2–16", "2–16", "17–64", "1025–4096", "> 4,096"]


def test_bars_are_as_long_as_their_parts_together() -> None:
    parts = stack([("a", 1), ("b", 0), ("c", 3)], width=100)
    assert parts == (("a", 0.0, 25.0), ("c", 25.0, 75.0))


def test_cells_stand_by_n_and_k_without_overlap() -> None:
    cells = [
        {"n": n, "k": k, "batch": 0, "experts": 0, "top_k": 0, "measured": 1, "asked": 2, "tiers": {}, "layers": ""}
        for n, k in ((64, 32), (32, 64), (64, 64), (128, 32))
    ]
    picture = heat_map(cells)
    assert len({(cell.x, cell.y) for cell in picture.cells}) == 4
    assert [label.text for label in picture.rows] == ["32", "64", "128"]
    assert [label.text for label in picture.columns] == ["32", "64"]


def test_a_square_below_the_roof_is_drawn_below_it() -> None:
    picture = rate_picture([[24, 170, 5]], ops_per_s=1e15, bytes_per_s=5e12)
    assert picture is not None
    assert picture.roof.startswith("M") and [label.text for label in picture.roof_labels] == ["1,000 Tops/s", "5 TB/s"]
    assert rate_picture([], 1e15, 5e12) is None


def test_targets_with_most_problems_come_first(shipped: dict[str, Any]) -> None:
    targets = list(dict.fromkeys(one["target"] for one in shipped["maps"]))
    sizes = [sum(len(one["cells"]) for one in shipped["maps"] if one["target"] == target) for target in targets]
    assert sizes == sorted(sizes, reverse=True) and len(targets) == 8
    assert {str(Target("gfx950", 256)), str(Target("sm_90a", 132, "h200"))} == {*targets[:2]}
