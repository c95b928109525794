"""docs/adding_an_operation.md names what is there: files that are touched, and all that a Family must answer."""

from __future__ import annotations

import re
from pathlib import Path

from ckgen.families.common.family import Family

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "adding_an_operation.md").read_text(encoding="utf-8")
MOST_TOUCHED = 20


def touched() -> list[str]:
    """The files of the last table."""
    table = TEXT[TEXT.index("## What is touched outside") :]
    return re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE)


def test_files_that_are_touched_exist_and_are_few() -> None:
    files = touched()
    assert 10 < len(files) <= MOST_TOUCHED
    assert [file for file in files if not (ROOT / file).is_file()] == []


def test_all_that_a_family_must_answer_is_named() -> None:
    sentence = re.search(r"These it must answer:(.*?)\.", TEXT, re.DOTALL)
    assert sentence is not None
    assert re.findall(r"`(\w+)`", sentence[1]) == sorted(Family.__abstractmethods__)


def test_groups_of_the_descriptor_are_named() -> None:
    header = (ROOT / "dispatcher_cpp" / "src" / "operation" / "operation.hpp").read_text(encoding="utf-8")
    members = re.findall(r"^  (?:Registering|Selecting|Listing|Running|Explaining) (\w+);", header, re.MULTILINE)
    assert len(members) == 5 and all(f"`{member}`" in TEXT for member in members)


def test_operations_that_are_there_are_listed_where_it_says() -> None:
    for file in ("codegen/ckgen/families/registry.py", "dispatcher_cpp/src/operations.cpp"):
        text = (ROOT / file).read_text(encoding="utf-8")
        assert all(word in text for word in ("gemm", "grouped_gemm", "moe", "fmha")), file
