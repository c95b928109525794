"""Every document can be read beside code: no line beyond 120 columns that markdown lets one break, no torn table."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
COLUMNS = 120
VERBATIM = ("console", "text")
"""Blocks of what programs print."""
DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix()
    for where in ("*.md", "docs/**/*.md", "arch_specs/*.md", "examples/*/*.md", "emulator/*.md")
    for path in ROOT.glob(where)
)


def too_long(text: str) -> Iterator[tuple[int, str]]:
    """Lines beyond the limit but for rows of tables, output and single words, which cannot be broken."""
    block: str | None = None
    for number, line in enumerate(text.splitlines(), 1):
        fence = re.match(r" *```(\w*)", line)
        if fence is not None:
            block = fence[1] if block is None else None
        breakable = " " in re.sub(r"^ *(?:[-*] )?", "", line)
        if len(line) > COLUMNS and breakable and block not in VERBATIM and (block is not None or line[0] != "|"):
            yield number, line


def torn_rows(text: str) -> Iterator[tuple[int, str]]:
    """Rows of tables that do not end in their line: a table ends there, and the rest of the row is a paragraph."""
    code = False
    for number, line in enumerate(text.splitlines(), 1):
        code ^= line.lstrip().startswith("```")
        if line.startswith("|") and not line.rstrip().endswith("|") and not code:
            yield number, line


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_row_of_a_table_is_one_line(document: str) -> None:
    assert list(torn_rows((ROOT / document).read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("document", DOCUMENTS)
def test_no_line_of_a_document_is_longer_than_120_columns(document: str) -> None:
    assert list(too_long((ROOT / document).read_text(encoding="utf-8"))) == []


def test_what_cannot_be_broken_is_let_through_and_nothing_else() -> None:
    long = "word " * 25
    passing = f"| {long} |\n```console\n$ {long}\n```\n- {'w' * 130}\n"
    assert list(too_long(passing)) == []
    for failing in (long, f"- {long}", f"```sh\n{long}\n```", f"```\n| {long}\n```", f"```text\n```\n{long}"):
        assert [line for _, line in too_long(failing)] == [
            next(one for one in failing.split("\n") if len(one) > COLUMNS)
        ]


def test_every_document_of_the_project_is_held() -> None:
    assert {"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/tables.md", "arch_specs/ADDING_AN_ARCH.md"} <= {
        *DOCUMENTS
    }
    assert "docs/amd/families/moe.md" in DOCUMENTS and len(DOCUMENTS) > 60
