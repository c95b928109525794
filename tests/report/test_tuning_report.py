"""What journals hold: the figures are those that the tune itself printed, and the page has the document's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ckgen.measure.model import Candidate, Measured, MeasureStatus
from ckgen.report.html import percent
from ckgen.report.tuning import tuning
from ckgen.report.tuning_page import tuning_page
from ckgen.tune.journal import Journal, read_journals
from ckgen.tune.report import document as tune_document
from html_support import demand_good, number
from report.tuning_support import HEADER, NAMES, tune_into


@pytest.fixture(autouse=True)
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.fsync", lambda _: None)


def told(*journals: Path, least: float = 0.02) -> dict[str, Any]:
    return tuning(read_journals(journals), [path.name for path in journals], least)


@pytest.mark.parametrize("least", [0.0, 0.02, 0.3])
def test_figures_are_those_that_the_tune_printed(tmp_path: Path, least: float) -> None:
    outcome, known = tune_into(tmp_path / "j", least)
    printed = tune_document(outcome, known)
    (run,) = told(tmp_path / "j", least=least)["runs"]
    assert run["stability"] == printed["stability"] and run["stability"]["flipped"] > 0
    assert (run["rows"], run["kernels"]) == (printed["rows"], printed["kernels"])
    assert run["measurements"] == printed["measured"]
    assert run["failed"] == len(printed["failures"]) == 8
    names = ("problem", "instance", "splits", "us", "spread", "tried", "row", "why")
    assert [{name: one[name] for name in names} for one in run["problems"]] == [
        {name: one[name] for name in names} for one in printed["problems"]
    ]
    gains = [one["gain"] for one in printed["problems"]]
    assert [1 - 1 / (1 + one["selected"]["regret"]) for one in run["problems"]] == pytest.approx(gains)


def test_regrets_are_times_over_the_winners(tmp_path: Path) -> None:
    tune_into(tmp_path / "j")
    (run,) = told(tmp_path / "j")["runs"]
    for one in run["problems"]:
        times = {name: us for name, _, us in one["candidates"]}
        assert one["selected"]["regret"] == pytest.approx(times[NAMES[3]] / one["us"] - 1)
        assert one["us"] == times[one["instance"]]
    regrets = [one["selected"]["regret"] for one in run["problems"]]
    assert run["regret"]["selected"]["worst"] == max(regrets) and run["regret"]["selected"]["problems"] == 8


def test_failures_are_counted_by_reason_and_rungs_by_name(tmp_path: Path) -> None:
    tune_into(tmp_path / "j")
    (run,) = told(tmp_path / "j")["runs"]
    assert run["failures"] == [
        {
            "status": "wrong",
            "reason": "it is wrong",
            "measurements": 8,
            "instances": 1,
            "problems": 8,
            "first": NAMES[7],
        }
    ]
    assert [one["rung"] for one in run["rungs"]] == ["first", "second", "confirm"]
    assert sum(one["measurements"] for one in run["rungs"]) == run["measurements"]
    assert run["rungs"][0]["timed"] == 8 * 11


def test_what_was_timed_at_the_last_rung_alone_is_a_search_too(tmp_path: Path) -> None:
    """A budget of another kind may time all candidates together at once."""
    problem = "signature=gemm_bf16_rcr target=x86_64_v4:2 n=64 k=64 seed=1"
    with Journal(tmp_path / "j", HEADER) as journal:
        for at, us in enumerate((30.0, 10.0, 20.0, 11.0, 50.0)):
            journal.measured(problem, "confirm", 1, Measured(Candidate(NAMES[at]), MeasureStatus.OK, "", us, 0.0, 5))
    (run,) = told(tmp_path / "j")["runs"]
    (one,) = run["problems"]
    assert (one["instance"], one["us"], one["second"]["instance"]) == (NAMES[1], 10.0, NAMES[3])
    assert run["regret"]["second"]["geomean"] == pytest.approx(0.1)
    assert one["selected"] is None and run["regret"]["selected"] == {"problems": 0}


def test_journals_of_other_libraries_are_runs_of_their_own(tmp_path: Path) -> None:
    tune_into(tmp_path / "j")
    text = (tmp_path / "j").read_text()
    header = json.loads(text.splitlines()[0])
    header["header"] |= {"code": "0ther"}
    (tmp_path / "k").write_text("\n".join([json.dumps(header), *text.splitlines()[1:]]) + "\n")
    first, second = told(tmp_path / "j", tmp_path / "k")["runs"]
    assert first["code"] != second["code"] and first["problems"] == second["problems"]


def test_the_page_says_what_the_document_does(tmp_path: Path) -> None:
    tune_into(tmp_path / "j")
    document = told(tmp_path / "j")
    page = demand_good(tuning_page(document))
    (run,) = document["runs"]
    (problems,) = page.all("class", "problems")
    said = {cells[0]: cells for cells in problems.body}
    assert len(said) == len(run["problems"])
    for one in run["problems"]:
        cells = said[one["problem"]]
        assert cells[1] == f"{one['us']:,.2f}" and number(cells[3]) == one["tried"]
        assert cells[4] == percent(one["selected"]["regret"]) and cells[5] == percent(one["second"]["regret"])
        assert cells[7].startswith(one["instance"])
    (rungs,) = page.all("class", "rungs")
    assert [[cells[0], number(cells[2]), float(cells[4])] for cells in rungs.body] == [
        [one["rung"], one["measurements"], one["seconds"]] for one in run["rungs"]
    ]
    (regret,) = page.all("class", "regret")
    assert regret.body[0][2] == percent(run["regret"]["selected"]["geomean"])
    (failures,) = page.all("class", "failures")
    assert failures.body[0][0] == "wrong" and number(failures.body[0][1]) == 8


def test_a_page_of_a_thousand_problems_stays_small(tmp_path: Path) -> None:
    tune_into(tmp_path / "j")
    document = told(tmp_path / "j")
    (run,) = document["runs"]
    times = [[name, 1, 100.0 + step] for step, name in enumerate(NAMES * 10)]
    run["problems"] = [
        {**one, "problem": f"{one['problem']} {at}", "candidates": times}
        for at in range(125)
        for one in run["problems"]
    ]  # fmt: skip
    assert len(tuning_page(document).encode()) <= 1_000_000
