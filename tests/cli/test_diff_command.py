"""`ckgen diff`: three formats, a page, and exit codes in the manner of --check."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_support import LARGE, SMALL, TINY, row, table, write

from commands import run

NEW = table(
    row(m=16, kernel=LARGE, us="4.0"),
    row(m=128, kernel=LARGE, us="11.3"),
    row(m=4096, library="flydsl", kernel="fly_64x64", splits="2", us="310"),
    row(cu=80, m=64, us="9.25"),
    row(cu=80, m=80, us="9.5"),
)
"""One winner changed, a row of gfx950 and a refused one gone, one came, one of another library timed again."""


@pytest.fixture
def both(tiny: Path) -> Path:
    write(tiny, {"n/a8w8_blockscale.csv": NEW})
    return tiny


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_what_changed_is_said_in_each_format(both: Path, golden: Callable[[str, str], None], form: str) -> None:
    result = run("diff", "t", "n", "--format", form)
    assert result.exit_code == 1, result.output
    golden(f"cli/diff.{form}", result.stdout)


def test_equal_tables_end_with_0_whatever_the_format(both: Path) -> None:
    result = run("diff", "t", "t")
    assert (result.exit_code, result.stdout) == (0, "t → t: nothing differs: 6 rows\n")
    result = run("diff", "t", "t", "--format", "markdown")
    assert (result.exit_code, result.stdout.count("\n")) == (0, 3)


def test_the_order_of_arguments_turns_the_difference(both: Path) -> None:
    found = json.loads(run("diff", "n", "t", "--format", "json").stdout)
    back = json.loads(run("diff", "t", "n", "--format", "json").stdout)
    assert found["rows"]["added"] == back["rows"]["removed"] and found["kinds"]["lost"] == back["kinds"]["gained"]


def test_only_targets_that_are_asked_for_are_compared(both: Path) -> None:
    found = json.loads(run("diff", "t", "n", "--targets", "gfx942:80", "--format", "json").stdout)
    assert {one["target"] for one in found["changes"]} == {"gfx942:80"} and found["targets"] == ["gfx942:80"]
    assert run("diff", "t", "n", "--targets", "gfx942:228").exit_code == 0, "no row is of it"


def test_a_page_is_written_beside_what_is_printed(both: Path) -> None:
    result = run("diff", "t", "n", "--html", "diff.html")
    assert "diff.html: " in result.stderr and (both / "diff.html").read_text().startswith("<!doctype html>")


def test_tables_that_are_wrong_or_not_there_are_refused(both: Path) -> None:
    write(both, {"w/a8w8_blockscale.csv": table(row(kernel="nonsense"))})
    wrong = run("diff", "t", "w")
    assert wrong.exit_code == 3 and "error[T012] w/a8w8_blockscale.csv:2" in wrong.stderr
    assert run("diff", "t", "nowhere").exit_code == 2
    assert SMALL in TINY["t/a8w8_blockscale.csv"]
