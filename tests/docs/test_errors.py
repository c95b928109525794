"""docs/errors.md and the sources name the same codes."""

from __future__ import annotations

import re

from ckgen import paths

ROOT = paths.root()
CODE = re.compile(r"\b[A-Z]0[0-9]{2}\b")


def documented() -> list[str]:
    text = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")
    return re.findall(r"^\| ([A-Z][0-9]{3}) \|", text, re.MULTILINE)


def used() -> set[str]:
    """Every code that stands as a string of its own in the package or the emulator."""
    packages = (paths.package_dir(), ROOT / "emulator" / "ckgen_emulator")
    sources = (path.read_text(encoding="utf-8") for package in packages for path in package.rglob("*.py"))
    return {code for text in sources for code in re.findall(r'"([A-Z]0[0-9]{2})"', text)}


def test_every_code_of_the_sources_stands_in_the_doc_and_no_other() -> None:
    assert set(documented()) == used()


def test_codes_are_listed_once_in_order() -> None:
    assert documented() == sorted(set(documented()))


def test_every_row_has_a_meaning_an_example_and_a_way_out() -> None:
    for line in (ROOT / "docs" / "errors.md").read_text(encoding="utf-8").splitlines():
        if CODE.match(line.removeprefix("| ")):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
            assert len(cells) == 4 and all(cells), line
