"""What stands in docs of kernels that ran: facts, a line each, and pages that say what the lines say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import kernel_records
import kernel_runs
import run_fmha_decode
import run_fmha_forward
import run_fmha_kernels
import run_moe_kernels
import run_production
from ckgen import paths

DOCS = paths.root() / "docs"
AMD = DOCS / "amd"
MOST_LINES = 6000
VOLATILE = re.compile(r"second|minute|peak|wall|date|host|time")


def read(name: str) -> Any:
    return json.loads((AMD / name).read_text(encoding="utf-8"))


def page(name: str) -> str:
    return (AMD / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "head", "row"),
    [
        ("fmha", run_fmha_kernels.HEAD, run_fmha_kernels.row),
        ("fmha_decode", run_fmha_decode.HEAD, kernel_runs.row),
        ("fmha_forward", run_fmha_forward.HEAD, kernel_runs.row),
    ],
)
def test_the_pages_of_attention_are_those_of_their_records(name: str, head: str, row: kernel_records.Row) -> None:
    records = read(f"families/{name}.json")["kernels"]
    assert page(f"families/{name}.md") == kernel_records.table(head, records, row)


def test_the_page_of_experts_is_that_of_its_records() -> None:
    document = read("families/moe.json")
    assert page("families/moe.md") == run_moe_kernels.page(document["kernels"], document["layers"])


def test_the_page_of_production_kernels_is_that_of_its_records() -> None:
    assert page("production.md") == run_production.page(read("production.json"))


@pytest.mark.parametrize(
    ("name", "depth"),
    [
        ("families/fmha", 2),
        ("families/fmha_bwd", 2),
        ("families/fmha_decode", 2),
        ("families/fmha_forward", 2),
        ("families/moe", 2),
        ("production", 4),
    ],
)
def test_documents_are_written_as_they_stand(name: str, depth: int, tmp_path: Path) -> None:
    kernel_records.write(tmp_path / "written.json", read(f"{name}.json"), "the page\n", depth)
    assert (tmp_path / "written.json").read_text(encoding="utf-8") == page(f"{name}.json")
    assert (tmp_path / "written.md").read_text(encoding="utf-8") == "the page\n"
    assert kernel_records.read(tmp_path / "written.json") == read(f"{name}.json")
    assert kernel_records.read(tmp_path / "none.json") == {"kernels": {}} == kernel_records.read(None)


def outcome(*rules: str, right: bool = True) -> Any:
    return SimpleNamespace(right=right, findings=[SimpleNamespace(rule=rule) for rule in rules])


def test_a_problem_is_right_in_all_orders_or_wrong() -> None:
    found = outcome("lds_race", "before_wait", "lds_race")
    assert kernel_records.problem([outcome(), found]) == {"right": True, "findings": ["before_wait", "lds_race"]}
    assert kernel_records.problem([outcome(right=False), outcome()]) == {"right": False, "findings": []}


def test_problems_are_counted_and_the_wrong_ones_named() -> None:
    runs = {
        "one tile": kernel_records.problem([outcome("lds_race")]),
        "edge": kernel_records.problem([outcome("lds_race", "before_wait", right=False)]),
        "split": kernel_records.problem([outcome()]),
    }
    found = kernel_records.problems(runs)
    assert found == {"problems": 3, "wrong": ["edge"], "findings": {"before_wait": 1, "lds_race": 2}}
    assert kernel_records.right_of(found) == "2 of 3"
    assert kernel_records.found_in(found["findings"]) == "before_wait 1, lds_race 2"
    assert kernel_records.found_in({}) == "none"


def test_a_gate_names_the_rules_of_errors_alone() -> None:
    findings = [{"rule": rule, "severity": severity} for rule, severity in (("spills", "error"), ("x", "warning"))]
    assert kernel_records.gate_of(findings) == "spills" and kernel_records.gate_of(findings[1:]) == "ok"


def test_documents_are_small_and_have_nothing_of_the_machine_that_wrote_them() -> None:
    texts = {place: place.read_text(encoding="utf-8") for place in DOCS.rglob("*.json")}
    assert sum(text.count("\n") for text in texts.values()) <= MOST_LINES
    for place, text in texts.items():
        assert not [name for name in names(json.loads(text)) if VOLATILE.search(name)], place


def names(value: Any) -> Iterator[str]:
    """Of members; not the places by which records are known."""
    if isinstance(value, Mapping):
        for name, one in value.items():
            if "/" not in name:
                yield name
            yield from names(one)
    elif isinstance(value, list):
        for one in value:
            yield from names(one)
