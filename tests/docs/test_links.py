"""Links of every markdown file lead to a file and a heading, and the tests that one names exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
FOLDERS = ("docs", "arch_specs", "emulator", "examples", "tuning", "dispatcher_cpp", "codegen", "tests", "tools")
DOCUMENTS = sorted({*ROOT.glob("*.md"), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.md"))})
_CODE = re.compile(r"^ *```.*?^ *```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_TEST = re.compile(r"`(?:(?:tests|dispatcher_cpp)/[\w/.]*)?(test_\w+(?:\.(?:py|cpp))?)`")
_FILE = re.compile(r"`((?:tests|dispatcher_cpp|codegen|emulator|tools|benchmarks)/[\w/.-]+\.\w+)`")


def names() -> list[str]:
    return [path.relative_to(ROOT).as_posix() for path in DOCUMENTS]


def anchors(text: str) -> set[str]:
    """Those of the headings, as GitHub makes them."""
    heads = re.findall(r"^#+ (.+)$", _CODE.sub("", text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def broken(path: Path, text: str) -> list[str]:
    """The links of a document that lead nowhere."""
    found = []
    for link in _LINK.findall(_CODE.sub("", text)):
        target, _, anchor = link.partition("#")
        if "://" in link or link.startswith("mailto:"):
            continue
        place = path.parent / target if target else path
        there = not target or place.exists()
        if there and anchor and (not target or place.suffix == ".md"):
            there = anchor in anchors(place.read_text(encoding="utf-8") if target else text)
        if not there:
            found.append(link)
    return found


@pytest.fixture(scope="module")
def sources() -> dict[str, str]:
    """All that defines tests, by file name."""
    files = [*(ROOT / "tests").rglob("*.py"), *(ROOT / "dispatcher_cpp" / "tests").rglob("*.cpp")]
    return {path.name: path.read_text(encoding="utf-8") for path in files}


def test_all_documents_are_found() -> None:
    assert {"README.md", "docs/upstream/README.md", "examples/08_fmha/README.md"} <= set(names()) and len(names()) > 80


@pytest.mark.parametrize("document", names())
def test_no_link_of_a_document_points_nowhere(document: str) -> None:
    path = ROOT / document
    assert broken(path, path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("document", names())
def test_every_test_and_file_that_a_document_names_exists(document: str, sources: dict[str, str]) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    functions = {name for source in sources.values() for name in re.findall(r"def (test_\w+)\(", source)}
    assert {name for name in _TEST.findall(text) if name not in sources and name not in functions} == set()
    assert [name for name in _FILE.findall(text) if not (ROOT / name).exists()] == []


def test_what_points_nowhere_is_seen(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# One: two\n```sh\n# no heading\n```\n", encoding="utf-8")
    text = "[x](a.md) [x](a.md#one-two) [x](b.md) [x](a.md#no-heading) [x](#here)\n## Here\n[x](https://a.b/c)"
    assert broken(tmp_path / "c.md", text) == ["b.md", "a.md#no-heading"]
