"""`ckgen report`: what it prints and writes, and what other commands take of it."""

from __future__ import annotations

import json
from pathlib import Path

from cli_support import REPOSITORY, row, table, write

from ckgen.plan.profile_file import read_profile
from ckgen.workload.shape_list import read_shapes
from commands import as_json, ok, run
from html_support import demand_good, number
from report.tuning_support import journal_of_a_tune

COVERAGE = ("report", "coverage", "--tuning", "t", "--m", "1,16,128")
QWEN = str(REPOSITORY / "examples" / "models" / "qwen3_vl_235b_a22b_fp8.json")


def test_text_json_and_page_have_the_same_figures(tiny: Path) -> None:
    document = as_json(*COVERAGE, "--out", "c.html")
    totals = document["totals"]
    text = ok(*COVERAGE)
    told = f"{totals['measured']} of {totals['problems']} problems measured, {totals['gaps']} gaps"
    assert told in text and document["schema"] == "ckgen.coverage/1"
    page = demand_good((tiny / "c.html").read_text())
    shown = [cells for found in page.all("class", "answers") for cells in found.body]
    assert sum(number(cells[2]) for cells in shown) == totals["measured"] == 2
    assert sum(number(cells[3]) for cells in shown) == totals["problems"]


def test_without_a_page_nothing_is_written(tiny: Path) -> None:
    before = sorted(tiny.rglob("*"))
    ok(*COVERAGE)
    assert sorted(tiny.rglob("*")) == before


def test_gaps_are_a_list_of_shapes_of_each_target(tiny: Path) -> None:
    document = as_json(*COVERAGE, "--csv", "gaps.csv")
    shapes = read_shapes(tiny / "gaps.csv")
    assert len(shapes) == document["totals"]["gaps"] > 0
    assert {shape.target for shape in shapes} == {"gfx942:304", "gfx942:80", "gfx950:256"}
    assert (16, "gfx942:304") not in {(shape.m, shape.target) for shape in shapes}


def test_only_targets_that_are_asked_for_are_on_the_page(tiny: Path) -> None:
    document = as_json(*COVERAGE, "--targets", "gfx942:80")
    assert {one["target"] for one in document["maps"]} == {"gfx942:80"} == {*document["targets"]}
    assert {one["target"] for one in document["fates"]} <= {"gfx942:80", ""}


def test_generate_leaves_out_what_the_pruned_profile_does_and_keeps_every_row(tiny: Path) -> None:
    document = as_json(*COVERAGE, "--targets", "gfx942", "--prune", "pruned.yaml")
    never = {one["instance"] for one in document["never_chosen"]}
    (clause,) = read_profile(tiny / "pruned.yaml").keep
    assert clause.without == never and never
    plain = ("generate", "--targets", "gfx942", "--ops", "gemm", "--tuning", "t", "--out", "out", "--dry-run")
    before, after = as_json(*plain), as_json(*plain, "--profile", "pruned.yaml")
    assert sum(before["instances"].values()) - sum(after["instances"].values()) == len(never)
    assert before["selected"] == after["selected"]


def test_a_model_asks_what_its_layers_need(tiny: Path) -> None:
    asking = ("report", "coverage", "--targets", "mi300x", "--model", QWEN, "--tp", "4", "--m", "16,1024")
    document = as_json(*asking, "--tuning", "t", "--out", "c.html")
    by_name = {one["signature"]: one for one in document["maps"]}
    cells = by_name["gemm_fp8_fnuz_bf16_rcr_blockscale"]["cells"]
    assert {(cell["n"], cell["k"], cell["layers"]) for cell in cells} == {
        (2304, 4096, "qkv tp 4"), (4096, 2048, "o tp 4"),
    }  # fmt: skip
    assert any(one["signature"].startswith("moe_") for one in document["maps"])
    assert document["asked_by"] == "qwen3_vl_235b_a22b_fp8.json on 4 ranks"
    demand_good((tiny / "c.html").read_text())


def test_what_building_cost_stands_beside_the_rows_that_it_is_for(tiny: Path) -> None:
    kernel = table(row()).splitlines()[1].split(",")[9]
    one = {"name": kernel, "arch": "gfx942", "status": "built", "cpu_seconds": 12.5, "object_bytes": 4096}
    other = {**one, "name": "unused", "cpu_seconds": 30.0}
    summary = {"schema": "ckgen.amd_check/1", "kernels": [one, other, {**one, "status": "failed"}]}
    write(tiny, {"summary.json": json.dumps(summary), "wrong.json": "{}", "broken.json": "{"})
    found = as_json(*COVERAGE, "--built", "summary.json", "--out", "c.html")["built"]
    assert (found["kernels"], found["cpu_seconds"], found["without_rows"]) == (2, 42.5, 1)
    assert found["cpu_seconds_without_rows"] == 30.0
    assert [(each["kernel"], each["rows"]) for each in found["each"]] == [("unused", 0), (kernel, 2)]
    page = demand_good((tiny / "c.html").read_text())
    (shown,) = page.all("id", "built-kernels")
    assert [cells[0] for cells in shown.body] == ["30.0", "12.5"]
    assert run(*COVERAGE, "--built", "wrong.json").exit_code == 2
    assert run(*COVERAGE, "--built", "broken.json").exit_code == 3


def test_wrong_input_is_refused_as_everywhere(tiny: Path) -> None:
    write(tiny, {"w/a8w8_blockscale.csv": table(row(kernel="nonsense"))})
    assert run("report", "coverage", "--tuning", "w").exit_code == 3
    assert run("report", "coverage", "--tuning", "nowhere").exit_code == 2
    assert run(*COVERAGE, "--m", "none").exit_code == 2
    assert run(*COVERAGE, "--model", QWEN, "--tp", "x").exit_code == 2
    assert run("report", "tuning").exit_code == 2
    write(tiny, {"j": "{}\n"})
    assert run("report", "tuning", "j").exit_code == 3


def test_a_journal_is_told_as_text_json_and_page(tmp_path: Path) -> None:
    journal = journal_of_a_tune(tmp_path / "j")
    text = ok("report", "tuning", str(journal), "--out", str(tmp_path / "t.html"))
    (found,) = as_json("report", "tuning", str(journal))["runs"]
    assert f"{len(found['problems'])} problems" in text and f"{found['failed']} failures" in text
    assert f"geomean {found['regret']['selected']['geomean']:.1%}" in text
    demand_good((tmp_path / "t.html").read_text())


def test_a_torn_line_is_said_and_the_rest_is_told(tmp_path: Path) -> None:
    journal = journal_of_a_tune(tmp_path / "j")
    journal.write_text(journal.read_text() + '{"measured": {"pro')
    result = run("report", "tuning", str(journal), "--json")
    assert result.exit_code == 0 and "torn" in result.stderr
    assert "torn" in json.loads(result.stdout)["torn"][0]
